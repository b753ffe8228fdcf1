// The lock sidecar, which is shared with other Blosc2 programs.

#include "frame/store/peer_lock.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "frame/open/open.hpp"
#include "frame/store/wait_context.hpp"
#include "tests/frame/scratch_directory.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/proc.hpp"
#include "tests/support/set_clock.hpp"

using namespace bloscfs::frame;
using bloscfs::frame::test::Buffer;
using bloscfs::frame::test::ScratchDirectory;
using bloscfs::test::comes_to_call;
using bloscfs::test::comes_true;
using bloscfs::test::SetClock;

namespace {

/// Makes a sidecar. The generation is in the host's byte order (frame/formats/sidecars.md).
Buffer sidecar(std::uint64_t generation) {
  Buffer bytes(16);
  std::memcpy(bytes.data() + 8, &generation, sizeof generation);
  return bytes;
}

bool can_lock_exclusively(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  return ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(peer_lock)

BOOST_AUTO_TEST_CASE(is_absent_without_a_sidecar) {
  const ScratchDirectory directory;
  BOOST_CHECK(!PeerLock::open(AT_FDCWD, directory / "f.b2lock"));
  BOOST_CHECK_NO_THROW(PeerLock::Shared(nullptr));
}

BOOST_AUTO_TEST_CASE(reads_the_generation) {
  const ScratchDirectory directory;
  directory.write("f.b2lock", {});
  const auto lock = PeerLock::open(AT_FDCWD, directory / "f.b2lock");
  BOOST_REQUIRE(lock);
  BOOST_CHECK_EQUAL(lock->generation(), 0);
  directory.write("f.b2lock", sidecar(3));
  BOOST_CHECK_EQUAL(lock->generation(), 3);
}

BOOST_AUTO_TEST_CASE(holds_writers_off_until_the_last_reader_is_done) {
  const ScratchDirectory directory;
  directory.write("f.b2lock", {});
  const std::string path = directory / "f.b2lock";
  const auto one = PeerLock::open(AT_FDCWD, path);
  const auto other = PeerLock::open(AT_FDCWD, path);
  BOOST_CHECK(one == other);
  std::optional<PeerLock::Shared> first(std::in_place, one);
  std::optional<PeerLock::Shared> second(std::in_place, other);
  first.reset();
  BOOST_CHECK(!can_lock_exclusively(path));
  second.reset();
  BOOST_CHECK(can_lock_exclusively(path));
}

BOOST_AUTO_TEST_CASE(waits_for_a_writer) {
  const ScratchDirectory directory;
  directory.write("f.b2lock", {});
  const std::string path = directory / "f.b2lock";
  UniqueFd writer(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  BOOST_REQUIRE(::flock(writer.get(), LOCK_EX) == 0);
  std::atomic<bool> released{false};
  const pid_t reader = ::gettid();
  std::jthread thread([&] {
    BOOST_TEST(comes_to_call(reader, SYS_futex));
    released = true;
    writer.reset();
  });
  const PeerLock::Shared shared(PeerLock::open(AT_FDCWD, path));
  BOOST_CHECK(released);
  thread.join();
}

BOOST_AUTO_TEST_CASE(is_waited_for_long_by_two_threads_only) {
  const ScratchDirectory directory;
  directory.write("f.b2lock", {});
  const std::string path = directory / "f.b2lock";
  const UniqueFd writer(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  BOOST_REQUIRE(::flock(writer.get(), LOCK_EX) == 0);
  const auto lock = PeerLock::open(AT_FDCWD, path);
  SetClock clock;
  const WaitClock waits(clock);
  std::atomic<int> given_up{0};
  std::vector<std::jthread> readers;
  for (int i = 0; i < 3; i++) {
    std::atomic<pid_t> reader{0};
    readers.emplace_back([&] {
      reader = ::gettid();
      try {
        const PeerLock::Shared shared(lock);
      } catch (const LockedByOthers&) {
        given_up++;
      }
    });
    BOOST_TEST_REQUIRE(comes_true([&] { return reader != 0; }));
    BOOST_TEST_REQUIRE(comes_to_call(reader, SYS_futex));
  }
  clock.move(std::chrono::milliseconds(500));
  BOOST_TEST(comes_true([&] { return given_up == 1; }));
  clock.move(std::chrono::milliseconds(9500));
  readers.clear();
  BOOST_TEST(given_up == 3);
}

BOOST_AUTO_TEST_CASE(lets_readers_of_the_process_in_beside_its_writer) {
  const ScratchDirectory directory;
  directory.write("f.b2lock", {});
  const auto lock = PeerLock::open(AT_FDCWD, directory / "f.b2lock");
  std::optional<PeerLock::Exclusive> writer(std::in_place, lock);
  { const PeerLock::Shared reader(lock); }
  BOOST_CHECK(!can_lock_exclusively(directory / "f.b2lock"));
  writer.reset();
  BOOST_CHECK(can_lock_exclusively(directory / "f.b2lock"));
}

BOOST_AUTO_TEST_CASE(makes_a_writer_wait_for_readers_that_have_begun) {
  const ScratchDirectory directory;
  directory.write("f.b2lock", {});
  const auto lock = PeerLock::open(AT_FDCWD, directory / "f.b2lock");
  std::optional<PeerLock::Shared> reader(std::in_place, lock);
  std::atomic<bool> released{false};
  std::atomic<pid_t> waiting{0};
  std::jthread writer([&] {
    waiting = ::gettid();
    const PeerLock::Exclusive exclusive(lock);
    BOOST_CHECK(released);
  });
  comes_true([&] { return waiting != 0; });
  BOOST_TEST(comes_to_call(waiting, SYS_futex));
  released = true;
  reader.reset();
  writer.join();
}

BOOST_AUTO_TEST_CASE(is_held_by_one_writer_at_a_time) {
  const ScratchDirectory directory;
  directory.write("f.b2lock", {});
  const auto lock = PeerLock::open(AT_FDCWD, directory / "f.b2lock");
  std::atomic<int> inside{0}, together{0}, readers{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        const PeerLock::Exclusive exclusive(lock);
        if (inside++ != 0) ++together;
        --inside;
      }
    });
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        const PeerLock::Shared shared(lock);
        ++readers;
      }
    });
  for (std::jthread& thread : threads) thread.join();
  BOOST_CHECK_EQUAL(together, 0);
  BOOST_CHECK_EQUAL(readers, 1500);
  BOOST_CHECK(can_lock_exclusively(directory / "f.b2lock"));
}

BOOST_AUTO_TEST_CASE(makes_a_snapshot_notice_a_writer_by_the_counter) {
  const ScratchDirectory directory;
  directory.write(
      "f", bloscfs::frame::test::simple_frame(bloscfs::frame::test::pattern(3000, 1), 1000, 500)
               .build());
  directory.write("f.b2lock", sidecar(1));
  const auto snapshot = open_path(directory / "f", {});
  BOOST_CHECK(snapshot->unchanged());
  BOOST_TEST(bloscfs::frame::test::read_all(*snapshot) == bloscfs::frame::test::pattern(3000, 1));
  BOOST_CHECK(can_lock_exclusively(directory / "f.b2lock"));
  directory.write("f.b2lock", sidecar(2));
  BOOST_CHECK(!snapshot->unchanged());
}

BOOST_AUTO_TEST_CASE(finds_the_sidecar_in_a_sparse_frame) {
  const ScratchDirectory directory;
  bloscfs::frame::test::FrameBuilder frame;
  frame.frame_type = 1;
  directory.write("chunks.b2frame", frame.build());
  directory.write(".b2lock", sidecar(1));
  const auto snapshot = open_path(directory.path(), {});
  BOOST_REQUIRE(snapshot);
  BOOST_CHECK(snapshot->unchanged());
  directory.write(".b2lock", sidecar(2));
  BOOST_CHECK(!snapshot->unchanged());
}

BOOST_AUTO_TEST_CASE(only_few_readers_wait_for_long) {
  const ScratchDirectory directory;
  directory.write("f.b2lock", {});
  directory.write("other.b2lock", {});
  const std::string path = directory / "f.b2lock";
  UniqueFd writer(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  BOOST_REQUIRE(::flock(writer.get(), LOCK_EX) == 0);
  const auto lock = PeerLock::open(AT_FDCWD, path);
  const auto other = PeerLock::open(AT_FDCWD, directory / "other.b2lock");
  std::atomic<int> gave_up{0}, waited{0};
  std::vector<std::jthread> readers;
  for (int i = 0; i < 6; ++i)
    readers.emplace_back([&] {
      try {
        const PeerLock::Shared shared(lock);
        waited++;
      } catch (const std::system_error&) {
        gave_up++;
      }
    });
  // A reader of another lock does not wait with these readers, although the writer still holds its
  // lock.
  BOOST_CHECK(comes_true([&] {
    BOOST_CHECK_NO_THROW(PeerLock::Shared{other});
    return gave_up == 4;
  }));
  writer.reset();
  for (std::jthread& reader : readers) reader.join();
  BOOST_CHECK_EQUAL(waited.load(), 2);
}

BOOST_AUTO_TEST_SUITE_END()
