// Makes a test program create its files in memory, where flushes take no time. It is linked into
// programs whose tests hold on any filesystem. If TMPDIR is set, the files lie there instead.

#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include <boost/test/unit_test.hpp>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {
namespace {

constexpr const char* kPlace = "/dev/shm";
/// Bytes that must be free. Single containers of the tests often have 64 MiB.
constexpr std::uint64_t kNeeded = std::uint64_t{1} << 30;

bool is_fit() {
  struct statfs status {};
  if (::statfs(kPlace, &status) != 0 || status.f_type != TMPFS_MAGIC) return false;
  if (status.f_bavail * static_cast<std::uint64_t>(status.f_bsize) < kNeeded) return false;
  try {
    const TempDir directory{kPlace};
    // tmpfs has no `user.` attributes before Linux 6.6.
    return ::setxattr(directory.path().c_str(), "user.bloscfs", "1", 1, 0) == 0;
  } catch (const std::exception&) {
    return false;
  }
}

struct InMemory {
  InMemory() {
    if (std::getenv("TMPDIR") == nullptr && is_fit()) ::setenv("TMPDIR", kPlace, 1);
  }
};

}  // namespace

BOOST_TEST_GLOBAL_CONFIGURATION(InMemory);

}  // namespace bloscfs::test
