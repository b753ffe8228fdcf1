// What code in the daemon could do if an attacker ran it, and what is left when the daemon dies.

#include <algorithm>
#include <bit>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mount/place.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/prisoner.hpp"
#include "tests/support/proc.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;
std::set<std::string> mount_points_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/mountinfo");
  std::set<std::string> points;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string id, parent, device, root, point;
    words >> id >> parent >> device >> root >> point;
    points.insert(point);
  }
  return points;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sandbox)

BOOST_AUTO_TEST_CASE(code_in_the_daemon_gets_nowhere,
                     *precondition(needs_fuse_as_root) * precondition(needs_plain_build)) {
  for (const char* mode : {"rw", "ro"}) BOOST_TEST_CONTEXT(mode) {
      Prisoner prisoner(0, {"sandbox=require", mode});
      const Outcomes outcomes = prisoner.escape();
      BOOST_TEST(outcomes.size() >= 60u);
      for (const std::string& way : ways_out(outcomes)) BOOST_ERROR(way);
      BOOST_CHECK(read_file(prisoner.outside("secret")) == bytes_of("secret"));
      BOOST_TEST(!fs_std::exists(prisoner.outside("new")));
      BOOST_CHECK(read_file(prisoner.mount() / "a") == bytes_of("contents"));
      BOOST_TEST(prisoner.mount().unmount().ok(), prisoner.mount().log());
    }
}

BOOST_AUTO_TEST_CASE(code_in_an_ordinary_users_daemon_gets_nowhere,
                     *precondition(needs_fuse_for_nobody) * precondition(needs_plain_build)) {
  Prisoner prisoner(nobody(), {"sandbox=require"});
  // Landlock does not restrict changes of attributes. An ordinary user cannot make a namespace that
  // shows the real owners.
  const std::set<std::string> expected = {
      "mode_outside",      "mode_outside_by_fchmodat", "owner_outside", "times_outside",
      "attribute_outside", "attributes_read_outside",  "look_outside",  "watch_outside"};
  const std::set<std::string> ways = ways_out(prisoner.escape());
  BOOST_TEST((ways == expected), fmt::format("{}", fmt::join(ways, " ")));
  BOOST_CHECK(read_file(prisoner.outside("secret")) == bytes_of("secret"));
  BOOST_TEST(prisoner.mount().unmount().ok(), prisoner.mount().log());
}

/// An option that needs more than the sandbox allows would fail only in the sandbox.
BOOST_AUTO_TEST_CASE(every_option_works_in_it,
                     *precondition(needs_fuse_as_root) * precondition(needs_plain_build)) {
  const Place place;
  std::vector<std::string> options = {"cache_size=64M",
                                      "threads=3",
                                      "raw",
                                      "unsupported=hide",
                                      "nostores",
                                      "verify",
                                      "cross_mounts",
                                      "dirty_limit=8M",
                                      "codec=zstd",
                                      "codec=lz4",
                                      "codec=lz4hc",
                                      "codec=zlib",
                                      "codec=blosclz",
                                      "codec=ndlz:4",
                                      "codec=auto",
                                      "codec=auto:speed",
                                      "codec=auto:ratio",
                                      "clevel=5",
                                      "filters=shuffle",
                                      "chunk_size=1M",
                                      "block_size=64K",
                                      "suffix=.b2nd",
                                      "sync=strict",
                                      "commit=1",
                                      "checksum",
                                      "locking",
                                      "trusted_xattrs",
                                      "writeback",
                                      "idle_timeout=100",
                                      "log=" + (place.home / "own_log").string(),
                                      "rescue=" + (place.home / "rescue").string(),
                                      "libfuse_io",
                                      "uid=7",
                                      "gid=8",
                                      "ro",
                                      "rw",
                                      "allow_other",
                                      "default_permissions",
                                      "suid",
                                      "dev",
                                      "nosuid",
                                      "nodev",
                                      "noexec",
                                      "noatime",
                                      "sync",
                                      "dirsync",
                                      "fsname=name"};
  for (const std::string& option : options) BOOST_TEST_CONTEXT(option) {
      const TempDir source;
      write_file(source / "a.b2frame", flat_frame(bytes_of("contents")));
      MountSettings settings;
      settings.options = {"sandbox=require", option};
      Mount mount(source.path(), settings);
      BOOST_CHECK(read_file(mount / "a") == bytes_of("contents"));
      if (option != "ro") {
        const ByteVector contents = make_contents("text", 1, 300'000, 1);
        write_file(mount / "n", contents);
        BOOST_CHECK(read_file(mount / "n") == contents);
      }
      BOOST_TEST(mount.complaints() == "");
      BOOST_TEST(mount.unmount().ok(), mount.log());
      BOOST_TEST(fs_std::is_empty(source.path()) == false);
    }
  // The other options are those of a remote SOURCE, which tests/remote covers.
  const ProcessResult help = run({bloscfs_program(), "--help"});
  std::istringstream lines(help.out.substr(help.out.find("Mount options:\n")));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && !line.starts_with("  endpoint=") && line.starts_with("  ")) {
    if (line.starts_with("   ")) continue;
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    const auto is_tried = [&](const std::string& option) { return option.starts_with(name); };
    BOOST_TEST((name == "sandbox=" || std::ranges::any_of(options, is_tried)), name);
  }
}

BOOST_AUTO_TEST_CASE(without_proc_nothing_is_mounted,
                     *precondition(needs_fuse_as_root) * precondition(needs_plain_build)) {
  const Place place;
  const ProcessResult result = run({"unshare", "-m", "sh", "-c",
                                    "umount -l /proc && exec '" + bloscfs_program() + "' '" +
                                        place.frame.string() + "' '" + place.point.string() + "'"});
  BOOST_TEST(result.status == 1, result.description());
  BOOST_TEST(result.err.find("/proc") != std::string::npos, result.err);
  BOOST_TEST(!is_mounted(place.point));
}

/// The same code must get out without the sandbox. Otherwise the cases above would prove nothing.
BOOST_AUTO_TEST_CASE(without_the_sandbox_the_same_code_gets_out,
                     *precondition(needs_fuse_as_root) * precondition(needs_plain_build)) {
  Prisoner prisoner(0, {"sandbox=off", "ro"});
  const auto ways = ways_out(prisoner.escape());
  for (const char* way : {"read_absolute", "read_passwd",   "climb",           "symlink",
                          "write",         "truncate",      "execute",         "fork",
                          "trace",         "kill",          "mount",           "unmount",
                          "unshare",       "change_root",   "device",          "internet",
                          "listen",        "netlink",       "map_executable",  "make_executable",
                          "memory_file",   "root_of_other", "memory_of_other", "kernel_setting",
                          "open_tree",     "dumpable",      "look_outside"})
    BOOST_TEST(ways.contains(way), way);
}

BOOST_AUTO_TEST_CASE(every_layer_is_in_place,
                     *precondition(needs_fuse_as_root) * precondition(needs_plain_build)) {
  std::map<std::string, unsigned long> capabilities;
  for (const char* mode : {"rw", "ro"}) BOOST_TEST_CONTEXT(mode) {
      const Place place;
      MountSettings settings;
      settings.options = {"sandbox=require", mode};
      Mount mount(place.frame, settings);
      BOOST_CHECK(read_file(mount / "a") == bytes_of("contents"));
      BOOST_CHECK(mount_points_of(mount.pid()) == (std::set<std::string>{"/", "/proc", "/source"}));
      BOOST_TEST(process_status(mount.pid(), "NoNewPrivs") == "1");
      BOOST_TEST(process_status(mount.pid(), "Seccomp") == "2");
      capabilities[mode] = std::stoul(process_status(mount.pid(), "CapPrm"), nullptr, 16);
      BOOST_TEST(capabilities[mode] ==
                 std::stoul(process_status(mount.pid(), "CapBnd"), nullptr, 16));
      BOOST_TEST(mount.complaints() == "");
      BOOST_TEST(mount.unmount().ok(), mount.log());
    }
  BOOST_TEST((capabilities["ro"] & ~capabilities["rw"]) == 0u);
  BOOST_TEST(std::popcount(capabilities["ro"]) == 2);
  BOOST_TEST(std::popcount(capabilities["rw"]) == 8);
}

/// After the daemon is killed, only the janitor is left to unmount.
BOOST_AUTO_TEST_CASE(a_daemon_that_is_killed_leaves_no_mount,
                     *precondition(needs_fuse_unsanitized)) {
  for (const bool is_background : {false, true}) BOOST_TEST_CONTEXT(is_background) {
      const Place place;
      std::optional<Child> foreground;
      if (is_background)
        BOOST_TEST_REQUIRE(place.bloscfs({}).ok());
      else
        foreground.emplace(Arguments{bloscfs_program(), "-f", place.frame, place.point},
                           (place.home / "log").string());
      BOOST_TEST_REQUIRE(comes_true([&] { return fs_std::exists(place.point / "a"); }));
      const pid_t daemon = daemon_of(place.point);
      BOOST_TEST_REQUIRE(daemon > 0);
      BOOST_TEST(::kill(daemon, SIGKILL) == 0);
      BOOST_TEST(comes_true([&] { return !is_mounted(place.point); }));
      BOOST_TEST(fs_std::exists(place.point));
    }
}

BOOST_AUTO_TEST_CASE(an_ordinary_users_daemon_that_is_killed_leaves_no_mount,
                     *precondition(needs_fuse_for_nobody) * precondition(needs_plain_build)) {
  const TempDir home, source;
  for (const TempDir* directory : {&home, &source})
    fs_std::permissions(directory->path(), fs_std::perms(0755));
  MountSettings settings;
  settings.uid = nobody();
  settings.program = copy_for_all(bloscfs_program(), home);
  for (const int number : {SIGKILL, SIGTERM, SIGINT}) BOOST_TEST_CONTEXT(number) {
      Mount mount(source.path(), settings);
      mount.signal(number);
      BOOST_TEST(comes_true([&] { return !is_mounted(mount.path()); }));
      BOOST_TEST(mount.wait(Seconds(10)));
      BOOST_TEST(mount.result().status == (number == SIGKILL ? -1 : 0), mount.log());
    }
}

BOOST_AUTO_TEST_CASE(what_somebody_mounted_there_later_stays,
                     *precondition(needs_fuse_as_root) * precondition(needs_plain_build)) {
  const Place place;
  for (const int number : {SIGKILL, SIGTERM}) BOOST_TEST_CONTEXT(number) {
      Mount mount(place.frame);
      BOOST_TEST_REQUIRE(fs_std::is_directory(mount.path()));  // it knows its mount
      mount.signal(SIGSTOP);                                   // it misses the unmount
      BOOST_TEST_REQUIRE(umount2(mount.path().c_str(), MNT_DETACH) == 0);
      BOOST_TEST_REQUIRE(::mount("none", mount.path().c_str(), "tmpfs", 0, nullptr) == 0);
      mount.signal(number);
      mount.signal(SIGCONT);
      BOOST_TEST(mount.wait(Seconds(10)));
      BOOST_TEST(comes_true([&] { return janitor_of(mount.path()) < 0; }));
      BOOST_TEST(is_mounted(mount.path()));
    }
}

BOOST_AUTO_TEST_CASE(the_janitor_keeps_nothing_and_outlives_what_ends_a_service,
                     *precondition(needs_fuse_unsanitized)) {
  const Place place;
  Mount mount(place.frame);
  pid_t janitor = -1;
  BOOST_TEST_REQUIRE(comes_true([&] { return (janitor = janitor_of(mount.path())) > 0; }));
  const fs_std::path process = "/proc/" + std::to_string(janitor);
  std::set<std::string> open_files;
  for (const auto& entry : fs_std::directory_iterator(process / "fd"))
    open_files.insert(fs_std::read_symlink(entry.path()).string().substr(0, 7));
  BOOST_CHECK(open_files == (std::set<std::string>{"/dev/nu", "socket:"}));
  BOOST_TEST(fs_std::read_symlink(process / "cwd") == "/");
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT})
    BOOST_TEST(::kill(janitor, number) == 0);
  mount.signal(SIGKILL);
  BOOST_TEST(comes_true([&] { return !is_mounted(mount.path()); }));
  BOOST_TEST(comes_true([&] { return janitor_of(mount.path()) < 0; }));
}

BOOST_AUTO_TEST_CASE(a_sandbox_is_asked_for_by_three_words) {
  const Place place;
  for (const char* option : {"sandbox", "sandbox=", "sandbox=on", "sandbox=auto,sandbox=Off"})
    BOOST_TEST(place.bloscfs({"-o", option}).status == 2, option);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
