// usage: object_store
// Runs Ceph's gateway with an empty bucket "bench". Prints its port, and runs until its stdin ends.

#include <cstdio>

#include "tests/remote/rgw.hpp"

int main() {
  const bloscfs::test::Rgw gateway;
  gateway.make_bucket("bench");
  std::printf("%d\n", gateway.port());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
}
