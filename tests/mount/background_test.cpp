// The command and the daemon that it starts in the background. The command reports a failed start.

#include <boost/test/unit_test.hpp>
#include <unistd.h>

#include "tests/mount/place.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/needs.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

}  // namespace

BOOST_AUTO_TEST_SUITE(background)

/// A program that waits for the command to end must not take a failed start for a mount.
BOOST_AUTO_TEST_CASE(a_background_that_cannot_start_its_threads_says_so,
                     *precondition(needs_fuse_for_nobody) * precondition(needs_build_for_nobody) *
                         precondition(needs_programs("prlimit fusermount3"))) {
  const Place place;
  for (const auto& path : {place.home.path(), place.point}) {
    fs_std::permissions(path, fs_std::perms(0755));
    BOOST_TEST_REQUIRE(chown(path.c_str(), nobody(), nobody()) == 0);
  }
  ProcessSettings settings;
  settings.uid = nobody();
  for (const char* threads : {"threads=1", "threads=8"}) {
    // The limit has room for the command, its child, the janitor and the program that mounts for
    // them.
    const auto result = run({"prlimit", "--nproc=4", bloscfs_program(), "-o", threads,
                             place.frame.string(), place.point.string()},
                            settings);
    BOOST_TEST(result.status == 1, result.description());
    BOOST_TEST(contains(result.err, "Resource temporarily unavailable"), result.err);
    BOOST_TEST(!is_mounted(place.point));
  }
}

BOOST_AUTO_TEST_CASE(who_ends_a_waiting_command_ends_what_it_has_begun, *precondition(needs_fuse)) {
  const Place place;
  Mount first(place.frame);
  Child second({bloscfs_program(), place.frame, place.point}, place.home / "log");
  BOOST_TEST(comes_true([&] {
    const ByteVector log = read_file(place.home / "log");
    return contains({log.begin(), log.end()}, "waiting up to");
  }));
  second.signal(SIGTERM);
  BOOST_TEST(second.wait(Seconds(10)));
  BOOST_TEST(comes_true([&] { return daemon_of(place.point) < 0; }));
  BOOST_TEST(first.unmount().ok(), first.log());
  BOOST_TEST(!is_mounted(place.point));
}

/// As nohup does, the shell ignores SIGHUP for the daemon.
BOOST_AUTO_TEST_CASE(a_mount_outlives_its_terminal_if_it_is_to, *precondition(needs_fuse)) {
  const Place place;
  Child daemon({"sh", "-c", "trap '' HUP; exec \"$0\" -f \"$1\" \"$2\"", bloscfs_program(),
                place.frame, place.point},
               place.home / "log");
  BOOST_TEST_REQUIRE(comes_true([&] { return fs_std::exists(place.point / "a"); }));
  daemon.signal(SIGHUP);
  BOOST_TEST(!daemon.wait(Seconds(1)));
  BOOST_TEST(is_mounted(place.point));
  daemon.signal(SIGTERM);
  BOOST_TEST(daemon.wait(Seconds(10)));
  BOOST_TEST(!is_mounted(place.point));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
