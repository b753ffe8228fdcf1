// A mount for several users. Requests of one user leave the others the resources that they need.

#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/frame/frame_builder.hpp"
#include "tests/mount/shared_source.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/proc.hpp"
#include "tests/support/source_dir.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr uid_t kUser = 70001, kOther = 70002;

/// A SOURCE with a directory for each of two users: "a" of one and "b" of the other. All users may
/// write there, and so may a daemon of a third user.
struct TwoUsers {
  explicit TwoUsers(uid_t mounter = 0, MountSettings settings = {})
      : mount_settings(for_all(mounter, std::move(settings))) {
    give(source.path(), mounter, 0755);
    make_directory(source / "a", kUser, 0777);
    make_directory(source / "b", kOther, 0777);
  }
  Mount& mounted() {
    if (!mount) mount.emplace(source.path(), mount_settings);
    return *mount;
  }
  /// Runs a script as a user, in the user's directory of the mount.
  ProcessResult run_as(uid_t user, const std::string& script) {
    ProcessSettings settings;
    settings.uid = user;
    return run({"sh", "-c",
                "cd '" + (mounted() / (user == kUser ? "a" : "b")).string() + "' && " + script},
               settings);
  }

  SourceDir source;
  MountSettings mount_settings;
  std::optional<Mount> mount;
};

std::size_t occurrences_of(const std::string& what, const std::string& text) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) count++;
  return count;
}

bool is_stored(const fs_std::path& file, const std::string& text) {
  try {
    return fs_std::exists(file) && fs_std::file_size(file) >= text.size();
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(shares)

/// A daemon with a limit on its descriptors.
struct FewDescriptors {
  explicit FewDescriptors(int limit) {
    settings.program = programs / "bloscfs";
    write_file(settings.program, "#!/bin/sh\nulimit -n " + std::to_string(limit) + "\nexec '" +
                                     bloscfs_program() + "' \"$@\"\n");
    for (const fs_std::path& path : {programs.path(), fs_std::path(settings.program)})
      fs_std::permissions(path, fs_std::perms(0755));
  }

  TempDir programs;
  MountSettings settings;
};

BOOST_TEST_DECORATOR(*precondition(needs_mounter))
BOOST_AUTO_TEST_CASE_TEMPLATE(of_descriptors_are_left_to_others, By, Mounters) {
  const FewDescriptors few(1024);
  TwoUsers users(By::user(), few.settings);
  for (const char* in : {"a", "b"})
    for (int i = 0; i < 1000; i++)
      write_file(users.source / in / std::to_string(i), std::string("text"));
  users.mounted();
  const std::string open_many =
      "exec python3 -c \"\nimport os, signal\nfds = []\ntry:\n  for i in range(1000): "
      "fds.append(os.open(str(i), os.O_RDONLY))\nexcept OSError as error: print(error.errno, "
      "flush=True)\nprint(len(fds), flush=True)\nsignal.pause()\"";
  const TempDir logs;
  ProcessSettings as_user;
  as_user.uid = kUser;
  Child holder(
      {"sh", "-c", "ulimit -n 4096; cd '" + (users.mounted() / "a").string() + "' && " + open_many},
      logs / "log", as_user);
  std::string said;
  BOOST_TEST_REQUIRE(comes_true([&] {
    const auto bytes = read_file(logs / "log");
    said.assign(bytes.begin(), bytes.end());
    return occurrences_of("\n", said) == 2;
  }));
  BOOST_TEST(said.starts_with(std::to_string(EMFILE) + "\n"), said);
  const auto result = users.run_as(kOther, "for i in 1 2 3 4 5; do cat $i; done");
  BOOST_TEST(result.out == "texttexttexttexttext", result.description());
  BOOST_TEST(occurrences_of("user 70001 has too many files open", users.mounted().log()) == 1u);
}

// Files that wait for their commit occupy descriptors too, and a commit needs some more.
BOOST_AUTO_TEST_CASE(of_descriptors_are_left_to_others_by_closed_files,
                     *precondition(needs_fuse_as_root) * precondition(kNeedsUsersAtOnce)) {
  constexpr int kFiles = 3000;
  const FewDescriptors few(512);
  TwoUsers users(0, few.settings);
  users.mounted();
  // Each file is written twice: the second time it is open from its commit, and waits again.
  const std::string change_many =
      "exec python3 -c \"\nimport os\nfor i in range(" + std::to_string(2 * kFiles) +
      "):\n  with open(str(i % " + std::to_string(kFiles) +
      "), 'r+' if i >= " + std::to_string(kFiles) + " else 'w') as f: f.write(str(i))\n\"";
  const TempDir logs;
  ProcessSettings as_user;
  as_user.uid = kUser;
  Child many({"sh", "-c", "cd '" + (users.mounted() / "a").string() + "' && " + change_many},
             logs / "log", as_user);
  const auto other = users.run_as(
      kOther,
      "exec python3 -c \"\nimport os\nfor i in range(60):\n  with open(str(i), 'w') as f: "
      "f.write('theirs'); f.flush(); os.fsync(f)\n  os.listdir('.'); os.stat(str(i)); "
      "open(str(i)).close()\n\"");
  BOOST_TEST(other.ok(), other.description());
  BOOST_TEST(many.wait(Seconds(60)));
  const auto said = read_file(logs / "log");
  BOOST_TEST(said.empty(), std::string(said.begin(), said.end()));
  const auto ended = users.mounted().unmount();
  BOOST_TEST(ended.ok(), ended.description());
  BOOST_TEST(occurrences_of("commit failed", users.mounted().log()) == 0u, users.mounted().log());
  int stored = 0, left = 0;
  for (const auto& entry : fs_std::directory_iterator(users.source / "a"))
    ++(entry.path().extension() == ".b2frame" ? stored : left);
  BOOST_TEST(stored == kFiles);
  BOOST_TEST(left == 0);
}

BOOST_TEST_DECORATOR(*precondition(needs_mounter))
BOOST_AUTO_TEST_CASE_TEMPLATE(of_the_log_are_left_to_others, By, Mounters) {
  TwoUsers users(By::user());
  const ByteVector frame = flat_frame(std::string("contents"));
  const ByteVector damaged(frame.begin(), frame.begin() + 100);
  for (int i = 0; i < 3000; i++)
    write_file(users.source / "a" / ("mine" + std::to_string(i) + ".b2frame"), damaged);
  write_file(users.source / "b" / "theirs.b2frame", damaged);
  users.mounted();
  users.run_as(kUser, "ls -l >/dev/null");
  users.run_as(kOther, "ls -l >/dev/null");
  const std::string log = users.mounted().log();
  BOOST_TEST(occurrences_of("mine", log) >= 100u);
  BOOST_TEST(occurrences_of("mine", log) < 200u);
  BOOST_TEST(occurrences_of("more messages of what user 70001", log) <= 1u);
  BOOST_TEST(occurrences_of("more messages of what user 70001 asks for are left out", log) == 1u);
  BOOST_TEST(occurrences_of("theirs", log) == 1u);
}

/// Frames of one user with changes to commit. The test holds the lock of each frame.
struct LockedFrames {
  explicit LockedFrames(int count, uid_t mounter = 0, const DaemonTime* time = nullptr)
      : users(mounter, time == nullptr ? settings() : time->of(settings())) {
    for (int i = 0; i < count; i++) {
      write_file(frame(i), flat_frame(std::string("contents")));
      write_file(frame(i).string() + ".b2lock", std::string(16, '\0'));
      for (const fs_std::path& path : {frame(i), fs_std::path(frame(i).string() + ".b2lock")})
        give(path, kUser, 0666);
    }
    before = read_file(frame(0));
    users.mounted();
    const auto changed =
        users.run_as(kUser, "for f in l*; do printf C | dd of=$f conv=notrunc status=none; done");
    BOOST_REQUIRE_MESSAGE(changed.ok(), changed.description());
    for (int i = 0; i < count; i++) {
      locks.emplace_back(::open((frame(i).string() + ".b2lock").c_str(), O_RDWR | O_CLOEXEC));
      BOOST_REQUIRE(::flock(locks.back().get(), LOCK_EX | LOCK_NB) == 0);
    }
    BOOST_REQUIRE(read_file(frame(count - 1)) == before);
  }
  fs_std::path frame(int i) const {
    return users.source / "a" / ("l" + std::to_string(i) + ".b2frame");
  }

  static MountSettings settings() {
    MountSettings with_locks;
    with_locks.options = {"locking", "dirty_limit=1M", "cache_size=16M"};
    return with_locks;
  }

  TwoUsers users;
  ByteVector before;  ///< the frames all have these bytes
  std::vector<Fd> locks;
};

BOOST_TEST_DECORATOR(*precondition(needs_mounter) * precondition(kNeedsUsersAtOnce))
BOOST_AUTO_TEST_CASE_TEMPLATE(of_commits_are_left_to_others, By, Mounters) {
  LockedFrames locked(20, By::user());
  const TempDir logs;
  ProcessSettings as_user;
  as_user.uid = kUser;
  const fs_std::path waited_for = locked.users.mounted() / "a" / "l7";
  const Child waiting({"sync", waited_for.string()}, logs / "log", as_user);
  for (int i = 0; i < 3; i++) {
    const auto result =
        locked.users.run_as(kOther, "head -c 3000000 /dev/urandom > f" + std::to_string(i));
    BOOST_TEST(result.ok(), result.description());
  }
  BOOST_TEST(comes_true([&] {
    return is_stored(locked.users.source / "b" / "f0.b2frame", std::string(2900000, ' ')) &&
           is_stored(locked.users.source / "b" / "f2.b2frame", std::string(2900000, ' '));
  }));
  BOOST_TEST((read_file(locked.frame(3)) == locked.before));
  locked.locks.clear();
  BOOST_TEST(comes_true([&] {
    for (int i = 0; i < 20; i++)
      if (read_file(locked.frame(i)) == locked.before) return false;
    return true;
  }));
}

/// An fsync waits for the lock, and opens of the file wait for the fsync.
BOOST_AUTO_TEST_CASE(of_threads_are_left_to_others_by_opens_of_a_locked_frame,
                     *precondition(needs_fuse_as_root)) {
  LockedFrames locked(1);
  locked.locks.clear();
  Fd frame(::open(locked.frame(0).c_str(), O_RDWR | O_CLOEXEC));
  struct flock whole {};
  whole.l_type = F_WRLCK;
  BOOST_REQUIRE(::fcntl(frame.get(), F_OFD_SETLK, &whole) == 0);
  const std::string shown = (locked.users.mounted() / "a" / "l0").string();
  std::vector<std::jthread> openers;
  for (int i = 0; i < 16; i++)
    openers.emplace_back([&, i](const std::stop_token& end) {
      while (!end.stop_requested()) {
        const Fd file(::open(shown.c_str(), O_RDWR | O_CLOEXEC));
        if (i == 0 && file && ::write(file.get(), "x", 1) == 1) ::fsync(file.get());
      }
    });
  BOOST_TEST(comes_true([&] { return locked.users.mounted().requests_waiting() > 1; }));
  const auto result = locked.users.run_as(
      kOther, "for i in 1 2 3 4 5 6 7 8 9 10; do echo text > f$i && cat f$i >/dev/null; done");
  for (std::jthread& opener : openers) opener.request_stop();
  frame = Fd();
  for (std::jthread& opener : openers) opener.join();
  BOOST_TEST(result.ok(), result.description());
}

BOOST_AUTO_TEST_CASE(of_locks_keep_no_mount_from_ending, *precondition(needs_fuse_as_root)) {
  DaemonTime time;
  LockedFrames locked(6, 0, &time);
  BOOST_REQUIRE(force_unmount(locked.users.mounted().path()));
  BOOST_TEST(comes_to_call(locked.users.mounted().pid(), SYS_clock_nanosleep));
  // At the unmount the daemon waits 30 s for all locks together.
  time.move(std::chrono::seconds(30));
  BOOST_TEST(locked.users.mounted().wait(Seconds(60)));
  const std::string log = locked.users.mounted().log();
  for (int i = 0; i < 6; i++) {
    const std::string said =
        "a/l" + std::to_string(i) + ".b2frame: not committed (Connection timed out): kept as ";
    BOOST_TEST(occurrences_of(said, log) >= 1u, log);
  }
}

BOOST_AUTO_TEST_CASE(of_time_are_left_to_others_by_damaged_checksums,
                     *precondition(needs_fuse_as_root)) {
  frame::test::FrameBuilder damaged =
      frame::test::simple_frame(make_contents("noise", 1, std::size_t{64} << 20, 1), 4096, 4096);
  damaged.vlmetalayers = {{"bloscfs.xxh3", frame::test::pattern(40, 1)}};
  TwoUsers users;
  write_file(users.source / "a" / "damaged.b2frame", damaged.build());
  BOOST_REQUIRE(::chown((users.source / "a" / "damaged.b2frame").c_str(), kUser, kUser) == 0);
  users.mounted();
  BOOST_TEST(users.run_as(kUser, "printf x | dd of=damaged conv=notrunc 2>/dev/null").ok());
  BOOST_TEST(users.run_as(kOther, "echo text > f").ok());
  BOOST_TEST(comes_true([&] { return is_stored(users.source / "b" / "f.b2frame", "text"); }));
  BOOST_TEST(users.mounted().unmount().ok(), users.mounted().log());
}

// Converting the array to a flat frame takes long, and other users' files must not wait for it.
BOOST_AUTO_TEST_CASE(of_time_are_left_to_others_by_large_rewrites,
                     *precondition(needs_fuse_as_root)) {
  constexpr std::int32_t kChunk = 1 << 20, kChunks = 8 << 10;
  frame::test::FrameBuilder array;
  array.typesize = 1;
  array.chunksize = array.blocksize = kChunk;
  array.nbytes = std::int64_t{kChunk} * kChunks;
  ByteVector b2nd = b2nd_metalayer({array.nbytes}, "|u1");
  // Makes the chunks and blocks 1 MiB in the metalayer, instead of as large as the array.
  for (std::size_t at = 0; at + 5 <= b2nd.size(); at++)
    if (b2nd[at] == 0xd2) {
      b2nd[at + 1] = 0, b2nd[at + 2] = 0x10, b2nd[at + 3] = b2nd[at + 4] = 0;
      at += 4;
    }
  array.metalayers = {{"b2nd", b2nd}};
  // Zeros would be written too quickly.
  array.index_chunk = frame::test::make_value_chunk({0, 0, 0, 0, 0, 0, 0, 0}, kChunks * 8);
  array.chunk_area = encode_copied_chunk(make_contents("floats", 1, kChunk, 1), 1);
  TwoUsers users;
  write_file(users.source / "a" / "large.b2nd", array.build());
  BOOST_REQUIRE(::chown((users.source / "a" / "large.b2nd").c_str(), kUser, kUser) == 0);
  users.mounted();
  BOOST_TEST(users.run_as(kUser, "printf x | dd of=large.npy conv=notrunc 2>/dev/null").ok());
  const auto is_being_rewritten = [&] {
    return std::distance(fs_std::directory_iterator(users.source / "a"), {}) > 1;
  };
  BOOST_TEST(comes_true(is_being_rewritten));
  BOOST_TEST(users.run_as(kOther, "echo text > f").ok());
  BOOST_TEST(comes_true([&] { return is_stored(users.source / "b" / "f.b2frame", "text"); }));
  BOOST_TEST(is_being_rewritten());
  users.mounted().signal(SIGKILL);
  users.mounted().wait(Seconds(10));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
