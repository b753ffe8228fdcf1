// Reads of open files, readahead, and reads from disks that fail.

#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

#include <boost/test/unit_test.hpp>

#include "fs/mount/idle_watch.hpp"
#include "tests/fs/mount/in_process.hpp"
#include "tests/fs/mount/watched_calls.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/set_clock.hpp"

namespace bloscfs::test {

BOOST_AUTO_TEST_SUITE(reading_in_process)

BOOST_AUTO_TEST_CASE(any_range_is_read) {
  const TempDir source;
  const ByteVector contents = make_contents("islands", 1, 400001, 1);
  write_file(source / "a.b2frame", flat_frame(contents));
  InProcess mount(source.path());
  const InProcess::File file = mount.open("a", O_RDONLY);
  for (const std::size_t at : {0u, 16383u, 65536u, 399990u})
    for (const std::size_t size : {1u, 11u, 20000u, 200000u}) {
      const std::size_t end = std::min(contents.size(), at + size);
      const auto from = contents.begin();
      BOOST_CHECK(file.read(static_cast<std::int64_t>(at), static_cast<std::int64_t>(size)) ==
                  ByteVector(from + static_cast<std::ptrdiff_t>(at),
                             from + static_cast<std::ptrdiff_t>(end)));
    }
  BOOST_TEST(file.read(400001, 100).empty());
  BOOST_TEST(file.read(1'000'000, 100).empty());
}

BOOST_AUTO_TEST_CASE(sequential_readers_are_read_ahead_for) {
  const TempDir source;
  const ByteVector contents = make_contents("text", 1, 4 << 20, 1);
  write_file(source / "a.b2frame", flat_frame(contents));
  InProcess mount(source.path());
  const InProcess::File file = mount.open("a", O_RDONLY);
  for (std::int64_t at = 0; at < 1 << 20; at += 64 << 10) file.read(at, 64 << 10);
  BOOST_CHECK(comes_true([&] { return mount->stats().readahead_blocks > 0u; }));
  BOOST_CHECK(file.contents() == contents);
}

BOOST_AUTO_TEST_CASE(random_readers_are_not_read_ahead_for) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame(make_contents("text", 1, 4 << 20, 1)));
  InProcess mount(source.path());
  const InProcess::File file = mount.open("a", O_RDONLY);
  for (const std::int64_t at : {3000000, 100000, 2000000, 500000, 1500000}) file.read(at, 100);
  BOOST_TEST(mount->stats().readahead_blocks == 0u);
}

BOOST_AUTO_TEST_CASE(short_runs_are_not_read_ahead_for) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame(make_contents("text", 1, 4 << 20, 1)));
  InProcess mount(source.path());
  const InProcess::File file = mount.open("a", O_RDONLY);
  for (const std::int64_t begin : {3 << 20, 0, 2 << 20, 1 << 20})
    for (std::int64_t at = begin; at < begin + (256 << 10); at += 64 << 10) file.read(at, 64 << 10);
  BOOST_TEST(mount->stats().readahead_blocks == 0u);
}

// A program reads in this way if it takes a block out of a mapped array, plane by plane.
BOOST_AUTO_TEST_CASE(readers_by_equal_strides_are_read_ahead_for) {
  const TempDir source;
  const ByteVector contents = make_contents("text", 1, 4 << 20, 1);
  Cut cut;
  cut.chunksize = 16 << 10;
  write_file(source / "a.b2frame", flat_frame(contents, cut));
  InProcess mount(source.path());
  {
    // Neither jumps backwards nor jumps to and fro cause readahead.
    const InProcess::File file = mount.open("a", O_RDONLY);
    for (const std::int64_t at : {3'000'000, 2'000'000, 1'000'000}) file.read(at, 4096);
    for (const std::int64_t at : {1, 2, 1, 2, 1, 2}) file.read(at << 20, 4096);
  }
  const fs::Stats& stats = mount->stats();
  const std::uint64_t before = stats.blocks_decoded;
  const InProcess::File file = mount.open("a", O_RDONLY);
  for (const std::int64_t at : {100'000, 200'000, 300'000}) file.read(at, 4096);
  // Three blocks were read, and the next one was read ahead.
  BOOST_TEST(comes_true([&] { return stats.blocks_decoded == before + 4; }));
  BOOST_TEST(stats.readahead_blocks == 1U);
  const auto expected = contents.begin() + 400'000;
  BOOST_CHECK(file.read(400'000, 4096) == ByteVector(expected, expected + 4096));
  // After the third equal jump, the mount reads two jumps ahead.
  BOOST_TEST(comes_true([&] { return stats.readahead_blocks == 2U; }));
  BOOST_CHECK(file.contents() == contents);
}

BOOST_AUTO_TEST_CASE(a_file_may_be_mapped_that_is_opened_again_after_its_header_was_read) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame(make_contents("text", 1, 4 << 20, 1)));
  InProcess mount(source.path());
  const auto found = mount.source().lookup(mount.request(), fs::kRootId, "a").value();
  const auto open = [&](pid_t thread, int flags) {
    fs::Request request(fs::Caller{.thread = thread});
    return mount->open(request, found.id, flags);
  };
  const auto first = open(1, O_RDONLY);
  BOOST_TEST(!first.may_be_mapped);
  BOOST_TEST(!open(2, O_RDONLY).may_be_mapped);
  BOOST_TEST(!open(1, O_RDONLY).may_be_mapped);
  BOOST_TEST(open(1, O_RDONLY).may_be_mapped);
  BOOST_TEST(open(1, O_RDWR).may_be_mapped);
}

BOOST_AUTO_TEST_CASE(a_file_that_is_read_on_is_not_taken_for_mapped) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame(make_contents("text", 1, 4 << 20, 1)));
  InProcess mount(source.path());
  const auto found = mount.source().lookup(mount.request(), fs::kRootId, "a").value();
  fs::Request request(fs::Caller{.thread = 1});
  mount->open(request, found.id, O_RDWR);
  const auto first = mount->open(request, found.id, O_RDONLY);
  BOOST_TEST(!first.may_be_mapped);
  mount->handle(first.handle)->expect_more(1 << 20, 4096, 0);
  const auto second = mount->open(request, found.id, O_RDONLY);
  BOOST_TEST(!second.may_be_mapped);
  mount->release(request, second.handle);
  BOOST_TEST(!mount->open(request, found.id, O_RDONLY).may_be_mapped);
}

// The content of a frame stores its times. For other containers the mount sets the times of the
// file in SOURCE, which must not look like a change of contents.
BOOST_AUTO_TEST_CASE(setting_times_disturbs_no_reader) {
  const TempDir source;
  const ByteVector contents = make_contents("text", 1, 300000, 1);
  write_file(source / "a.blp", bloscpack_file(contents, 1000));
  InProcess mount(source.path());
  const InProcess::File file = mount.open("a", O_RDONLY);
  fs::NewAttributes wanted;
  wanted.modified = timespec{1'000'000'000, 0};
  mount.set("a", wanted);
  BOOST_CHECK(file.contents() == contents);
  BOOST_TEST(mount.stat("a").st_mtim.tv_sec == 1'000'000'000);
}

BOOST_AUTO_TEST_CASE(what_was_decoded_is_not_decoded_again) {
  const TempDir source;
  const ByteVector contents = make_contents("text", 1, 300000, 1);
  write_file(source / "a.b2frame", flat_frame(contents));
  InProcess mount(source.path());
  const InProcess::File file = mount.open("a", O_RDONLY);
  file.read(0, 300000);
  const std::uint64_t decoded = mount->stats().blocks_decoded;
  BOOST_CHECK(file.read(0, 300000) == contents);
  BOOST_TEST(mount->stats().blocks_decoded == decoded);
  BOOST_TEST(mount->stats().cache_hits > 0u);
  const std::uint64_t held = mount->stats().cache_bytes;
  mount->rest();
  BOOST_TEST(mount->stats().cache_bytes < held);
  BOOST_CHECK(file.read(0, 300000) == contents);
}

BOOST_AUTO_TEST_CASE(failed_read_is_logged_and_the_next_one_works) {
  const TempDir source;
  const ByteVector contents = make_contents("noise", 1, 300000, 1);
  write_file(source / "a.b2frame", flat_frame(contents));
  InProcess mount(source.path());
  const InProcess::File file = mount.open("a", O_RDONLY);
  {
    const FailedCalls failed(Call::read, EIO, "/a.b2frame");
    for (int i = 0; i < 2; i++) BOOST_TEST(error_of([&] { file.read(0, 1000); }) == EIO);
    BOOST_TEST(failed.count() > 0);
  }
  BOOST_TEST(mount->stats().io_errors == 2u);
  const std::string log = mount.log();
  BOOST_TEST(log.find("a.b2frame: ") != std::string::npos, log);
  BOOST_TEST(std::count(log.begin(), log.end(), '\n') == 1, log);
  BOOST_CHECK(file.contents() == contents);
}

BOOST_AUTO_TEST_CASE(handles_are_known_until_they_are_released) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame("one"));
  InProcess mount(source.path());
  std::uint64_t number = 0;
  {
    const Reference node = mount.find("a");
    number = mount->open(mount.request(), *node, O_RDONLY).handle;
    BOOST_TEST(mount->idle_time().count() == 0);
    BOOST_TEST(mount->handle(number)->attributes(mount.request()).st_size == 3);
    mount->release(mount.request(), number);
  }
  BOOST_TEST(error_of([&] { mount->handle(number); }) == EBADF);
  BOOST_TEST(error_of([&] { mount->release(mount.request(), number); }) == EBADF);
  BOOST_TEST(error_of([&] { mount->directories().entries(mount.request(), number, true, 0); }) ==
             EBADF);
  BOOST_TEST(mount->idle_time().count() > 0);
}

BOOST_AUTO_TEST_CASE(direct_readers_keep_others_from_relying_on_the_kernel) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame("one"));
  InProcess mount(source.path());
  const InProcess::File other = mount.open("a", O_RDONLY);
  const auto is_kept_by_kernel = [&] {
    return std::get<fs::ReplyData>(other.handle().read(mount.request(), 0, 3)).is_kept_by_kernel();
  };
  BOOST_TEST(is_kept_by_kernel());
  {
    const InProcess::File file = mount.open("a", O_RDONLY | O_DIRECT);
    BOOST_TEST(!is_kept_by_kernel());
    BOOST_CHECK(file.contents() == bytes_of("one"));
  }
  BOOST_TEST(is_kept_by_kernel());
}

/// Blocks SIGTERM while it lives, since an idle mount sends SIGTERM to its own process. Threads
/// that start in that time inherit the blocked signal.
class NotedEnd {
 public:
  NotedEnd() {
    ::sigemptyset(&end_);
    ::sigaddset(&end_, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &end_, &before_);
  }
  ~NotedEnd() {
    const timespec at_once{};
    ::sigtimedwait(&end_, nullptr, &at_once);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NotedEnd(const NotedEnd&) = delete;
  NotedEnd& operator=(const NotedEnd&) = delete;
  static bool has_come() {
    sigset_t pending;
    ::sigpending(&pending);
    return ::sigismember(&pending, SIGTERM) == 1;
  }

 private:
  sigset_t end_{}, before_{};
};

BOOST_AUTO_TEST_CASE(idle_watch_ends_a_mount_of_which_nothing_is_open) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame("one"));
  SetClock clock;
  const NotedEnd end;
  InProcess mount(source.path(), {}, clock);
  std::optional<InProcess::File> file(mount.open("a", O_RDONLY));
  const fs::IdleWatch watch(*mount.operator->(), std::chrono::minutes(1), clock);
  clock.move(std::chrono::minutes(2));
  BOOST_CHECK(file->contents() == bytes_of("one"));
  file.reset();
  clock.move(std::chrono::seconds(59));
  BOOST_TEST(!end.has_come());
  BOOST_TEST(comes_true([&] {
    clock.move(std::chrono::seconds(1));
    return end.has_come();
  }));
}

// The clock jumps to each time that a thread waits for. If it stands still, no thread waits for a
// time.
BOOST_AUTO_TEST_CASE(nothing_wakes_a_mount_that_nobody_uses) {
  const TempDir source;
  const JumpingClock clock;
  InProcess mount(source.path(), {}, clock);
  fs::IdleWatch watch(*mount.operator->(), std::chrono::seconds(0), clock);
  const auto falls_asleep = [&](std::chrono::nanoseconds since) {
    constexpr int kLooks = 20;  // a slow thread goes on between two of these looks
    auto passed = since;
    return comes_true([&, looks = 0]() mutable {
      const auto before = std::exchange(passed, clock.passed());
      looks = passed > since && passed == before ? looks + 1 : 0;
      return looks == kLooks;
    });
  };
  BOOST_TEST(falls_asleep(std::chrono::nanoseconds(0)));
  const auto asleep = clock.passed();
  BOOST_CHECK(asleep < std::chrono::seconds(25));
  // A request may leave work that the daemon does later.
  watch.note_use();
  BOOST_TEST(falls_asleep(asleep));
  const auto asleep_again = clock.passed();
  BOOST_CHECK(asleep_again >= asleep + std::chrono::seconds(20));
  write_file(source / "b.b2frame", flat_frame(make_contents("text", 1, 1 << 20, 1)));
  const InProcess::File file = mount.open("b", O_RDONLY);
  file.contents();
  BOOST_TEST(mount->stats().cache_bytes > 0U);
  watch.note_use();
  BOOST_TEST(falls_asleep(asleep_again));
  BOOST_TEST(mount->stats().cache_bytes == 0U);
  const auto asleep_read = clock.passed();
  // When the kernel forgets the nodes that a walk has found, the daemon can free their memory.
  const auto found = mount.source().lookup(mount.request(), fs::kRootId, "b").value();
  const std::uint64_t forgotten = mount->forgotten();
  mount->forget(found.id, 1);
  BOOST_TEST(mount->forgotten() > forgotten);
  mount.write("a", bytes_of("one"));
  watch.note_use();
  BOOST_TEST(
      comes_true([&] { return mount->stats().commits > 0U && mount->uncommitted().empty(); }));
  BOOST_TEST(falls_asleep(asleep_read));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
