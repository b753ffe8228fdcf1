// Where a daemon's messages go, and which messages every mount writes.

#include <csignal>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mount/asked_mounts.hpp"
#include "tests/mount/place.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/xattr.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

std::string logged_in(const fs_std::path& file) {
  const ByteVector bytes = read_file(file);
  return {bytes.begin(), bytes.end()};
}

/// A directory with a damaged frame, about which the mount logs a message when it is listed.
struct DamagedSource {
  DamagedSource() {
    write_file(directory / "cut.b2frame", flat_frame(std::string("contents")));
    fs_std::resize_file(directory / "cut.b2frame", 100);
  }
  std::string path() const { return directory.path(); }
  TempDir directory;
};

constexpr const char* kTold = "[bloscfs] [warning] cut.b2frame: shown as it is: frame header: ";

/// Returns the first line of the log that contains `words`, without its time.
std::string line_with(const std::string& log, const std::string& words) {
  const std::size_t at = log.find(words);
  if (at == std::string::npos) return "no line with '" + words + "' in: " + log;
  const std::size_t begin = log.rfind("] ", at) + 2;
  return log.substr(begin, log.find('\n', at) - begin);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(daemon_log)

BOOST_AUTO_TEST_CASE(messages_of_the_background_are_appended_to_a_file, *precondition(needs_fuse)) {
  const DamagedSource source;
  const Place place;
  const fs_std::path log = place.home / "daemon.log";
  for (const bool is_new : {true, false}) {
    if (!is_new) write_file(log, "before\n");
    const auto result =
        run({"sh", "-c", "umask 0; cd \"$0\" && exec \"$1\" -o log=daemon.log \"$2\" \"$3\"",
             place.home.path(), bloscfs_program(), source.path(), place.point});
    BOOST_TEST(result.ok(), result.description());
    BOOST_TEST(result.err == "");
    BOOST_TEST(fs_std::exists(place.point / "cut.b2frame"));
    const std::string text = logged_in(log);
    BOOST_TEST(contains(text, kTold), text);
    BOOST_TEST(text.starts_with(is_new ? "[" : "before\n["), text);
    struct stat st {};
    BOOST_TEST_REQUIRE(stat(log.c_str(), &st) == 0);
    BOOST_TEST((st.st_mode & 07777) == 0600u);
    const pid_t pid = daemon_of(place.point);
    BOOST_TEST(force_unmount(place.point));
    BOOST_TEST(wait_for(pid) == 0);
  }
}

BOOST_AUTO_TEST_CASE(messages_of_the_foreground_go_to_a_file_if_there_is_one,
                     *precondition(needs_fuse)) {
  const DamagedSource source;
  const TempDir home;
  for (const bool has_file : {false, true}) {
    MountSettings settings;
    if (has_file) settings.options = {"log=" + (home / "log").string()};
    Mount mount(source.path(), settings);
    BOOST_TEST(fs_std::exists(mount / "cut.b2frame"));
    BOOST_TEST(contains(has_file ? logged_in(home / "log") : mount.log(), kTold));
    if (has_file) BOOST_TEST(mount.log() == "");
    BOOST_TEST(mount.unmount().ok(), mount.log());
  }
}

BOOST_AUTO_TEST_CASE(files_that_lost_their_frame_header_are_told_once, *precondition(needs_fuse)) {
  const TempDir source;
  write_file(source / "zeros.b2frame", ByteVector(4096));
  write_file(source / "empty.b2nd", "");
  write_file(source / "plain.txt", "no frame");
  Mount mount(source.path());
  // The daemon logs this only once the files are old enough that another program is unlikely to be
  // still writing them.
  BOOST_TEST(comes_true([&] {
    for (const char* name : {"zeros.b2frame", "empty.b2nd", "plain.txt"})
      BOOST_TEST(fs_std::exists(mount / name));
    return contains(mount.log(), "empty.b2nd") && contains(mount.log(), "zeros.b2frame");
  }));
  BOOST_TEST(fs_std::exists(mount / "zeros.b2frame"));
  mount.unmount();
  const std::string log = mount.log();
  for (const char* file :
       {"zeros.b2frame: has the suffix of a frame but no frame header; b2frame "
        "repair may save it\n",
        "empty.b2nd: has the suffix of a frame but no frame header; it is empty: "
        "restore it from a copy\n"}) {
    const std::string told = file;
    BOOST_TEST(contains(log, told), log);
    BOOST_TEST(log.find(told) == log.rfind(told), log);
  }
  BOOST_TEST(!contains(log, "plain.txt"), log);
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_written_is_an_error_at_start) {
  const Place place;
  const std::string home = place.home.path();
  for (const auto& [file, reason] :
       {std::pair<std::string, std::string>{
            home + "/none/log",
            "No such file or directory; make the directory " + home + "/none, or correct log="},
        {home, "Is a directory"},
        {place.frame.string() + "/log", "Not a directory"}}) {
    const auto result = place.bloscfs({"-o", "log=" + file});
    BOOST_TEST(result.status == 1);
    BOOST_TEST(result.err == "bloscfs: " + file + ": " + reason + "\n");
    BOOST_TEST(!is_mounted(place.point));
  }
}

BOOST_AUTO_TEST_CASE(begin_changes_and_end_are_told, *precondition(needs_fuse_as_root)) {
  const TempDir source;
  MountSettings settings;
  settings.options = {"cache_size=8M", "noatime"};
  Mount mount(source.path(), settings);
  const std::string what = source.path().string() + " on " + mount.path().string();
  BOOST_TEST(comes_true([&] { return contains(mount.log(), ": mounted "); }));
  const std::string mounted = line_with(mount.log(), ": mounted ");
  BOOST_TEST(mounted.starts_with("bloscfs "), mounted);
  BOOST_TEST(mounted.ends_with(": mounted " + what + "; options: rw,cache_size=8M,noatime"),
             mounted);
  BOOST_TEST(bloscfs({"-o", "remount,idle_timeout=1h", mount.path().string()}).ok());
  BOOST_TEST(line_with(mount.log(), "remounted ") ==
             "remounted " + mount.path().string() +
                 "; options: rw,cache_size=8M,idle_timeout=1h,noatime");
  BOOST_TEST(bloscfs({"-o", "remount,ro,atime", mount.path().string()}).ok());
  const std::string options = "ro,cache_size=8M,idle_timeout=1h,atime";
  BOOST_TEST(contains(mount.log(), "remounted " + mount.path().string() + "; options: " + options));
  BOOST_TEST(get_xattr(mount.path(), "user.bloscfs.options").value() == options);
  BOOST_TEST(bloscfs({"-o", "remount,rw", mount.path().string()}).ok());
  BOOST_TEST(contains(mount.log(), "; options: rw,cache_size=8M,idle_timeout=1h,atime"));
  BOOST_TEST(bloscfs({"--unmount", mount.path().string()}).ok());
  BOOST_TEST(mount.wait(Seconds(10)));
  BOOST_TEST(line_with(mount.log(), "ended ") ==
             "ended " + what + ": unmounted by bloscfs --unmount");
}

BOOST_AUTO_TEST_CASE(each_reason_of_an_end_is_told, *precondition(needs_fuse_as_root)) {
  const TempDir source;
  {
    // Neither a refused `bloscfs --unmount` nor a remount ends the mount.
    Mount mount(source.path());
    {
      const Fd in_use(::open(mount.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      BOOST_TEST(bloscfs({"--unmount", mount.path().string()}).status == 1);
    }
    BOOST_TEST(bloscfs({"-o", "remount,ro", mount.path().string()}).ok());
    BOOST_TEST(umount2(mount.path().c_str(), 0) == 0);
    BOOST_TEST(mount.wait(Seconds(10)));
    BOOST_TEST(line_with(mount.log(), "ended ").ends_with(": unmounted"), mount.log());
  }
  {
    Mount mount(source.path());
    BOOST_TEST(umount2(mount.path().c_str(), 0) == 0);
    BOOST_TEST(mount.wait(Seconds(10)));
    BOOST_TEST(line_with(mount.log(), "ended ").ends_with(": unmounted"), mount.log());
  }
  {
    Mount mount(source.path());
    mount.signal(SIGTERM);
    BOOST_TEST(mount.wait(Seconds(10)));
    BOOST_TEST(line_with(mount.log(), "ended ")
                   .ends_with(": SIGTERM of process " + std::to_string(::getpid())),
               mount.log());
  }
  DaemonTime time;
  MountSettings settings;
  settings.options = {"idle_timeout=5m"};
  Mount mount(source.path(), time.of(settings));
  BOOST_TEST(time.passes_until([&] { return !mount.running(); }));
  BOOST_TEST(line_with(mount.log(), "ended ").ends_with(": idle_timeout has passed"), mount.log());
}

BOOST_AUTO_TEST_CASE(end_of_a_killed_daemon_is_logged, *precondition(needs_fuse_unsanitized)) {
  const TempDir source, home;
  for (const bool is_read_only : {false, true}) {
    const fs_std::path log = home / (is_read_only ? "ro" : "rw");
    MountSettings settings;
    settings.options = {"log=" + log.string()};
    if (is_read_only) settings.options.emplace_back("ro");
    Mount mount(source.path(), settings);
    // The kernel shows the mount a moment before the daemon has its helper.
    BOOST_TEST(comes_true([&] { return contains(logged_in(log), "mounted "); }));
    mount.signal(SIGKILL);
    BOOST_TEST(comes_true([&] { return contains(logged_in(log), "ended "); }));
    BOOST_TEST(line_with(logged_in(log), "ended ") ==
               "ended " + source.path().string() + " on " + mount.path().string() +
                   ": killed by SIGKILL" +
                   (is_read_only ? "" : "; what was not committed is lost"));
    BOOST_TEST(!is_mounted(mount.path()));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
