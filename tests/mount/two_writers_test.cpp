// A mount and a program of C-Blosc2 change one frame, and both take the lock of its sidecar.
// Changes of different chunks are combined.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/mount/errno_of.hpp"
#include "tests/mount/foreign_changes.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/pause.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr std::size_t kChunk = 65536;  // as in flat_frame()
constexpr std::size_t kChunks = 8;

/// Changes a frame like a program that takes its lock.
void change_locked(const fs_std::path& stored, const std::function<void()>& change) {
  const Fd sidecar(open((stored.string() + ".b2lock").c_str(), O_RDWR | O_CLOEXEC));
  BOOST_REQUIRE(flock(sidecar.get(), LOCK_EX) == 0);
  std::uint64_t generation = 0;
  BOOST_REQUIRE(pread(sidecar.get(), &generation, 8, 8) >= 0);
  ++generation;
  BOOST_REQUIRE(pwrite(sidecar.get(), &generation, 8, 8) == 8);
  change();
}

/// A separate process that has a file open for writing. Each child process of the test would close
/// a copy of a descriptor, and that close would wait for the lock.
class OtherProcess {
 public:
  explicit OtherProcess(const fs_std::path& path) {
    int ends[2] = {};
    BOOST_REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    own_ = Fd(ends[0]);
    const Fd other(ends[1]);
    pid_ = fork();
    BOOST_REQUIRE(pid_ >= 0);
    if (pid_ != 0) return;
    own_ = Fd();
    serve(open_rw(path), other);
    _exit(0);
  }
  ~OtherProcess() {
    own_ = Fd();
    waitpid(pid_, nullptr, 0);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  /// Writes bytes at an offset. Returns the errno, like sync().
  int write(off_t at, const ByteVector& bytes) {
    ByteVector message(sizeof at + bytes.size());
    std::memcpy(message.data(), &at, sizeof at);
    std::copy(bytes.begin(), bytes.end(), message.begin() + sizeof at);
    return ask(message);
  }
  int sync() { return ask({1}); }

 private:
  int ask(const ByteVector& message) {
    int error = EIO;
    BOOST_REQUIRE(send(own_.get(), message.data(), message.size(), 0) == std::ssize(message));
    BOOST_REQUIRE(recv(own_.get(), &error, sizeof error, 0) == sizeof error);
    return error;
  }
  static void serve(const Fd& file, const Fd& other) {
    ByteVector message(100000);
    for (;;) {
      const ssize_t got = recv(other.get(), message.data(), message.size(), 0);
      if (got <= 0) return;
      off_t at = 0;
      int error = 0;
      if (got == 1) {
        error = errno_of(fsync(file.get()));
      } else {
        std::memcpy(&at, message.data(), sizeof at);
        const auto size = static_cast<std::size_t>(got) - sizeof at;
        error = errno_of(static_cast<int>(pwrite(file.get(), &message[sizeof at], size, at)));
      }
      if (send(other.get(), &error, sizeof error, 0) != sizeof error) return;
    }
  }

  Fd own_;
  pid_t pid_ = -1;
};

struct SharedFrame {
  explicit SharedFrame(ByteVector bytes = make_contents("noise", 3, kChunks* kChunk, 1),
                       unsigned mode = 0644)
      : contents(std::move(bytes)) {
    write_file(stored, flat_frame(contents));
    fs_std::permissions(stored, fs_std::perms(mode));
    write_file(stored.string() + ".b2lock", ByteVector());
    mount.emplace(source.path());
    writer.emplace(*mount / "a");
  }
  /// Has C-Blosc2 overwrite a chunk in place.
  void overwrite(std::size_t chunk, const ByteVector& bytes) {
    const TempDir home;
    write_file(home / "bytes", bytes);
    edit_frame(stored,
               {{"overwrite", home / "bytes", "", static_cast<std::int64_t>(chunk * kChunk), 0}});
    contents = patched(contents, chunk * kChunk, bytes);
  }
  void write(std::size_t chunk, const ByteVector& bytes) {
    BOOST_TEST(writer->write(static_cast<off_t>(chunk * kChunk) + 100, bytes) == 0);
    contents = patched(contents, chunk * kChunk + 100, bytes);
  }
  void check() {
    BOOST_CHECK(read_file(*mount / "a") == contents);
    writer.reset();
    const auto result = mount->unmount();
    BOOST_TEST(result.ok(), result.description());
    BOOST_CHECK(stored_contents(stored) == contents);
    BOOST_TEST(conflicts_of(source.path(), "a").empty(), mount->log());
  }

  ByteVector contents;
  TempDir source;
  fs_std::path stored = source / "a.b2frame";
  std::optional<Mount> mount;
  std::optional<OtherProcess> writer;
};

/// Changes odd chunks through the mount until the file `end` exists. Then writes the resulting
/// contents to `result`. Returns how many calls failed, or 100 if it has committed nothing.
int write_until(const fs_std::path& end, const SharedFrame& frame, const fs_std::path& result) {
  ByteVector own = frame.contents;
  int failures = 0, commits = 0;
  {
    const Fd file = open_rw(*frame.mount / "a");
    std::mt19937 random(2);
    while (!fs_std::exists(end)) {
      const std::size_t chunk = random() % (kChunks / 2) * 2 + 1;
      const std::size_t at = chunk * kChunk + random() % (kChunk - 4096);
      const ByteVector bytes = make_contents("noise", random(), 4096, 1);
      failures += pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(at)) != 4096;
      own = patched(own, at, bytes);
      if (random() % 3 != 0) continue;
      failures += fsync(file.get()) != 0;
      commits++;
    }
  }
  write_file(result, own);
  return commits > 0 ? failures : 100;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(two_writers)

BOOST_AUTO_TEST_CASE(with_the_lock_are_combined, *precondition(needs_fuse_and_peer)) {
  const ByteVector peers = make_contents("noise", 4, kChunk, 1),
                   own = make_contents("text", 5, 500, 1);
  for (const bool is_closed : {false, true}) {
    SharedFrame frame;
    frame.write(3, own);
    change_locked(frame.stored, [&] { frame.overwrite(6, peers); });
    // The daemon remembers which state a write was based on, even after another program's change
    // and a commit.
    frame.write(3, make_contents("text", 6, 700, 1));
    frame.write(4, own);
    change_locked(frame.stored, [&] { frame.overwrite(7, peers); });
    BOOST_CHECK(read_file(*frame.mount / "a") == frame.contents);
    if (is_closed)
      frame.writer.reset();
    else
      BOOST_TEST(frame.writer->sync() == 0);
    if (is_closed) frame.writer.emplace(*frame.mount / "a");
    frame.write(4, make_contents("text", 7, 900, 1));
    change_locked(frame.stored, [&] { frame.overwrite(1, peers); });
    BOOST_TEST(frame.writer->sync() == 0);
    frame.check();
  }
}

BOOST_AUTO_TEST_CASE(are_combined_where_the_frame_is_replaced, *precondition(needs_fuse)) {
  SharedFrame frame;
  frame.write(3, make_contents("text", 5, 500, 1));
  ByteVector others = make_contents("noise", 3, kChunks * kChunk, 1);
  const ByteVector theirs = make_contents("noise", 4, kChunk, 1);
  others = patched(others, 6 * kChunk, theirs);
  change_locked(frame.stored, [&] { replace_by_rename(frame.stored, flat_frame(others)); });
  frame.contents = patched(frame.contents, 6 * kChunk, theirs);
  BOOST_TEST(frame.writer->sync() == 0);
  frame.check();
}

// A user who may replace the file could guess chunks. A combined file would then reveal what was
// written.
BOOST_AUTO_TEST_CASE(are_not_combined_in_a_file_of_somebody_else,
                     *precondition(needs_fuse_as_root)) {
  for (const bool has_other_owner : {false, true}) {
    SharedFrame frame(ByteVector(kChunks * kChunk), 0600);
    const ByteVector secret = make_contents("text", 5, 500, 1);
    BOOST_TEST(frame.writer->write(100, secret) == 0);
    change_locked(frame.stored, [&] {
      const fs_std::path other = frame.source / "other";
      write_file(other, flat_frame(frame.contents));
      fs_std::permissions(other, fs_std::perms(0644));
      if (has_other_owner) BOOST_TEST(chown(other.c_str(), 1000, 1000) == 0);
      fs_std::rename(other, frame.stored);
    });
    BOOST_TEST(frame.writer->sync() == ESTALE);
    BOOST_CHECK(stored_contents(frame.stored) == frame.contents);
    const fs_std::path conflict = conflict_of(frame.source.path(), "a");
    BOOST_CHECK((fs_std::status(conflict).permissions() == fs_std::perms(0600)));
  }
}

// Conflicts: both change the same chunk, the other program changes the length, or it does not take
// the lock. The file then keeps the other program's state, and a conflict file has the writes.
BOOST_AUTO_TEST_CASE(of_one_chunk_or_without_the_lock_conflict,
                     *precondition(needs_fuse_and_peer)) {
  const ByteVector peers = make_contents("noise", 4, kChunk, 1),
                   own = make_contents("text", 5, 500, 1);
  const std::vector<std::function<void(SharedFrame&)>> changes{
      [&](SharedFrame& frame) { change_locked(frame.stored, [&] { frame.overwrite(3, peers); }); },
      [&](SharedFrame& frame) {
        const TempDir home;
        write_file(home / "bytes", peers);
        change_locked(frame.stored, [&] {
          edit_frame(frame.stored, {{"append", home / "bytes", "", 0, 0}});
        });
        frame.contents = patched(frame.contents, frame.contents.size(), peers);
      },
      [&](SharedFrame& frame) { frame.overwrite(6, peers); }};
  for (const auto& change : changes) {
    SharedFrame frame;
    BOOST_TEST(frame.writer->write(3 * kChunk + 100, own) == 0);
    change(frame);
    BOOST_TEST(frame.writer->sync() == ESTALE);
    BOOST_TEST(frame.writer->sync() == 0);
    BOOST_CHECK(read_file(*frame.mount / "a") == frame.contents);
    // The rest of the old state was overwritten in place.
    const ByteVector kept = stored_contents(conflict_of(frame.source.path(), "a"));
    BOOST_REQUIRE(kept.size() == kChunks * kChunk);
    BOOST_CHECK(std::equal(own.begin(), own.end(), kept.begin() + 3 * kChunk + 100));
  }
}

// Each writer changes only its own chunks, all the time.
BOOST_AUTO_TEST_CASE(at_once_lose_nothing, *precondition(needs_fuse_and_peer)) {
  SharedFrame frame;
  frame.writer.reset();
  const char* const given = std::getenv("BLOSCFS_TWO_WRITERS_CHANGES");
  const int changes = given == nullptr ? 40 : std::atoi(given);
  const TempDir home;
  const pid_t writer = fork();
  BOOST_REQUIRE(writer >= 0);
  if (writer == 0) _exit(write_until(home / "end", frame, home / "own"));
  std::mt19937 random(1);
  for (int i = 0; i < changes; i++) {
    const ByteVector bytes = make_contents("noise", random(), kChunk, 1);
    change_locked(frame.stored, [&] { frame.overwrite(random() % (kChunks / 2) * 2, bytes); });
    pause_at_random(random, std::chrono::milliseconds(20));
  }
  write_file(home / "end", "");
  int status = 0;
  BOOST_REQUIRE(waitpid(writer, &status, 0) == writer);
  BOOST_TEST(status == 0);
  const ByteVector own = read_file(home / "own");
  BOOST_REQUIRE(own.size() == frame.contents.size());
  for (std::size_t at = kChunk; at < own.size(); at += 2 * kChunk)
    std::copy_n(own.begin() + static_cast<std::ptrdiff_t>(at), kChunk,
                frame.contents.begin() + static_cast<std::ptrdiff_t>(at));
  frame.check();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
