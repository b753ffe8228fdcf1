// usage: slow_link SERVER_PORT MILLISECONDS BYTES_PER_SECOND
// A way to a server of the loopback with so much delay, there and back, and so wide. Prints its own
// port, and lasts until its stdin ends.

#include "tests/remote/slow_link.hpp"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: slow_link SERVER_PORT MILLISECONDS BYTES_PER_SECOND\n");
    return 2;
  }
  const bloscfs::test::SlowLink link(std::atoi(argv[1]),
                                     std::chrono::milliseconds(std::atoi(argv[2])),
                                     std::strtoull(argv[3], nullptr, 10));
  std::printf("%d\n", link.port());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
}
