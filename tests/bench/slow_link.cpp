// usage: slow_link SERVER_PORT MILLISECONDS BYTES_PER_SECOND
// Connects to a server on the loopback with this round-trip delay and bandwidth. Prints its own
// port, and runs until its stdin ends.

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
