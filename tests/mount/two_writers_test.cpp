// A mount and a program of C-Blosc2 change one frame, both with its lock sidecar: what they change
// in different chunks is combined.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/mount/errno_of.hpp"
#include "tests/mount/foreign_changes.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr std::size_t kChunk = 65536;  // of flat_frame()
constexpr std::size_t kChunks = 8;

/// Changes a frame as a program does that takes its lock.
void change_locked(const fs_std::path& stored, const std::function<void()>& change) {
  const Fd sidecar(open((stored.string() + ".b2lock").c_str(), O_RDWR | O_CLOEXEC));
  BOOST_REQUIRE(flock(sidecar.get(), LOCK_EX) == 0);
  std::uint64_t generation = 0;
  BOOST_REQUIRE(pread(sidecar.get(), &generation, 8, 8) >= 0);
  ++generation;
  BOOST_REQUIRE(pwrite(sidecar.get(), &generation, 8, 8) == 8);
  change();
}

struct SharedFrame {
  SharedFrame() {
    write_file(stored, flat_frame(contents));
    write_file(stored.string() + ".b2lock", ByteVector());
    mount.emplace(source.path());
    writer = open_rw(*mount / "a");
  }
  /// C-Blosc2 puts other bytes into a chunk, in place.
  void overwrite(std::size_t chunk, const ByteVector& bytes) {
    const TempDir home;
    write_file(home / "bytes", bytes);
    edit_frame(stored,
               {{"overwrite", home / "bytes", "", static_cast<std::int64_t>(chunk * kChunk), 0}});
    contents = patched(contents, chunk * kChunk, bytes);
  }
  void write(std::size_t chunk, const ByteVector& bytes) {
    write_at(writer, static_cast<off_t>(chunk * kChunk) + 100, bytes);
    contents = patched(contents, chunk * kChunk + 100, bytes);
  }
  void check() {
    BOOST_CHECK(read_file(*mount / "a") == contents);
    writer = Fd();
    const auto result = mount->unmount();
    BOOST_TEST(result.ok(), result.description());
    BOOST_CHECK(stored_contents(stored) == contents);
    BOOST_TEST(conflicts_of(source.path(), "a").empty(), mount->log());
  }

  ByteVector contents = make_contents("noise", 3, kChunks* kChunk, 1);
  TempDir source;
  fs_std::path stored = source / "a.b2frame";
  std::optional<Mount> mount;
  Fd writer;
};

/// Changes odd chunks through the mount, and puts what they are then into `result`. Returns how
/// many calls failed.
int write_until(std::chrono::steady_clock::time_point end, const SharedFrame& frame,
                const fs_std::path& result) {
  ByteVector own = frame.contents;
  int failures = 0, commits = 0;
  {
    const Fd file = open_rw(*frame.mount / "a");
    std::mt19937 random(2);
    while (std::chrono::steady_clock::now() < end) {
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
  return commits > 10 ? failures : 100;
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
    // What it was written over is remembered through a state of another program's, and a commit.
    frame.write(3, make_contents("text", 6, 700, 1));
    frame.write(4, own);
    change_locked(frame.stored, [&] { frame.overwrite(7, peers); });
    BOOST_CHECK(read_file(*frame.mount / "a") == frame.contents);
    if (is_closed)
      frame.writer = Fd();
    else
      BOOST_TEST(errno_of(fsync(frame.writer.get())) == 0);
    if (is_closed) frame.writer = open_rw(*frame.mount / "a");
    frame.write(4, make_contents("text", 7, 900, 1));
    change_locked(frame.stored, [&] { frame.overwrite(1, peers); });
    BOOST_TEST(errno_of(fsync(frame.writer.get())) == 0);
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
  BOOST_TEST(errno_of(fsync(frame.writer.get())) == 0);
  frame.check();
}

// One chunk of both, another length, and a change that nobody has announced: the file goes on from
// what the other program has made, and what was written is kept beside it.
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
    write_at(frame.writer, 3 * kChunk + 100, own);
    change(frame);
    BOOST_TEST(errno_of(fsync(frame.writer.get())) == ESTALE);
    BOOST_TEST(errno_of(fsync(frame.writer.get())) == 0);
    BOOST_CHECK(read_file(*frame.mount / "a") == frame.contents);
    // The rest of the old state is gone.
    const ByteVector kept = stored_contents(conflict_of(frame.source.path(), "a"));
    BOOST_REQUIRE(kept.size() == kChunks * kChunk);
    BOOST_CHECK(std::equal(own.begin(), own.end(), kept.begin() + 3 * kChunk + 100));
  }
}

// Each has chunks of its own, and changes them all the time. A process for each: one that starts a
// program closes that one's copies of its files, which waits for the lock.
BOOST_AUTO_TEST_CASE(at_once_lose_nothing, *precondition(needs_fuse_and_peer)) {
  SharedFrame frame;
  frame.writer = Fd();
  const char* const seconds = std::getenv("BLOSCFS_TWO_WRITERS_SECONDS");
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::seconds(seconds == nullptr ? 8 : std::atoi(seconds));
  const TempDir home;
  const pid_t writer = fork();
  BOOST_REQUIRE(writer >= 0);
  if (writer == 0) _exit(write_until(end, frame, home / "own"));
  std::mt19937 random(1);
  int changes = 0;
  while (std::chrono::steady_clock::now() < end) {
    const ByteVector bytes = make_contents("noise", random(), kChunk, 1);
    change_locked(frame.stored, [&] { frame.overwrite(random() % (kChunks / 2) * 2, bytes); });
    changes++;
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
  }
  int status = 0;
  BOOST_REQUIRE(waitpid(writer, &status, 0) == writer);
  BOOST_TEST(status == 0);
  BOOST_TEST(changes > 10);
  const ByteVector own = read_file(home / "own");
  BOOST_REQUIRE(own.size() == frame.contents.size());
  for (std::size_t at = kChunk; at < own.size(); at += 2 * kChunk)
    std::copy_n(own.begin() + static_cast<std::ptrdiff_t>(at), kChunk,
                frame.contents.begin() + static_cast<std::ptrdiff_t>(at));
  frame.check();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
