// Two writable mounts of one SOURCE exclude each other, and no other program can block a mount.

#include <cerrno>
#include <chrono>
#include <functional>
#include <future>
#include <iterator>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mount/foreign_changes.hpp"
#include "tests/mount/naming_cases.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/source_dir.hpp"
#include "tests/support/source_lock.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

ProcessSettings as_nobody() {
  ProcessSettings settings;
  settings.uid = nobody();
  return settings;
}

/// The user nobody holds flock on a file, for which being able to read it is enough.
class FlockOfNobody {
 public:
  FlockOfNobody(const fs_std::path& path, const char* kind)
      : holder_({"flock", "--no-fork", kind, path.string(), "sleep", "1000"}, home_ / "log",
                as_nobody()) {
    const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    BOOST_REQUIRE(comes_true([&] {
      const bool is_free = flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
      if (is_free) flock(fd.get(), LOCK_UN);
      return !is_free;
    }));
  }

 private:
  const TempDir home_;
  Child holder_;
};

struct stat status_of(const fs_std::path& path) {
  struct stat st {};
  BOOST_REQUIRE(lstat(path.c_str(), &st) == 0);
  return st;
}

bool is_flocked(const fs_std::path& path) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

/// A SOURCE that every user may read, with the frame "a.b2frame".
struct OpenSource {
  OpenSource() {
    fs_std::permissions(directory.path(), fs_std::perms(0755));
    Maker(directory.path()).flat("a.b2frame");
  }
  fs_std::path operator/(const std::string& name) const { return directory / name; }
  const fs_std::path& path() const { return directory.path(); }
  SourceDir directory;
};

/// A SOURCE of the user nobody, and a copy of the program that this user can run.
struct NobodysHome {
  NobodysHome() {
    fs_std::permissions(home.path(), fs_std::perms(0755));
    fs_std::copy_file(bloscfs_program(), home / "bloscfs");
    BOOST_REQUIRE(chown(directory.path().c_str(), nobody(), nobody()) == 0);
    settings.uid = nobody();
    settings.program = home / "bloscfs";
    settings.limit = Seconds(60);
  }
  const fs_std::path& source() const { return directory.path(); }
  TempDir home;
  SourceDir directory;
  MountSettings settings;
};

std::string refusal_of(const fs_std::path& source, MountSettings settings) {
  settings.limit = Seconds(60);
  try {
    const Mount mount(source, settings);
    return "mounted";
  } catch (const MountRefused& refused) {
    return refused.result.err;
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(locks)

BOOST_AUTO_TEST_CASE(flock_of_who_can_only_read_keeps_nobody_out,
                     *precondition(needs_fuse_as_root) * precondition(needs_programs("flock"))) {
  for (const bool is_single : {false, true})
    for (const char* kind : {"-s", "-x"}) BOOST_TEST_CONTEXT(is_single << kind) {
        const OpenSource source;
        const fs_std::path mounted = is_single ? source / "a.b2frame" : source.path();
        const FlockOfNobody holder(mounted, kind);
        MountSettings settings;
        settings.limit = Seconds(10);
        {
          Mount mount(mounted, settings);
          write_file(mount / "a", "new");
          BOOST_TEST(mount.unmount().ok(), mount.log());
        }
        BOOST_CHECK(stored_contents(source / "a.b2frame") == bytes_of("new"));
        ProcessSettings quick;
        quick.limit = Seconds(10);
        const std::string frame = source / "a.b2frame";
        for (const Arguments& command : {Arguments{"set-meta", frame, "note:=1"},
                                         Arguments{"compact", frame}, Arguments{"info", frame}}) {
          Arguments all = {b2frame_program()};
          all.insert(all.end(), command.begin(), command.end());
          const auto result = run(all, quick);
          BOOST_TEST(result.ok(), command[0] << ": " << result.description());
        }
      }
}

BOOST_AUTO_TEST_CASE(lock_file_is_there_while_it_is_mounted,
                     *precondition(needs_fuse) * precondition(kNeedsSingleTimes)) {
  for (const bool is_single : {false, true}) BOOST_TEST_CONTEXT(is_single) {
      const OpenSource source;
      const fs_std::path mounted = is_single ? source / "a.b2frame" : source.path();
      const fs_std::path lock = is_single ? lock_file_beside(mounted) : lock_file_in(mounted);
      const struct stat before = status_of(source.path());
      {
        Mount mount(mounted);
        const struct stat st = status_of(lock);
        BOOST_TEST(S_ISREG(st.st_mode));
        BOOST_TEST((st.st_mode & 07777) == 0600u);
        BOOST_TEST(is_flocked(mounted));
        BOOST_TEST(!fs_std::exists(mount / lock.filename()));
        BOOST_TEST(mount.unmount().ok());
      }
      BOOST_TEST(!fs_std::exists(lock));
      BOOST_TEST(!is_flocked(mounted));
      // The directory has its old times again.
      BOOST_TEST(status_of(source.path()).st_mtim.tv_sec == before.st_mtim.tv_sec);
      BOOST_TEST(status_of(source.path()).st_mtim.tv_nsec == before.st_mtim.tv_nsec);
    }
}

BOOST_AUTO_TEST_CASE(read_only_mounts_make_no_lock_file, *precondition(needs_fuse)) {
  const OpenSource source;
  MountSettings settings;
  settings.options = {"ro"};
  for (const fs_std::path& mounted : {source.path(), source / "a.b2frame"}) {
    Mount mount(mounted, settings);
    BOOST_TEST(std::distance(fs_std::directory_iterator(source.path()), {}) == 1);
    BOOST_TEST(mount.unmount().ok());
  }
}

BOOST_AUTO_TEST_CASE(lock_file_of_a_daemon_that_was_killed_is_free, *precondition(needs_fuse)) {
  const OpenSource source;
  {
    Mount mount(source.path());
    mount.signal(SIGKILL);
    BOOST_TEST(mount.wait(Seconds(10)));
  }
  BOOST_TEST(fs_std::exists(lock_file_in(source.path())));
  {
    MountSettings settings;
    settings.limit = Seconds(10);
    Mount mount(source.path(), settings);
    const auto is_swept = [&] {
      const auto bytes = read_file(lock_file_in(source.path()));
      return bytes.front() == '-';
    };
    BOOST_TEST(comes_true(is_swept));
    BOOST_TEST(mount.unmount().ok());
  }
  BOOST_TEST(!fs_std::exists(lock_file_in(source.path())));
}

BOOST_AUTO_TEST_CASE(frames_are_edited_where_no_file_can_be_made,
                     *precondition(needs_fuse_as_root)) {
  const OpenSource source;
  const fs_std::path frame = source / "a.b2frame";
  BOOST_REQUIRE(chown(frame.c_str(), nobody(), nobody()) == 0);
  const TempDir home;
  fs_std::permissions(home.path(), fs_std::perms(0755));
  fs_std::copy_file(b2frame_program(), home / "b2frame");
  const auto result =
      run({(home / "b2frame").string(), "set-meta", frame.string(), "note:=1"}, as_nobody());
  BOOST_TEST(result.ok(), result.description());
}

/// A user who may write to SOURCE may have put any object where the lock file belongs.
BOOST_AUTO_TEST_CASE(what_is_no_lock_file_is_left_as_it_is,
                     *precondition(needs_fuse_as_root) * precondition(kNeedsExchange)) {
  const std::string text = "kept .bloscfs-0123456789abcdef.tmp a\n";
  struct Case {
    const char* name;
    std::function<void(const fs_std::path& lock, const fs_std::path& other)> make;
  };
  const std::vector<Case> cases = {
      {"fifo", [](const auto& lock, const auto&) { mkfifo(lock.c_str(), 0600); }},
      {"directory",
       [](const auto& lock, const auto&) {
         fs_std::create_directory(lock);
         write_file(lock / "file", "inside");
       }},
      {"symlink", [](const auto& lock, const auto& other) { fs_std::create_symlink(other, lock); }},
      {"hard link",
       [](const auto& lock, const auto& other) {
         fs_std::permissions(other, fs_std::perms(0600));
         fs_std::create_hard_link(other, lock);
       }},
      {"other permissions", [&](const auto& lock, const auto&) { write_file(lock, text); }},
      {"another user's", [&](const auto& lock, const auto&) {
         write_file(lock, text);
         fs_std::permissions(lock, fs_std::perms(0600));
         BOOST_REQUIRE(chown(lock.c_str(), nobody(), nobody()) == 0);
       }}};
  for (const Case& one : cases)
    for (const bool is_single : {false, true}) BOOST_TEST_CONTEXT(one.name << is_single) {
        const OpenSource source;
        const fs_std::path mounted = is_single ? source / "a.b2frame" : source.path();
        const fs_std::path lock = is_single ? lock_file_beside(mounted) : lock_file_in(mounted);
        const SourceDir elsewhere;
        write_file(elsewhere / "other", text);
        one.make(lock, elsewhere / "other");
        const struct stat before = status_of(lock);
        for (int i = 0; i < 2; i++) {
          MountSettings settings;
          settings.limit = Seconds(10);
          Mount mount(mounted, settings);
          write_file(mount / "a", "new");
          BOOST_TEST((status_of(lock).st_mode & 07777) == 0600u);
          BOOST_TEST(status_of(lock).st_uid == 0u);
          BOOST_TEST(status_of(lock).st_ino != before.st_ino);
          BOOST_TEST(mount.unmount().ok(), mount.log());
        }
        BOOST_CHECK(stored_contents(source / "a.b2frame") == bytes_of("new"));
        const struct stat after = status_of(lock);
        BOOST_TEST(after.st_ino == before.st_ino);
        BOOST_TEST(after.st_mode == before.st_mode);
        BOOST_TEST(after.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
        BOOST_CHECK(read_file(elsewhere / "other") == bytes_of(text));
        if (S_ISREG(before.st_mode)) BOOST_CHECK(read_file(lock) == bytes_of(text));
        if (S_ISDIR(before.st_mode)) BOOST_CHECK(read_file(lock / "file") == bytes_of("inside"));
        BOOST_TEST(std::distance(fs_std::directory_iterator(source.path()), {}) == 2);
      }
}

BOOST_AUTO_TEST_CASE(root_and_other_users_take_turns,
                     *precondition(needs_fuse_for_nobody) * precondition(kNeedsExchange)) {
  const NobodysHome nobodys;
  for (int i = 0; i < 2; i++)
    for (const MountSettings& settings : {nobodys.settings, MountSettings()}) {
      Mount mount(nobodys.source(), settings);
      BOOST_TEST(status_of(lock_file_in(nobodys.source())).st_uid == settings.uid.value_or(0));
      BOOST_TEST(mount.unmount().ok(), mount.log());
      BOOST_TEST(fs_std::is_empty(nobodys.source()));
    }
  // Root can mount after a daemon of another user was killed. Root's daemon moves that user's lock
  // file away, and puts it back when it ends. The user's next mount uses its journal.
  {
    Mount mount(nobodys.source(), nobodys.settings);
    mount.signal(SIGKILL);
    BOOST_TEST(mount.wait(Seconds(10)));
  }
  const fs_std::path lock = lock_file_in(nobodys.source());
  const auto left = read_file(lock);
  {
    Mount mount(nobodys.source());
    BOOST_TEST(status_of(lock).st_uid == 0u);
    BOOST_TEST(mount.unmount().ok(), mount.log());
  }
  BOOST_CHECK(read_file(lock) == left);
  BOOST_TEST(status_of(lock).st_uid == nobody());
  Mount mount(nobodys.source(), nobodys.settings);
  BOOST_TEST(comes_true([&] { return is_swept(lock); }));
  BOOST_TEST(mount.unmount().ok(), mount.log());
  BOOST_TEST(comes_true([&] { return fs_std::is_empty(nobodys.source()); }));
}

BOOST_AUTO_TEST_CASE(users_exclude_each_other,
                     *precondition(needs_fuse_for_nobody) * precondition(kNeedsOwners)) {
  const NobodysHome of_nobody, of_root;
  const Mount theirs(of_nobody.source(), of_nobody.settings), ours(of_root.source());
  DaemonTime time;
  MountSettings nobodys = time.of(of_nobody.settings);
  const fs_std::path program = of_nobody.home / "bloscfs_with_set_clock";
  fs_std::copy_file(nobodys.program, program);
  nobodys.program = program;
  const auto refused = [](const fs_std::path& source, const MountSettings& settings) {
    return std::async(std::launch::async, [=] { return refusal_of(source, settings); });
  };
  auto for_nobody = refused(of_root.source(), nobodys);
  auto for_root = refused(of_nobody.source(), time.of());
  for (auto* const text : {&for_nobody, &for_root})
    BOOST_TEST(time.passes_until(
        [&] { return text->wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
  for (const auto& [text, user] :
       {std::pair(for_root.get(), "nobody"), std::pair(for_nobody.get(), "root")}) {
    BOOST_TEST(text.find("is mounted for writing at ") != std::string::npos, text);
    BOOST_TEST(text.find("bloscfs --unmount ") != std::string::npos, text);
    BOOST_TEST(text.find("kill") == std::string::npos, text);
    BOOST_TEST(text.find(std::string("user ") + user) != std::string::npos, text);
    BOOST_TEST(text.find(".bloscfs-lock") != std::string::npos, text);
  }
  // A lazy unmount leaves a daemon without a mount as long as a file is open.
  const Fd held(::open(ours.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  BOOST_REQUIRE(::umount2(ours.path().c_str(), MNT_DETACH) == 0);
  auto without_mount = refused(of_root.source(), time.of());
  BOOST_TEST(time.passes_until([&] {
    return without_mount.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }));
  const std::string text = without_mount.get(), kill = "kill -9 " + std::to_string(ours.pid());
  BOOST_TEST(text.find(kill) != std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(stale_lock_file_of_another_user_is_refused_at_once,
                     *precondition(needs_fuse_for_nobody) * precondition(kNeedsOwners)) {
  const NobodysHome home;
  write_file(home.source() / ".bloscfs-lock", "");
  fs_std::permissions(home.source() / ".bloscfs-lock", fs_std::perms(0600));
  DaemonTime time;
  MountSettings settings = time.of(home.settings);
  const fs_std::path program = home.home / "bloscfs_with_set_clock";
  fs_std::copy_file(settings.program, program);
  settings.program = program;
  // The clock stands still, so a mount that waits would never be refused.
  const std::string text = refusal_of(home.source(), settings);
  BOOST_TEST(text.find("the lock file .bloscfs-lock belongs to user root, whose mount has ended "
                       "without removing it") != std::string::npos,
             text);
}

BOOST_AUTO_TEST_CASE(a_mount_of_root_names_the_user_of_a_stale_lock_file,
                     *precondition(needs_fuse_for_nobody) * precondition(kNeedsOwners)) {
  const NobodysHome home;
  const fs_std::path lock = home.source() / ".bloscfs-lock";
  write_file(lock, "");
  fs_std::permissions(lock, fs_std::perms(0600));
  BOOST_REQUIRE(::chown(lock.c_str(), nobody(), nobody()) == 0);
  Mount mount(home.source());
  const std::string log = mount.log();
  BOOST_TEST(log.find("the lock file .bloscfs-lock belongs to user nobody, whose mount has ended "
                      "without removing it; renamed it to ") != std::string::npos,
             log);
  BOOST_TEST(mount.unmount().ok());
  BOOST_TEST(status_of(lock).st_uid == nobody());
}

BOOST_AUTO_TEST_CASE(recover_names_the_user_of_a_rescue_folder,
                     *precondition(needs_fuse_for_nobody) * precondition(kNeedsOwners)) {
  const NobodysHome home;
  const TempDir rescue;
  BOOST_REQUIRE(::chown(rescue.path().c_str(), nobody(), nobody()) == 0);
  const std::string source = home.source(), folder = rescue.path();
  const ProcessResult refused = run({b2frame_program(), "recover", "--rescue", folder, source});
  BOOST_TEST(refused.status == 1);
  BOOST_TEST(
      refused.err.find("belongs to user nobody; run as that user, for example: sudo -u nobody "
                       "b2frame recover --rescue " +
                       folder + " " + source + "\n") != std::string::npos,
      refused.err);
}

BOOST_AUTO_TEST_CASE(recover_names_the_user_of_the_lock_file,
                     *precondition(needs_fuse_for_nobody) * precondition(kNeedsOwners)) {
  const NobodysHome home;
  const fs_std::path lock = home.source() / ".bloscfs-lock";
  write_file(lock, "");
  fs_std::permissions(lock, fs_std::perms(0600));
  BOOST_REQUIRE(::chown(lock.c_str(), nobody(), nobody()) == 0);
  const ProcessResult refused = run({b2frame_program(), "recover", home.source().string()});
  BOOST_TEST(refused.status == 1);
  BOOST_TEST(refused.err.find("the lock file belongs to user nobody; run as that user") !=
                 std::string::npos,
             refused.err);
  BOOST_TEST(status_of(lock).st_uid == nobody());
  const auto entries = fs_std::directory_iterator(home.source());
  BOOST_TEST(std::distance(begin(entries), end(entries)) == 1);
}

BOOST_AUTO_TEST_CASE(recover_removes_what_a_killed_mount_left,
                     *precondition(needs_fuse_for_nobody) * precondition(kNeedsOwners)) {
  const NobodysHome home;
  ProcessSettings as_nobody;
  as_nobody.uid = nobody();
  {
    Mount mount(home.source(), home.settings);
    BOOST_TEST(run({"sh", "-c", "echo new >" + (mount / "a").string()}, as_nobody).ok());
    mount.signal(SIGKILL);
    BOOST_TEST(mount.wait(Seconds(10)));
  }
  BOOST_TEST(fs_std::exists(home.source() / ".bloscfs-lock"));
  const fs_std::path program = home.home / "b2frame";
  fs_std::copy_file(b2frame_program(), program);
  const ProcessResult done = run({program.string(), "recover", home.source().string()}, as_nobody);
  BOOST_TEST(done.ok(), done.description());
  BOOST_TEST(fs_std::is_empty(home.source()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
