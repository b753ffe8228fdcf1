// Replaces tools/mount_clock.cpp in the program bloscfs_with_set_clock. Its time stands still until
// the test moves it (DaemonTime in tests/support/mount.hpp).

#include <cstdlib>
#include <stdexcept>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/set_clock.hpp"
#include "tools/mount_clock.hpp"

namespace bloscfs::tools {
namespace {

/// Maps the file that the test shares with this daemon. The mapping lasts until the process ends.
const std::atomic<std::int64_t>& shared_time() {
  const char* const path = std::getenv("BLOSCFS_TEST_TIME");
  if (path == nullptr) throw std::runtime_error("BLOSCFS_TEST_TIME is not set");
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  void* const page = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  if (page == MAP_FAILED) throw std::runtime_error("cannot map BLOSCFS_TEST_TIME");
  return *static_cast<const std::atomic<std::int64_t>*>(page);
}

}  // namespace

const frame::Clock& mount_clock() {
  static const test::SetClock clock(shared_time());
  return clock;
}

}  // namespace bloscfs::tools
