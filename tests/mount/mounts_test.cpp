// Tests `bloscfs --unmount` and `bloscfs --list`.

#include <map>
#include <optional>
#include <sstream>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>

#include "tests/mount/asked_mounts.hpp"
#include "tests/mount/naming_cases.hpp"
#include "tests/mount/place.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/other_filesystem.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;
using nlohmann::json;

ProcessResult unmount_by_program(const Mount& mount) {
  return bloscfs({"--unmount", mount.path().string()});
}

/// Another FUSE filesystem that answers like bloscfs. The tests choose its answers.
class ForeignMount {
 public:
  /// `source` is a path relative to the directory of the mountpoint, which is called "mnt".
  explicit ForeignMount(const std::string& name = "foreign", const std::string& source = "") {
    fs_std::create_directory(path());
    fs_std::create_directory(home_ / "answers");
    fs_std::copy_file(BLOSCFS_FOREIGN_MOUNT, home_ / name);
    set("source", source.empty() ? "/nowhere" : (home_ / source).string());
    process_ = Child({home_ / name, path().string(), home_ / "answers"}, home_ / "log");
    if (!comes_true([&] { return is_mounted(path()); }))
      throw std::runtime_error("cannot mount: " + name);
  }
  ~ForeignMount() {
    process_.signal(SIGKILL);
    force_unmount(path());
  }
  fs_std::path path() const { return home_ / "mnt"; }
  pid_t pid() const { return process_.pid(); }
  void set(const std::string& name, const std::string& answer) const {
    write_file(home_ / "answers" / name, answer);
  }
  void set_stats(const std::string& pid, const std::string& dirty = "0") const {
    set("user.bloscfs.stats",
        fmt::format(R"({{"pid":{},"dirty_bytes":{},"cache_bytes":0,"cache_size":0}})", pid, dirty));
  }

 private:
  TempDir home_;
  Child process_;
};

ByteVector stored_contents(const fs_std::path& frame) {
  const auto result = run({b2frame_program(), "extract", frame.string(), "-o", "-"});
  BOOST_TEST(result.ok(), result.description());
  return bytes_of(result.out);
}

/// True if /proc shows which mount the daemon serves. Linux before 6.16 does not, and ordinary
/// users may not see it.
bool shows_connection(pid_t daemon) {
  std::error_code error;
  for (const auto& entry :
       fs_std::directory_iterator(fmt::format("/proc/{}/fdinfo", daemon), error)) {
    const ByteVector text = read_file(entry.path());
    if (contains({text.begin(), text.end()}, "fuse_connection:")) return true;
  }
  return false;
}

/// The mount of a killed daemon. Without the sandbox there is no janitor that would unmount it.
struct DeadMount {
  DeadMount() : mount(source.path(), with_options({"sandbox=off"})) {
    mount.signal(SIGKILL);
    BOOST_REQUIRE(mount.wait(Seconds(10)));
  }
  TempDir source;
  Mount mount;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(mounts)

BOOST_AUTO_TEST_CASE(a_store_that_has_gone_can_be_unmounted) {
  const TempDir dir;
  const fs_std::path store = dir / "s.b2z";
  fs_std::copy_file(BLOSCFS_SOURCE_ROOT "/tests/data/stores/tree0.b2z", store);
  Mount mount(store);
  BOOST_TEST(fs_std::exists(mount / "temp0"));
  BOOST_TEST(listed(mount.path()).at("read_only") == true);
  fs_std::remove(store);
  std::error_code ignored;
  BOOST_TEST(comes_true([&] { return !fs_std::exists(mount / "temp0", ignored); }));
  const ProcessResult unmounted = unmount_by_program(mount);
  BOOST_TEST(unmounted.ok(), unmounted.description());
}

BOOST_AUTO_TEST_CASE(unmounting_returns_when_everything_is_committed, *precondition(needs_fuse)) {
  const TempDir source;
  Mount mount(source.path());
  const auto bytes = make_contents("noise", 4, 4000000, 1);
  write_file(mount / "a", bytes);
  const auto result = unmount_by_program(mount);
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(result.err == "");
  BOOST_TEST(!is_mounted(mount.path()));
  // The command returns only when the daemon has ended.
  BOOST_TEST(mount.wait(Seconds(0.5)));
  BOOST_TEST(mount.result().status == 0, mount.log());
  BOOST_CHECK(stored_contents(source / "a.b2frame") == bytes);
}

BOOST_AUTO_TEST_CASE(who_uses_a_mount_is_named, *precondition(needs_fuse)) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame(std::string("contents")));
  Mount mount(source.path());
  {
    const Fd file(::open((mount / "a").c_str(), O_RDONLY | O_CLOEXEC));
    const Child other({"sh", "-c", "cd \"$0\" && exec sleep 100", mount.path().string()},
                      (source / "log").string());
    const std::string number = std::to_string(other.pid());
    BOOST_REQUIRE(comes_true(
        [&] { return contains(unmount_by_program(mount).err, "sleep (process " + number + ")"); }));
    const auto refused = unmount_by_program(mount);
    BOOST_TEST(refused.status == 1);
    BOOST_TEST(contains(refused.err, mount.path().string() + ": stays mounted: it is in use\n"),
               refused.err);
    BOOST_TEST(contains(refused.err, "(process " + std::to_string(getpid()) + "): open file " +
                                         (mount / "a").string() + "\n"),
               refused.err);
    BOOST_TEST(contains(refused.err, "(process " + number + "): current directory " +
                                         mount.path().string() + "\n"),
               refused.err);
    BOOST_TEST(is_mounted(mount.path()));
    BOOST_TEST((read_file(mount / "a") == bytes_of("contents")));
  }
  const auto result = unmount_by_program(mount);
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(mount.wait(Seconds(10)));
}

BOOST_AUTO_TEST_CASE(a_mount_is_unmounted_from_its_own_directory, *precondition(needs_fuse)) {
  const TempDir source;
  Mount mount(source.path());
  const auto result = run({"sh", "-c", "cd \"$0\" && exec \"$1\" --unmount .",
                           mount.path().string(), bloscfs_program()});
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(mount.wait(Seconds(10)));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_committed_stays_mounted, *precondition(needs_fuse)) {
  const TempDir source;
  // An array with hard links cannot become a flat frame, and the new bytes are no array.
  Maker(source.path()).array("t.b2nd");
  fs_std::create_hard_link(source / "t.b2nd", source / "u.b2nd");
  const TempDir rescue;
  Mount mount(source.path(), with_options({"rescue=" + rescue.path().string()}));
  const auto bytes = make_contents("noise", 5, 30000, 1);
  write_file(mount / "t.npy", bytes);
  const auto result = unmount_by_program(mount);
  BOOST_TEST(result.status == 1);
  BOOST_TEST(contains(result.err, "stays mounted: a file could not be committed\n  t.b2nd: "),
             result.err);
  BOOST_TEST(contains(result.err, "; 30000 bytes wait in the mount\n"), result.err);
  BOOST_TEST(contains(result.err, "and the others in " + rescue.path().string() + "; to bring "),
             result.err);
  BOOST_TEST(result.err.ends_with("\n  b2frame recover --rescue " + rescue.path().string() + " " +
                                  source.path().string() + "\n"),
             result.err);
  BOOST_TEST(is_mounted(mount.path()));
  BOOST_CHECK(read_file(mount / "t.npy") == bytes);
  // Without the hard link, the commit succeeds.
  fs_std::remove(source / "u.b2nd");
  const auto later = unmount_by_program(mount);
  BOOST_TEST(later.ok(), later.description());
  BOOST_TEST(mount.wait(Seconds(10)));
  BOOST_CHECK(stored_contents(source / "t.npy.b2frame") == bytes);
}

BOOST_AUTO_TEST_CASE(too_little_room_for_a_rescue_is_reported,
                     *precondition(needs_filesystem("tmpfs"))) {
  const TempDir source;
  const OtherFilesystem rescue("tmpfs");
  fs_std::permissions(rescue.path(), fs_std::perms(0700));
  Maker(source.path()).array("t.b2nd");
  fs_std::create_hard_link(source / "t.b2nd", source / "u.b2nd");
  Mount mount(source.path(), with_options({"rescue=" + rescue.path().string()}));
  write_file(mount / "t.npy", make_contents("noise", 5, 3 << 20, 1));
  rescue.fill(1 << 20);
  const auto result = unmount_by_program(mount);
  BOOST_TEST(result.status == 1);
  BOOST_TEST(contains(result.err, " and the others in " + rescue.path().string() +
                                      " as far as they fit:\nit has "),
             result.err);
  BOOST_TEST(contains(result.err, "they need up to 3.0 MiB. Changes that do not fit are lost;"),
             result.err);
  rescue.make_space();
  BOOST_TEST(contains(unmount_by_program(mount).err,
                      " and the others in " + rescue.path().string() + "; to bring "));
  fs_std::remove(source / "u.b2nd");
  BOOST_TEST(unmount_by_program(mount).ok());
  BOOST_TEST(mount.wait(Seconds(10)));
}

BOOST_AUTO_TEST_CASE(only_mounts_of_ours_are_unmounted) {
  const TempDir home;
  write_file(home / "file", "plain");
  for (const std::string& point :
       {home.path().string(), (home / "file").string(), std::string("/proc"), std::string("/"),
        (home / "nowhere").string()}) {
    const auto result = bloscfs({"--unmount", point});
    BOOST_TEST(result.status == 1);
    BOOST_TEST(result.err == "bloscfs: " + point + ": no bloscfs is mounted there\n");
  }
}

BOOST_AUTO_TEST_CASE(dead_mounts_are_listed_as_such_and_unmounted,
                     *precondition(needs_fuse_as_root)) {
  const DeadMount dead;
  const json line = listed(dead.mount.path());
  BOOST_TEST_REQUIRE(line.is_object());
  BOOST_TEST(line.at("state") == "dead");
  BOOST_TEST(line.at("pid").is_null());
  BOOST_TEST(contains(bloscfs({"--list"}).out, "  dead  "));
  const auto stats = bloscfs({"--stats", dead.mount.path().string()});
  BOOST_TEST(stats.status == 1);
  BOOST_TEST(contains(stats.err, "its daemon has died; unmount it, and mount it again"), stats.err);
  const auto result = unmount_by_program(dead.mount);
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(contains(result.err, "its daemon had died"), result.err);
  BOOST_TEST(!is_mounted(dead.mount.path()));
}

BOOST_AUTO_TEST_CASE(users_unmount_their_own_mounts, *precondition(needs_fuse_for_nobody)) {
  const ForOthers place;
  {
    Mount mount(place.source(), place.of_nobody());
    const auto result = place.as_nobody({"--unmount", mount.path().string()});
    BOOST_TEST(result.ok(), result.description());
    BOOST_TEST(mount.wait(Seconds(10)));
  }
  // Root, too, can list and unmount it, although FUSE denies root access.
  Mount mount(place.source(), place.of_nobody());
  BOOST_TEST(listed(mount.path()).at("state") == "mounted");
  const Child user({"sh", "-c", "exec 3<\"$0\"; exec sleep 100", mount.path().string()},
                   (place.home / "log").string(), [] {
                     ProcessSettings settings;
                     settings.uid = nobody();
                     return settings;
                   }());
  // Does not follow the link: root may not look at the mount of another user.
  BOOST_REQUIRE(comes_true([&] {
    std::error_code not_open;
    return fs_std::read_symlink(fmt::format("/proc/{}/fd/3", user.pid()), not_open) == mount.path();
  }));
  BOOST_REQUIRE(comes_true([&] {
    return contains(unmount_by_program(mount).err,
                    "sleep (process " + std::to_string(user.pid()) + ", user ");
  }));
  BOOST_TEST(is_mounted(mount.path()));
  user.signal(SIGKILL);
  BOOST_TEST(comes_true([&] { return unmount_by_program(mount).ok(); }));
  BOOST_TEST(mount.wait(Seconds(10)));
}

BOOST_AUTO_TEST_CASE(users_learn_what_is_mounted_on_their_mountpoint,
                     *precondition(needs_fuse_for_nobody)) {
  const ForOthers place;
  const TempDir source;
  const std::string point = place.home / "mnt";
  fs_std::create_directory(point);
  BOOST_TEST(bloscfs({source.path(), point}).ok());
  const auto refused = place.as_nobody({place.source().string(), point});
  BOOST_TEST(refused.status == 1);
  BOOST_TEST(contains(refused.err, source.path().string() + " (fuse.bloscfs) is mounted there: "),
             refused.err);
  BOOST_TEST(bloscfs({"--unmount", point}).ok());
}

BOOST_AUTO_TEST_CASE(a_lock_file_of_another_user_keeps_no_read_only_mount,
                     *precondition(needs_fuse_for_nobody)) {
  const ForOthers place;
  const fs_std::path lock = place.source() / ".bloscfs-lock";
  MountSettings settings = place.of_nobody();
  settings.options = {"ro"};
  for (const bool is_stale : {false, true}) {
    std::optional<Mount> writer;
    if (is_stale)
      write_file(lock, "");
    else
      writer.emplace(place.source());
    fs_std::permissions(lock, fs_std::perms(0600));
    Mount mount(place.source(), settings);
    const auto result = place.as_nobody({"--unmount", mount.path().string()});
    BOOST_TEST(result.ok(), result.description());
    BOOST_TEST(mount.wait(Seconds(10)));
  }
}

BOOST_AUTO_TEST_CASE(mounts_of_others_are_not_theirs, *precondition(needs_fuse_for_nobody)) {
  const ForOthers place;
  const Mount closed(place.source());
  const auto refused = place.as_nobody({"--unmount", closed.path().string()});
  BOOST_TEST(refused.status == 1);
  BOOST_TEST(contains(refused.err, "is a mount of user root"), refused.err);
  const auto changed = place.as_nobody({"-o", "remount,sync=strict", closed.path().string()});
  BOOST_TEST(changed.status == 1);
  BOOST_TEST(contains(changed.err, "is a mount of user root"), changed.err);
  BOOST_TEST(listed(closed.path(), place.as_nobody({"--list", "--json"}).out).is_null());
  BOOST_TEST(listed(closed.path()).is_object());
}

BOOST_AUTO_TEST_CASE(lists_what_is_mounted, *precondition(needs_fuse)) {
  const TempDir source;
  const Mount mount(source.path(), with_options({"cache_size=64M"}));
  write_file(mount / "a", make_contents("noise", 4, 300000, 1));
  const json line = listed(mount.path());
  BOOST_TEST_REQUIRE(line.is_object());
  BOOST_TEST(line.at("source") == source.path().string());
  BOOST_TEST(line.at("state") == "mounted");
  BOOST_TEST(line.at("read_only") == false);
  BOOST_TEST(line.at("pid") == mount.pid());
  BOOST_TEST(line.at("cache_size") == 64 << 20);
  BOOST_TEST(line.at("dirty_bytes").get<int>() >= 300000);
  const std::string table = bloscfs({"--list"}).out;
  BOOST_TEST(table.starts_with("MOUNTPOINT "), table);
  // All rows have the same columns.
  const std::size_t row = table.find("\n" + mount.path().string() + " ") + 1;
  BOOST_TEST(table.substr(row + table.find("SOURCE")).starts_with(source.path().string()), table);
}

BOOST_AUTO_TEST_CASE(a_mount_over_the_source_of_another_is_announced, *precondition(needs_fuse)) {
  const TempDir source, upper;
  const Mount mount(source.path());
  const std::string point = source.path().string();
  const ProcessResult result = bloscfs({upper.path().string(), point});
  BOOST_TEST(bloscfs({"--unmount", point}).ok());
  BOOST_TEST(result.ok());
  BOOST_TEST(contains(result.err, point + " is the source of the mount at " +
                                      mount.path().string() + ", which goes on"),
             result.err);
}

BOOST_AUTO_TEST_CASE(a_covered_mount_has_no_numbers_of_the_upper_one, *precondition(needs_fuse)) {
  const TempDir lower, upper;
  const Mount mount(lower.path());
  const std::string point = mount.path().string();
  BOOST_TEST_REQUIRE(bloscfs({upper.path().string(), point}).ok());
  const auto list = bloscfs({"--list", "--json"});
  const std::string table = bloscfs({"--list"}).out;
  BOOST_TEST(bloscfs({"--unmount", point}).ok());
  std::istringstream lines(list.out);
  std::map<std::string, json> by_source;
  for (std::string line; std::getline(lines, line);) {
    const json one = json::parse(line);
    by_source[one.at("source")] = one;
  }
  const json& covered = by_source[lower.path().string()];
  BOOST_TEST(covered.at("state") == "hidden", covered);
  BOOST_TEST((covered.at("pid").is_null() || covered.at("pid") == mount.pid()), covered);
  BOOST_TEST(by_source[upper.path().string()].at("state") == "mounted");
  BOOST_TEST(contains(table, "  hidden  "), table);
}

BOOST_AUTO_TEST_CASE(names_are_shown_without_control_characters, *precondition(needs_fuse)) {
  const TempDir home;
  const fs_std::path source = home / "\x1b[31m\u009bred\nline";
  fs_std::create_directory(source);
  const Mount mount(source);
  for (const Arguments& words :
       {Arguments{"--list"}, Arguments{"--list", "--json"}, Arguments{"--stats", mount.path()},
        Arguments{"--stats", mount.path(), "--json"}}) {
    const auto result = bloscfs(words);
    BOOST_TEST(result.ok(), result.description());
    BOOST_TEST(result.out.find('\x1b') == std::string::npos);
    BOOST_TEST(result.out.find("\u009b") == std::string::npos);
    BOOST_TEST(result.out.find("red\n") == std::string::npos);
  }
  BOOST_TEST(listed(mount.path()).at("source") == source.string());
}

BOOST_AUTO_TEST_CASE(a_daemon_that_does_not_answer_keeps_nobody, *precondition(needs_fuse)) {
  const TempDir source;
  const Mount mount(source.path());
  mount.signal(SIGSTOP);
  const auto result = bloscfs({"--list", "--json"});
  const auto remounted = bloscfs({"-o", "remount,ro", mount.path().string()});
  const auto stats = bloscfs({"--stats", mount.path().string()});
  // Returns only when no process has its output open any more.
  const auto metrics = bloscfs({"--stats", "--prometheus"});
  BOOST_TEST(
      metrics.out.find("bloscfs_up{mountpoint=\"" + mount.path().string()) != std::string::npos,
      metrics.out);
  const bool is_shown = shows_connection(mount.pid());
  mount.signal(SIGCONT);
  BOOST_TEST(stats.status == 1);
  BOOST_TEST(contains(stats.err, " has not answered for 5 s; to detach the mount"), stats.err);
  BOOST_TEST(remounted.status == 1);
  const std::string who = is_shown ? fmt::format(" (process {})", mount.pid()) : "";
  BOOST_TEST(remounted.err.starts_with("bloscfs: " + mount.path().string() + ": its daemon" + who +
                                       " has not answered for 10 s; to detach "),
             remounted.err);
  BOOST_TEST(remounted.err.ends_with(" " + mount.path().string() + "\n"), remounted.err);
  BOOST_TEST(result.ok(), result.description());
  const json line = listed(mount.path(), result.out);
  BOOST_TEST(line.at("state") == "no_answer");
  BOOST_TEST(line.at("pid") == (is_shown ? json(mount.pid()) : json()));
}

BOOST_AUTO_TEST_CASE(foreign_mounts_may_answer_anything, *precondition(needs_fuse)) {
  const ForeignMount foreign;
  const std::string deep = std::string(30000, '[') + std::string(30000, ']');
  const auto check = [&](const std::string& shown) {
    BOOST_TEST_CONTEXT(shown) {
      const json line = listed(foreign.path());
      BOOST_TEST_REQUIRE(line.is_object());
      BOOST_TEST(line.at("state") == "no_answer");
      BOOST_TEST(line.at("pid").is_null());
      BOOST_TEST(bloscfs({"--list"}).ok());
      BOOST_TEST(bloscfs({"--stats", foreign.path()}).status == 1);
      const auto result = bloscfs({"--unmount", foreign.path()});
      BOOST_TEST(result.status == 1);
      BOOST_TEST(is_mounted(foreign.path()));
    }
  };
  for (const std::string& text : {std::string("no json"), std::string("[]"), std::string("{}"),
                                  deep, "{\"pid\":" + deep + "}"}) {
    foreign.set("user.bloscfs.stats", text);
    check(text.substr(0, 20));
  }
  for (const char* pid : {"\"1\"", "0", "-1", "1.5", "1e300", "4294967297", "null", "[1]"}) {
    foreign.set_stats(pid);
    check(pid);
  }
  foreign.set_stats("1", "\"many\"");
  check("dirty_bytes");
}

BOOST_AUTO_TEST_CASE(foreign_mounts_that_hang_keep_nobody, *precondition(needs_fuse)) {
  const ForeignMount foreign;
  foreign.set_stats(std::to_string(getpid()));
  foreign.set("commit", "hang");
  const auto in_commit = bloscfs({"--unmount", foreign.path()});
  BOOST_TEST(in_commit.status == 1);
  BOOST_TEST(contains(in_commit.err, "has committed nothing for 10 s"), in_commit.description());
  BOOST_TEST(is_mounted(foreign.path()));
  foreign.set("user.bloscfs.stats", "hang");
  BOOST_TEST(listed(foreign.path()).at("state") == "no_answer");
  const auto in_answer = bloscfs({"--unmount", foreign.path()});
  BOOST_TEST(in_answer.status == 1);
  BOOST_TEST(contains(in_answer.err, "its daemon has not answered for 10 s; to detach the mount"),
             in_answer.description());
}

BOOST_AUTO_TEST_CASE(a_source_that_hangs_keeps_nobody, *precondition(needs_fuse)) {
  const ForeignMount foreign("foreign", "mnt/hang/source");
  foreign.set_stats(std::to_string(getpid()));
  ProcessSettings settings;
  settings.limit = Seconds(60);
  const auto result = bloscfs({"--unmount", foreign.path()}, settings);
  BOOST_TEST(result.status == 1);
  BOOST_TEST(contains(result.err, "mnt/hang/source does not answer"), result.description());
}

BOOST_AUTO_TEST_CASE(what_could_not_be_committed_may_be_told_in_any_way,
                     *precondition(needs_fuse)) {
  const ForeignMount foreign;
  foreign.set_stats(std::to_string(getpid()));
  foreign.set("commit", std::to_string(EIO));
  for (const char* files : {"1", "[1]", "{\"a\":1}", "[{\"error\":[]}]"}) {
    foreign.set("user.bloscfs.uncommitted", fmt::format("{{\"files\":{}}}", files));
    const auto result = bloscfs({"--unmount", foreign.path()});
    BOOST_TEST(result.status == 1);
    BOOST_TEST(is_mounted(foreign.path()));
  }
}

BOOST_AUTO_TEST_CASE(unmounting_waits_for_no_process_of_others, *precondition(needs_fuse)) {
  const ForeignMount foreign;
  // The daemon is said to be this test, which outlives the command.
  foreign.set_stats(std::to_string(getpid()));
  const auto result = bloscfs({"--unmount", foreign.path()});
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(!is_mounted(foreign.path()));
}

BOOST_AUTO_TEST_CASE(unmounting_does_not_wait_for_ever_for_a_daemon, *precondition(needs_fuse)) {
  const ForeignMount lingering("bloscfs");
  lingering.set_stats(std::to_string(lingering.pid()));
  lingering.set("lingers", "hang");
  ProcessSettings settings;
  settings.limit = Seconds(60);
  const auto result = bloscfs({"--unmount", lingering.path()}, settings);
  BOOST_TEST(result.status == 1);
  BOOST_TEST(
      contains(result.err, fmt::format("(process {}) still runs after 30 s", lingering.pid())),
      result.description());
}

// Sanitizers need descriptors of their own.
BOOST_AUTO_TEST_CASE(mounts_that_cannot_be_asked_are_listed,
                     *precondition(needs_fuse_unsanitized)) {
  const TempDir source;
  const Mount mount(source.path());
  // Enough descriptors to load the libraries, but not for a pipe.
  const auto result =
      run({"sh", "-c", "exec 3>&-; ulimit -n 4; exec \"$0\" --list --json", bloscfs_program()});
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(listed(mount.path(), result.out).at("state") == "no_answer");
}

BOOST_AUTO_TEST_CASE(unmounting_tells_which_other_namespaces_have_the_mount,
                     *precondition(needs_fuse_as_root)) {
  const TempDir source, logs;
  Mount mount(source.path());
  write_file(mount / "f", "contents");
  Child holder({"unshare", "--mount", "sleep", "60"}, logs / "log");
  const auto runs_sleep = [&] {
    const ByteVector name = read_file(fmt::format("/proc/{}/comm", holder.pid()));
    return std::string(name.begin(), name.end()) == "sleep\n";
  };
  BOOST_TEST_REQUIRE(comes_true(runs_sleep));
  const auto result = bloscfs({"--unmount", mount.path().string()});
  BOOST_TEST(result.status == 3);
  BOOST_TEST(
      result.err.find(fmt::format("that of sleep (process {})", holder.pid())) != std::string::npos,
      result.err);
  BOOST_TEST(fs_std::exists(source / "f.b2frame"));
  BOOST_TEST(!is_mounted(mount.path()));
  holder.signal(SIGKILL);
  BOOST_TEST(mount.wait(Seconds(10)));
}

BOOST_AUTO_TEST_CASE(words_that_make_no_sense_together_are_refused) {
  for (const Arguments& words : {Arguments{"--list", "--unmount", "/mnt"},
                                 {"--watch"},
                                 {"--json"},
                                 {"--watch", "--list"},
                                 {"--unmount", "/mnt", "--json"},
                                 {"--list", "/mnt"},
                                 {"--unmount"},
                                 {"--stats"},
                                 {"-o", "ro", "/mnt"},
                                 {"-o", "ro", "--list"}})
    BOOST_TEST(bloscfs(words).status == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
