// Tests the command line: options, messages, exit statuses, background, signals, mount(8).

#include <algorithm>
#include <cstdlib>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/mount/asked_mounts.hpp"
#include "tests/mount/place.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

}  // namespace

BOOST_AUTO_TEST_SUITE(command)

BOOST_AUTO_TEST_CASE(help_and_version_are_complete) {
  const auto help = run({bloscfs_program(), "--help"});
  BOOST_TEST(help.ok());
  for (const char* word : {"SOURCE", "MOUNTPOINT", "-f", "-d", "-o", "--version", "cache_size",
                           "threads", "raw", "verify", "idle_timeout", "allow_other"})
    BOOST_TEST(contains(help.out, word), word);
  const auto version = run({bloscfs_program(), "--version"});
  BOOST_TEST(version.ok());
  BOOST_TEST(contains(version.out, "bloscfs"));
}

BOOST_AUTO_TEST_CASE(unknown_options_are_refused_with_the_nearest_that_exist) {
  const Place place;
  for (const std::string option : {"nonsense", "nonsense=1", "Raw"}) {
    const auto result = place.bloscfs({"-o", option});
    BOOST_TEST(!result.ok());
    BOOST_TEST(contains(result.err, option.substr(0, option.find('='))), result.err);
    BOOST_TEST(contains(result.err, "the nearest are"), result.err);
    BOOST_TEST(contains(result.err, "bloscfs --help lists all"), result.err);
    BOOST_TEST(!is_mounted(place.point));
  }
  BOOST_TEST(!place.bloscfs({"--nonsense"}).ok());
}

BOOST_AUTO_TEST_CASE(bad_numbers_are_refused) {
  const Place place;
  for (const char* option :
       {"cache_size=", "cache_size=x", "cache_size=12Q", "cache_size=-1", "cache_size=1.5G",
        "cache_size= 1M", "cache_size=1M2", "cache_size=99999999999999999999", "cache_size",
        "cache_size=0x10", "threads=-1", "threads=many", "idle_timeout=1w",
        "idle_timeout=", "threads=4294967296", "cache_size=8M,dirty_limit=9M"}) {
    const auto result = place.bloscfs({"-o", option});
    BOOST_TEST(result.status == 2, option);
    const std::string options(option);
    const std::string last = options.substr(options.rfind(',') + 1);  // the one at fault
    BOOST_TEST(contains(result.err, "option " + last.substr(0, last.find('='))), result.err);
    BOOST_TEST(!is_mounted(place.point), option);
    force_unmount(place.point);
  }
}

BOOST_AUTO_TEST_CASE(missing_source_or_mountpoint_is_an_error_at_once) {
  const Place place;
  const auto no_source =
      run({bloscfs_program(), (place.home / "nowhere").string(), place.point.string()});
  BOOST_TEST(!no_source.ok());
  BOOST_TEST(contains(no_source.err, "nowhere"), no_source.err);
  const auto no_point =
      run({bloscfs_program(), place.frame.string(), (place.home / "nowhere").string()});
  BOOST_TEST(!no_point.ok());
  BOOST_TEST(contains(no_point.err, "nowhere"), no_point.err);
  BOOST_TEST(run({bloscfs_program()}).status == 2);
}

BOOST_AUTO_TEST_CASE(mountpoint_must_be_a_directory_outside_of_source) {
  const Place place;
  const fs_std::path file = place.home / "file";
  write_file(file, "plain");
  const auto on_file = run({bloscfs_program(), place.home.path().string(), file.string()});
  BOOST_TEST(on_file.status == 1);
  BOOST_TEST(contains(on_file.err, "not a directory"), on_file.err);
  BOOST_TEST(!is_mounted(file));
  for (const fs_std::path& source : {place.home.path(), fs_std::path("/")}) {
    const auto nested = run({bloscfs_program(), source.string(), place.point.string()});
    BOOST_TEST(nested.status == 1);
    BOOST_TEST(contains(nested.err, "lies inside"), nested.err);
    BOOST_TEST(!is_mounted(place.point));
  }
}

BOOST_AUTO_TEST_CASE(messages_name_what_is_at_fault_once) {
  const Place place;
  const std::string home = place.home.path(), point = place.point, frame = place.frame;
  write_file(place.home / "file", "plain");
  write_file(place.home / "a.npy", "plain");
  write_file(place.home / "cut.b2frame", flat_frame(std::string("contents")));
  fs_std::resize_file(place.home / "cut.b2frame", 100);
  struct Case {
    std::string source, point, option, expected;
  };
  const std::string nowhere = home + "/nowhere", file = home + "/file", cut = home + "/cut.b2frame",
                    npy = home + "/a.npy";
  for (const auto& [source, on, option, expected] :
       {Case{nowhere, point, "raw", nowhere + ": No such file or directory\n"},
        {file, point, "raw",
         file + ": neither a directory nor a Blosc2 frame nor a Bloscpack file\n"},
        {npy, point, "raw",
         npy +
             ": neither a directory nor a Blosc2 frame nor a Bloscpack file; make one: b2frame "
             "create " +
             npy + " -o " + home + "/a.b2nd\n"},
        {file + "/x", point, "raw", file + "/x: Not a directory\n"},
        {cut, point, "raw", cut + ": frame header: cut off: it says "},
        {frame, nowhere, "raw", nowhere + ": no such directory; make it first, with mkdir\n"},
        {frame, file, "raw", file + ": not a directory; a mountpoint is an existing directory\n"},
        {frame, file + "/x", "raw", file + "/x: Not a directory\n"},
        {home, point, "raw", point + ": lies inside " + home + "\n"},
        {frame, nowhere, "remount", nowhere + ": No such file or directory\n"},
        {"ftp://host/x", point, "raw", "ftp://host/x: not a known kind of URL; it begins with "},
        {frame, point, "remount", point + ": no bloscfs is mounted there\n"}}) {
    const auto result = run({bloscfs_program(), "-o", option, source, on});
    BOOST_TEST(result.status == 1);
    BOOST_TEST(result.err.starts_with("bloscfs: " + expected), result.err);
    BOOST_TEST(std::count(result.err.begin(), result.err.end(), '\n') == 1, result.err);
  }
}

BOOST_AUTO_TEST_CASE(what_may_not_be_read_is_named_once,
                     *precondition(needs_fuse_as_root) * precondition(needs_build_for_nobody)) {
  const Place place;
  fs_std::permissions(place.home.path(), fs_std::perms(0755));
  fs_std::create_directory(place.home / "closed");
  for (const auto& path : {place.home / "closed", place.frame})
    fs_std::permissions(path, fs_std::perms(0));
  ProcessSettings settings;
  settings.uid = nobody();
  const auto result_for = [&](const fs_std::path& source) {
    return run({bloscfs_program(), source, place.point}, settings).err;
  };
  const std::string closed = place.home / "closed";
  BOOST_TEST(result_for(closed) == "bloscfs: " + closed + ": Permission denied\n");
  BOOST_TEST(result_for(closed + "/x") == "bloscfs: " + closed + "/x: Permission denied\n");
  BOOST_TEST(result_for(place.frame) ==
             "bloscfs: " + place.frame.string() + ": open: Permission denied\n");
}

BOOST_AUTO_TEST_CASE(closed_standard_descriptors_do_no_harm, *precondition(needs_fuse)) {
  const Place place;
  const auto result = run({"sh", "-c", "exec \"$0\" \"$1\" \"$2\" <&- >&- 2>&-", bloscfs_program(),
                           place.frame.string(), place.point.string()});
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST((read_file(place.point / "a") == bytes_of("contents")));
}

BOOST_AUTO_TEST_CASE(file_that_is_no_frame_is_refused) {
  const Place place;
  write_file(place.home / "text.b2frame", "no frame");
  const auto result =
      run({bloscfs_program(), (place.home / "text.b2frame").string(), place.point.string()});
  BOOST_TEST(!result.ok());
  BOOST_TEST(contains(result.err, "text.b2frame"), result.err);
}

BOOST_AUTO_TEST_CASE(background_mount_works_when_the_command_returns, *precondition(needs_fuse)) {
  const Place place;
  const auto result = place.bloscfs({});
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(is_mounted(place.point));
  BOOST_TEST((read_file(place.point / "a") == bytes_of("contents")));
  const pid_t pid = daemon_of(place.point);
  BOOST_REQUIRE(pid > 0);
  BOOST_TEST(run({"umount", place.point.string()}).ok());
  BOOST_TEST(wait_for(pid) == 0);
}

BOOST_AUTO_TEST_CASE(relative_paths_survive_the_background, *precondition(needs_fuse)) {
  const Place place;
  const auto result = run({"sh", "-c",
                           "cd '" + place.home.path().string() + "' && exec '" + bloscfs_program() +
                               "' a.b2frame mnt"});
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST((read_file(place.point / "a") == bytes_of("contents")));
  force_unmount(place.point);
  // daemon_of() cannot find this daemon, whose command line has the relative name.
  const pid_t pid = waitpid(-1, nullptr, 0);
  BOOST_TEST(pid > 0);
}

BOOST_AUTO_TEST_CASE(signals_unmount_cleanly, *precondition(needs_fuse)) {
  const Place place;
  // A shell starts background jobs with SIGINT ignored, and their children inherit that.
  const auto earlier = ::signal(SIGINT, SIG_IGN);
  for (const int number : {SIGTERM, SIGINT}) {
    Mount mount(place.frame);
    BOOST_TEST((read_file(mount / "a") == bytes_of("contents")));
    mount.signal(number);
    BOOST_TEST(mount.wait(Seconds(10)));
    BOOST_TEST(mount.result().status == 0, mount.log());
    BOOST_TEST(!is_mounted(mount.path()));
  }
  ::signal(SIGINT, earlier);
}

BOOST_AUTO_TEST_CASE(what_is_mounted_already_is_not_mounted_again, *precondition(needs_fuse)) {
  const Place place;
  BOOST_TEST(place.bloscfs({}).ok());
  const std::string point = place.point;
  for (const Arguments& options : {Arguments{}, Arguments{"-o", "ro"}}) {
    const auto again = place.bloscfs(options);
    BOOST_TEST(again.status == 1);
    BOOST_TEST(again.err == "bloscfs: " + place.frame.string() + ": already mounted at " + point +
                                "; to change options, run: bloscfs -o remount,OPTIONS " + point +
                                "; to end the mount, run: bloscfs --unmount " + point + "\n");
  }
  BOOST_TEST((read_file(place.point / "a") == bytes_of("contents")));
}

BOOST_AUTO_TEST_CASE(mountpoint_of_another_source_is_named,
                     *precondition(needs_fuse_as_root) *
                         precondition(needs_programs("fusermount3"))) {
  const ForOthers others;
  for (const char* const name : {"b", "m"}) {
    fs_std::create_directory(others.home / name);
    BOOST_TEST_REQUIRE(::chown((others.home / name).c_str(), nobody(), nobody()) == 0);
  }
  const std::string point = (others.home / "m").string();
  const auto first = others.as_nobody({others.source().string(), point});
  BOOST_TEST_REQUIRE(first.ok(), first.description());
  const auto refused = others.as_nobody({(others.home / "b").string(), point});
  BOOST_TEST(refused.status == 1);
  const std::string message = "could not mount on " + point + "; " + others.source().string() +
                              " is mounted there; to end that mount, run: bloscfs --unmount " +
                              point + "\n";
  BOOST_TEST(contains(refused.err, message), refused.err);
  BOOST_TEST(others.as_nobody({"--unmount", point}).ok());
}

BOOST_AUTO_TEST_CASE(fusermount_ends_the_daemon, *precondition(needs_programs("fusermount3"))) {
  const Place place;
  Mount mount(place.frame);
  BOOST_TEST(run({"fusermount3", "-u", mount.path().string()}).ok());
  BOOST_TEST(mount.wait(Seconds(10)));
  BOOST_TEST(mount.result().status == 0, mount.log());
}

BOOST_AUTO_TEST_CASE(idle_mount_ends_itself_when_asked, *precondition(needs_fuse)) {
  const Place place;
  MountSettings settings;
  settings.options = {"idle_timeout=1"};
  Mount mount(place.frame, settings);
  {
    const Fd open_file(open((mount / "a").c_str(), O_RDONLY | O_CLOEXEC));
    BOOST_TEST(!mount.wait(Seconds(2.5)), "ended with an open file");
  }
  BOOST_TEST(mount.wait(Seconds(10)));
  BOOST_TEST(mount.result().status == 0, mount.log());
  BOOST_TEST(!is_mounted(mount.path()));
}

// A lazy unmount would leave the process in a directory of which every use fails.
BOOST_AUTO_TEST_CASE(idle_mount_with_a_current_directory_stays,
                     *precondition(needs_fuse_for_nobody)) {
  for (const bool is_root : {true, false}) {
    const ForOthers place;
    const TempDir source;
    MountSettings settings = is_root ? MountSettings() : place.of_nobody();
    settings.options = {"idle_timeout=1"};
    Mount mount(is_root ? source.path() : place.source(), settings);
    ProcessSettings within;
    within.uid = is_root ? 0 : nobody();
    // Each second of idle time, the daemon tries to unmount.
    const auto seen =
        run({"sh", "-c", "cd '" + mount.path().string() + "' && sleep 3 && ls -a"}, within);
    BOOST_TEST(seen.ok(), seen.description());
    BOOST_TEST(mount.wait(Seconds(10)));
    BOOST_TEST(mount.result().status == 0, mount.log());
    BOOST_TEST(!is_mounted(mount.path()));
  }
}

/// Settings with which mount.fuse3 finds bloscfs. mount(8) runs mount.fuse3 too, but would have it
/// search only the system's own directories.
ProcessSettings with_bloscfs_in_path(const TempDir& programs) {
  fs_std::create_symlink(bloscfs_program(), programs / "bloscfs");
  ProcessSettings settings;
  settings.environment = {"PATH=" + programs.path().string() + ":" + std::getenv("PATH")};
  return settings;
}

BOOST_AUTO_TEST_CASE(mount_program_mounts_as_from_fstab,
                     *precondition(needs_fuse_as_root) *
                         precondition(needs_programs("mount.fuse3 findmnt"))) {
  const Place place;
  const auto result = run({"mount.fuse3", place.frame.string(), place.point.string(), "-t",
                           "fuse.bloscfs", "-o", "ro,allow_other,cache_size=16M"},
                          with_bloscfs_in_path(place.home));
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(is_mounted(place.point));
  BOOST_TEST((read_file(place.point / "a") == bytes_of("contents")));
  BOOST_TEST(run({"findmnt", "-no", "FSTYPE", place.point.string()}).out == "fuse.bloscfs\n");
  // mount.fuse3 adds `dev` and `suid`.
  BOOST_TEST(run({"findmnt", "-no", "VFS-OPTIONS", place.point.string()})
                 .out.starts_with("ro,nosuid,nodev"));
  BOOST_TEST(run({"umount", place.point.string()}).ok());
}

/// A directory on a read-only mount, so that even root cannot write to it.
struct ReadOnlySource {
  ReadOnlySource() {
    write_file(directory / "a.b2frame", flat_frame(std::string("contents")));
    BOOST_TEST_REQUIRE(run({"mount", "--bind", "-o", "ro", path(), path()}).ok());
  }
  ~ReadOnlySource() { force_unmount(directory.path()); }
  std::string path() const { return directory.path().string(); }
  TempDir directory;
};

BOOST_AUTO_TEST_CASE(what_cannot_be_written_is_read_only_unless_rw_was_asked_for,
                     *precondition(needs_fuse_as_root) * precondition(needs_programs("mount"))) {
  const ReadOnlySource source;
  {
    Mount mount(source.path());
    BOOST_TEST((read_file(mount / "a") == bytes_of("contents")));
    const std::string notice =
        source.path() +
        ": cannot be written: Read-only file system; mounted read-only; make it "
        "writable and mount again, or give -o ro\n";
    BOOST_TEST(contains(mount.complaints(), notice), mount.log());
    BOOST_TEST(contains(mount.log(), "; options: ro\n"), mount.log());
    BOOST_TEST(mount.unmount().ok(), mount.log());
  }
  {
    MountSettings settings;
    settings.options = {"ro"};
    Mount mount(source.path(), settings);
    BOOST_TEST(mount.unmount().ok(), mount.log());
    BOOST_TEST(mount.complaints() == "");
  }
  {
    const Place place;
    const std::string log = place.home / "log";
    const auto result =
        run({bloscfs_program(), "-o", "log=" + log, source.path(), place.point.string()});
    BOOST_TEST(result.ok(), result.description());
    BOOST_TEST(contains(result.err, "; mounted read-only; "), result.err);
    const ByteVector text = read_file(log);
    BOOST_TEST(contains({text.begin(), text.end()}, "; mounted read-only; "));
  }
  const TempDir point;
  const auto refused = run({bloscfs_program(), "-o", "rw", source.path(), point.path().string()});
  BOOST_TEST(refused.status == 1);
  BOOST_TEST(refused.err == "bloscfs: " + source.path() +
                                ": cannot be written: Read-only file system; mount it with ro, or "
                                "without rw\n");
  BOOST_TEST(!is_mounted(point.path()));
}

BOOST_AUTO_TEST_CASE(store_in_one_file_is_read_only_unless_rw_was_asked_for,
                     *precondition(needs_fuse)) {
  const TempDir directory;
  const std::string store = (directory / "s.b2z").string();
  write_file(store, read_file(fs_std::path(BLOSCFS_SOURCE_ROOT) / "tests/data/stores/dict.b2z"));
  Mount mount(store);
  BOOST_TEST(comes_true([&] { return contains(mount.log(), "; options: ro\n"); }), mount.log());
  BOOST_TEST(mount.complaints() == "");
  BOOST_TEST(mount.unmount().ok(), mount.log());
  const TempDir point;
  const auto refused = run({bloscfs_program(), "-o", "rw", store, point.path().string()});
  BOOST_TEST(refused.status == 1);
  BOOST_TEST(refused.err == "bloscfs: " + store +
                                ": a store in one file cannot be written; unpack it with b2frame "
                                "unpack, or mount it with ro\n");
  BOOST_TEST(!is_mounted(point.path()));
}

/// mount(8) adds `rw` to the options that it was given.
BOOST_AUTO_TEST_CASE(mount_program_is_told_that_what_cannot_be_written_is_read_only,
                     *precondition(needs_fuse_as_root) *
                         precondition(needs_programs("mount mount.fuse3"))) {
  const ReadOnlySource source;
  const Place place;
  const auto result =
      run({"mount.fuse3", source.path(), place.point.string(), "-t", "fuse.bloscfs", "-o", "rw"},
          with_bloscfs_in_path(place.home));
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(contains(result.err, "Read-only file system; mounted read-only"),
             result.description());
  BOOST_TEST((read_file(place.point / "a") == bytes_of("contents")));
}

ProcessResult run_remount(const fs_std::path& source, const Mount& mount,
                          const std::string& flags) {
  const TempDir programs;
  return run({"mount.fuse3", source.string(), mount.path().string(), "-t", "fuse.bloscfs", "-o",
              flags + ",nosuid,nodev,relatime,remount,user_id=0,group_id=0,max_read=1048576"},
             with_bloscfs_in_path(programs));
}

BOOST_AUTO_TEST_CASE(a_mount_is_made_read_only_and_writable_again,
                     *precondition(needs_fuse_as_root) *
                         precondition(needs_programs("mount.fuse3"))) {
  const TempDir source;
  Mount mount(source.path());
  write_file(mount / "a", "contents");
  {
    const Fd writer(::open((mount / "a").c_str(), O_WRONLY | O_CLOEXEC));
    const auto refused = bloscfs({"-o", "remount,ro", mount.path().string()});
    BOOST_TEST(refused.status == 1);
    BOOST_TEST(contains(refused.err, fmt::format(": files are open for writing in it: {} by ",
                                                 (mount / "a").string())),
               refused.err);
    BOOST_TEST(contains(refused.err, fmt::format(" (process {})\n", ::getpid())), refused.err);
  }
  const auto made_read_only = run_remount(source.path(), mount, "ro");
  BOOST_TEST(made_read_only.ok(), made_read_only.description());
  BOOST_TEST(fs_std::exists(source / "a.b2frame"));  // remount,ro has committed it
  BOOST_TEST(mount.counter("dirty_bytes") == 0u);
  for (const char* name : {"a", "new"}) {
    BOOST_TEST(::open((mount / name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644) == -1);
    BOOST_TEST(errno == EROFS);
  }
  BOOST_TEST((read_file(mount / "a") == bytes_of("contents")));
  const auto made_writable = run_remount(source.path(), mount, "rw");
  BOOST_TEST(made_writable.ok(), made_writable.description());
  write_file(mount / "a", "other");
  BOOST_TEST((read_file(mount / "a") == bytes_of("other")));
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_CASE(a_mount_that_began_read_only_is_not_made_writable,
                     *precondition(needs_fuse_as_root) *
                         precondition(needs_programs("mount.fuse3"))) {
  const TempDir source;
  MountSettings settings;
  settings.options = {"ro"};
  Mount mount(source.path(), settings);
  BOOST_TEST(run_remount(source.path(), mount, "ro").ok());
  const auto result = run_remount(source.path(), mount, "rw");
  BOOST_TEST(!result.ok());
  BOOST_TEST(contains(result.err, "mounted read-only"), result.description());
  BOOST_TEST(::open((mount / "new").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644) == -1);
  BOOST_TEST(errno == EROFS);
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_CASE(what_is_no_bloscfs_is_not_remounted, *precondition(needs_fuse_as_root)) {
  const TempDir source, other;
  const auto result =
      run({bloscfs_program(), source.path().string(), other.path().string(), "-o", "remount,ro"});
  BOOST_TEST(!result.ok());
  BOOST_TEST(contains(result.err, "no bloscfs"), result.description());
}

/// Also with a space in the mountpoint, which the mount table escapes.
BOOST_AUTO_TEST_CASE(the_kernel_reads_a_mebibyte_ahead_in_mounts_of_root,
                     *precondition(needs_fuse_as_root)) {
  const TempDir home;
  write_file(home / "a.b2frame", flat_frame(std::string("contents")));
  for (const char* name : {"mnt", "a mount"}) {
    const auto point = home / name;
    fs_std::create_directory(point);
    Child daemon({bloscfs_program(), "-f", (home / "a.b2frame").string(), point.string()},
                 (home / "log").string());
    comes_true([&] { return fs_std::exists(point / "a"); });
    struct stat st {};
    BOOST_TEST_REQUIRE(::stat(point.c_str(), &st) == 0);
    const auto setting = "/sys/class/bdi/" + std::to_string(major(st.st_dev)) + ":" +
                         std::to_string(minor(st.st_dev)) + "/read_ahead_kb";
    const auto value = read_file(setting);
    BOOST_TEST(std::string(value.begin(), value.end()) == "1024\n");
    BOOST_TEST(run({"umount", point.string()}).ok());
    BOOST_TEST(daemon.wait(Seconds(10)));
  }
}

/// NumPy does this: it reads an array's header, then opens the file again to map it.
BOOST_AUTO_TEST_CASE(a_file_that_is_opened_again_to_be_mapped_is_read_in_small_pieces,
                     *precondition(needs_fuse_as_root)) {
  const TempDir home;
  fs_std::create_directory(home / "source");
  const ByteVector contents = make_contents("text", 1, 8 << 20, 1);
  write_file(home / "source/a.b2frame", flat_frame(contents));
  write_file(home / "source/b.b2frame", flat_frame("b"));
  const Mount mount(home / "source");
  struct stat st {};
  BOOST_TEST_REQUIRE(::stat((mount / "a").c_str(), &st) == 0);
  const auto setting = [&] {
    const ByteVector value = read_file(
        fmt::format("/sys/class/bdi/{}:{}/read_ahead_kb", major(st.st_dev), minor(st.st_dev)));
    return std::string(value.begin(), value.end());
  };
  const auto open_one = [&](const char* name) {
    Fd fd(::open((mount / name).c_str(), O_RDONLY | O_CLOEXEC));
    BOOST_TEST_REQUIRE(static_cast<bool>(fd));
    return fd;
  };
  const Fd first = open_one("a");
  ByteVector header(128 << 10);  // as large as buffers of programs get
  BOOST_TEST_REQUIRE(::pread(first.get(), header.data(), header.size(), 0) == 128 << 10);
  BOOST_TEST(setting() == "1024\n");
  const Fd again = open_one("a");
  BOOST_TEST(setting() == "64\n");
  const auto given = [&] { return mount.stats().at("contents_bytes_read").get<std::uint64_t>(); };
  const std::uint64_t before = given();
  void* const pages = ::mmap(nullptr, contents.size(), PROT_READ, MAP_SHARED, again.get(), 0);
  BOOST_TEST_REQUIRE(pages != MAP_FAILED);
  const std::size_t middle = contents.size() / 2;
  BOOST_TEST(static_cast<const std::uint8_t*>(pages)[middle] == contents[middle]);
  ::munmap(pages, contents.size());
  BOOST_TEST(given() - before <= 64U << 10);
  const Fd other = open_one("b");
  BOOST_TEST(setting() == "1024\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
