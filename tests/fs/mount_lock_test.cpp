#include "fs/source/local/files/mount_lock.hpp"

#include <cerrno>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/resource.h>

#include "tests/frame/errno_of.hpp"
#include "tests/support/temp_dir.hpp"

using namespace bloscfs::fs;

namespace {

namespace frame = bloscfs::frame;
using bloscfs::test::TempDir;
using frame::test::errno_of;

/// Lets the process open no more files.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{0, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(mount_locks)

BOOST_AUTO_TEST_CASE(lock_that_cannot_be_asked_about_is_not_free) {
  const TempDir home;
  const std::string source = home.path();
  BOOST_TEST(!is_locked_by_other(source));
  const frame::UniqueFd directory(::open(source.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const MountLock held(directory.get(), {}, {});
  BOOST_TEST(is_locked_by_other(source));
  int asking = 0, looking_around = 0;
  {
    const NoDescriptors none;
    asking = errno_of([&] { is_locked_by_other(source); });
    looking_around = errno_of([&] { is_below_another_mount(source + "/frame", false); });
  }
  BOOST_TEST(asking == EMFILE);
  BOOST_TEST(looking_around == EMFILE);
}

BOOST_AUTO_TEST_SUITE_END()
