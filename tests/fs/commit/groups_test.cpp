// When the daemon commits files, which files it commits together, and what happens to files that it
// cannot commit.

#include <atomic>
#include <cerrno>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include <boost/test/unit_test.hpp>
#include <unistd.h>

#include "tests/fs/mount/in_process.hpp"
#include "tests/fs/mount/watched_calls.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/set_clock.hpp"

namespace bloscfs::test {
namespace {

ByteVector contents_of_number(int number) {
  return make_contents("text", static_cast<std::uint64_t>(number), 3000, 1);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(commits)

BOOST_AUTO_TEST_CASE(closed_files_are_committed_by_themselves) {
  const TempDir source;
  SetClock clock;
  InProcess mount(source.path(), {}, clock);
  mount.write("a", bytes_of("one"));
  BOOST_CHECK(comes_true([&] {
    clock.move(std::chrono::seconds(1));
    return fs_std::exists(source / "a.b2frame");
  }));
  BOOST_CHECK(comes_true([&] { return mount->stats().dirty_bytes == 0u; }));
  BOOST_TEST(mount->stats().commits == 1u);
}

BOOST_AUTO_TEST_CASE(strict_mounts_commit_at_each_close) {
  const TempDir source;
  InProcess mount(source.path(), "sync=strict");
  const InProcess::File file = mount.create("a");
  file.write(0, bytes_of("one"));
  file.flush();
  BOOST_CHECK(shown_contents(source / "a.b2frame") == bytes_of("one"));
  file.write(3, bytes_of("two"));
  file.flush();
  BOOST_CHECK(shown_contents(source / "a.b2frame") == bytes_of("onetwo"));
}

BOOST_AUTO_TEST_CASE(many_files_cost_few_flushes) {
  constexpr int kFiles = 100;
  const TempDir source;
  InProcess mount(source.path());
  std::map<Call, int> calls;
  {
    std::mutex mutex;
    const WatchedCalls watched([&](Call call, const std::string&) {
      const std::lock_guard lock(mutex);
      calls[call]++;
      return 0;
    });
    for (int i = 0; i < kFiles; i++) mount.write("f" + std::to_string(i), contents_of_number(i));
    mount->commit_written();
  }
  BOOST_TEST(mount->stats().commits == static_cast<unsigned>(kFiles));
  BOOST_TEST(calls[Call::flush_file] + calls[Call::flush_all] < kFiles);
  BOOST_TEST(stored_names(source.path()).size() == static_cast<unsigned>(kFiles));
  for (const int i : {0, 57, 99})
    BOOST_CHECK(shown_contents(source / ("f" + std::to_string(i) + ".b2frame")) ==
                contents_of_number(i));
}

BOOST_AUTO_TEST_CASE(one_failure_is_that_of_one_file) {
  const TempDir source;
  for (const char* name : {"a.b2frame", "b.b2frame", "c.b2frame"})
    write_file(source / name, flat_frame("old"));
  InProcess mount(source.path());
  for (const char* name : {"a", "b", "c"}) mount.write(name, bytes_of("changed"));
  {
    const FailedCalls failed(Call::write, ENOSPC, "/b.b2frame");
    BOOST_TEST(error_of([&] { mount->commit_written(); }) == ENOSPC);
    BOOST_TEST(failed.count() > 0);
  }
  BOOST_CHECK(shown_contents(source / "a.b2frame") == bytes_of("changed"));
  BOOST_CHECK(shown_contents(source / "b.b2frame") == bytes_of("old"));
  BOOST_CHECK(shown_contents(source / "c.b2frame") == bytes_of("changed"));
  BOOST_CHECK(mount.read("b") == bytes_of("changed"));
  BOOST_TEST(mount->stats().commit_failures > 0u);
  mount->commit_written();
  BOOST_CHECK(shown_contents(source / "b.b2frame") == bytes_of("changed"));
}

BOOST_AUTO_TEST_CASE(failed_flush_is_reported_and_retried) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame("old"));
  InProcess mount(source.path());
  const InProcess::File file = mount.open("a");
  file.write(0, bytes_of("new"));
  {
    const FailedCalls failed(Call::flush_file, EIO, "/a.b2frame");
    BOOST_TEST(error_of([&] { file.sync(); }) == EIO);
    BOOST_TEST(failed.count() > 0);
  }
  BOOST_CHECK(file.contents() == bytes_of("new"));
  file.sync();
  BOOST_CHECK(shown_contents(source / "a.b2frame") == bytes_of("new"));
}

BOOST_AUTO_TEST_CASE(new_file_without_a_name_is_tried_again) {
  const TempDir source;
  InProcess mount(source.path());
  const InProcess::File file = mount.create("a");
  file.write(0, bytes_of("new"));
  int failures = 0;
  for (const Call call : {Call::rename, Call::flush_directory, Call::flush_file}) {
    const FailedCalls failed(call, EIO);
    if (error_of([&] { file.sync(); }) == 0) continue;
    failures++;
    BOOST_TEST(failed.count() > 0);
    BOOST_CHECK(file.contents() == bytes_of("new"));
    BOOST_TEST(mount.names() == Names{"a"}, boost::test_tools::per_element());
  }
  BOOST_TEST(failures > 0);
  file.sync();
  BOOST_TEST(stored_names(source.path()) == Names{"a.b2frame"}, boost::test_tools::per_element());
  BOOST_CHECK(shown_contents(source / "a.b2frame") == bytes_of("new"));
}

BOOST_AUTO_TEST_CASE(failure_in_the_background_is_reported_to_the_next_caller) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame("old"));
  InProcess mount(source.path());
  const InProcess::File file = mount.open("a");
  {
    const FailedCalls failed(Call::write, EIO, "/a.b2frame");
    mount.write("a", bytes_of("new"));
    mount.open("a");
    mount.resize("a", 2);
    BOOST_TEST(error_of([&] { mount->commit_written(); }) == EIO);
  }
  BOOST_TEST(error_of([&] { file.sync(); }) == EIO);
  BOOST_TEST(error_of([&] { file.sync(); }) == 0);
  BOOST_CHECK(shown_contents(source / "a.b2frame") == bytes_of("ne"));
}

BOOST_AUTO_TEST_CASE(files_are_read_and_written_while_they_are_committed) {
  const TempDir source;
  const ByteVector old = make_contents("text", 1, 200000, 1);
  write_file(source / "a.b2frame", flat_frame(old));
  InProcess mount(source.path());
  const InProcess::File file = mount.open("a");
  const ByteVector first = make_contents("noise", 2, 5000, 1);
  const ByteVector second = make_contents("noise", 3, 5000, 1);
  file.write(1000, first);
  std::atomic<bool> is_done{false};
  {
    const WatchedCalls watched([&](Call call, const std::string& path) {
      if (call != Call::flush_file || !path.ends_with("/a.b2frame")) return 0;
      if (is_done.exchange(true)) return 0;
      std::jthread other([&] {
        BOOST_CHECK(file.contents() == with_bytes(old, 1000, first));
        file.write(3000, second);
        BOOST_CHECK(file.contents() == with_bytes(with_bytes(old, 1000, first), 3000, second));
        BOOST_TEST(mount.names() == Names{"a"}, boost::test_tools::per_element());
      });
      other.join();
      return 0;
    });
    file.sync();
  }
  BOOST_TEST(is_done);
  BOOST_CHECK(shown_contents(source / "a.b2frame") == with_bytes(old, 1000, first));
  file.sync();
  BOOST_CHECK(shown_contents(source / "a.b2frame") ==
              with_bytes(with_bytes(old, 1000, first), 3000, second));
}

/// Renames the file during the first fsync of its commit. Returns the error number of the commit.
int sync_while_renamed(InProcess& mount, const InProcess::File& file, const std::string& from,
                       const std::string& to) {
  std::atomic<bool> is_done{false}, is_renamed{false};
  std::jthread other;
  const WatchedCalls watched([&](Call call, const std::string&) {
    if (call != Call::flush_file || is_done.exchange(true)) return 0;
    other = std::jthread([&] {
      mount.rename(from, to);
      is_renamed = true;
    });
    // If the rename waits for the commit, it comes later, and the test is still valid.
    comes_true([&] { return is_renamed.load(); }, std::chrono::milliseconds(100));
    return 0;
  });
  const int error = error_of([&] { file.sync(); });
  BOOST_TEST(is_done);
  return error;
}

BOOST_AUTO_TEST_CASE(renamed_while_they_are_committed) {
  const TempDir source;
  fs_std::create_directory(source / "d");
  for (const auto& [to, stored] : {std::pair("b", "b.b2frame"), std::pair("d/b", "d/b.b2frame")})
    for (const bool was_committed : {false, true})
      BOOST_TEST_CONTEXT(to << (was_committed ? " of a file" : " of a new file")) {
        InProcess mount(source.path());
        const InProcess::File file = mount.create("a");
        file.write(0, bytes_of("old"));
        if (was_committed) file.sync();
        file.write(0, bytes_of("new"));
        BOOST_TEST(sync_while_renamed(mount, file, "a", to) == 0);
        BOOST_CHECK(shown_contents(source / stored) == bytes_of("new"));
        mount.remove(to);
      }
  BOOST_TEST(stored_names(source.path()) == Names{"d"}, boost::test_tools::per_element());
  BOOST_TEST(stored_names(source / "d") == Names{}, boost::test_tools::per_element());
}

// A commit that makes an array of flat bytes writes a new file, which has a temporary's name until
// it is published.
BOOST_AUTO_TEST_CASE(moved_while_they_are_committed_as_other_frames) {
  const TempDir source;
  fs_std::create_directory(source / "d");
  InProcess mount(source.path());
  ByteVector array = bytes_of(npy_header("<f8", {1000}));
  array.resize(array.size() + 8000, 7);
  mount.write("a.npy", bytes_of("no array"));
  mount->commit_written();
  BOOST_TEST(stored_names(source.path()) == (Names{"a.npy.b2frame", "d"}),
             boost::test_tools::per_element());
  mount.write("a.npy", array);
  {
    const InProcess::File file = mount.open("a.npy", O_RDONLY);
    BOOST_TEST(sync_while_renamed(mount, file, "a.npy", "d/b.npy") == 0);
  }
  BOOST_CHECK(mount.read("d/b.npy") == array);
  mount.end();
  BOOST_TEST(stored_names(source.path()) == Names{"d"}, boost::test_tools::per_element());
  BOOST_TEST(stored_names(source / "d") == Names{"b.b2nd"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(sparse_frames_are_committed_as_such) {
  const TempDir source;
  const ByteVector old = make_contents("noise", 1, 300000, 1);
  write_sparse_frame(source / "s.b2frame", old);
  InProcess mount(source.path());
  const InProcess::File file = mount.open("s");
  const ByteVector bytes = make_contents("noise", 2, 100000, 1);
  file.write(150000, bytes);
  file.sync();
  BOOST_TEST(fs_std::is_directory(source / "s.b2frame"));
  BOOST_CHECK(shown_contents(source / "s.b2frame") == with_bytes(old, 150000, bytes));
  file.truncate(1000);
  file.sync();
  BOOST_TEST(shown_contents(source / "s.b2frame").size() == 1000u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
