// A mount that uses libfuse's own loop for requests and replies.

#include <cerrno>
#include <csignal>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/source_dir.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

MountSettings settings() {
  MountSettings settings;
  settings.options = {"libfuse_io"};
  return settings;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(libfuse_io)

BOOST_AUTO_TEST_CASE(keeps_what_was_synced, *precondition(needs_fuse)) {
  const SourceDir source;
  const ByteVector contents = make_contents("text", 1, 5'000'000, 1);
  {
    Mount mount(source.path(), settings());
    const Fd fd(open((mount / "a").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    BOOST_REQUIRE(fd);
    BOOST_TEST(write(fd.get(), contents.data(), contents.size()) == std::ssize(contents));
    BOOST_CHECK(read_file(mount / "a") == contents);
    BOOST_TEST(fsync(fd.get()) == 0);
    mount.signal(SIGKILL);
  }
  Mount mount(source.path(), settings());
  BOOST_CHECK(read_file(mount / "a") == contents);
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_CASE(leaves_set_user_id_bits_to_the_kernel, *precondition(needs_fuse)) {
  const SourceDir source;
  MountSettings with_bits = settings();
  with_bits.options.emplace_back("suid");
  const Mount mount(source.path(), with_bits);
  write_file(mount / "a", ByteVector(10, 1));
  BOOST_REQUIRE(chmod((mount / "a").c_str(), 06755) == 0);
  const Fd fd(open((mount / "a").c_str(), O_WRONLY | O_CLOEXEC));
  BOOST_REQUIRE(fd && write(fd.get(), "b", 1) == 1);
  struct stat st {};
  BOOST_REQUIRE(fstat(fd.get(), &st) == 0);
  // The kernel does not clear the bits when root writes.
  BOOST_TEST((st.st_mode & 07777) == (geteuid() == 0 ? 06755 : 0755));
}

// An unmount may come while a thread reads a request. libfuse reports that as a failure, but
// bloscfs's own channel does not. libfuse may end its threads while they report it, and the mount
// must still end.
BOOST_AUTO_TEST_CASE(takes_an_unmount_for_a_failure_as_libfuse_does, *precondition(needs_fuse)) {
  constexpr int kEnds = 10;
  const SourceDir source;
  const ByteVector contents = make_contents("text", 1, 300'000, 1);
  MountSettings failing = settings();
  failing.environment = {"LD_PRELOAD=" BLOSCFS_CHANNEL_FAILER,
                         "BLOSCFS_LAST_READ_ERROR=" + std::to_string(ECONNABORTED)};
  for (int end = 0; end < kEnds; end++) {
    Mount mount(source.path(), failing);
    write_file(mount / "a", contents);
    BOOST_TEST(!mount.unmount().ok(), mount.log());
    BOOST_TEST(mount.log().find("reading device") != std::string::npos, mount.log());
  }
  const Mount mount(source.path());
  BOOST_CHECK(read_file(mount / "a") == contents);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
