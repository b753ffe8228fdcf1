// Writers that wait for room do not delay other programs. The mount goes on with any mixture of
// writers, budgets and chunk sizes.

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mount/asked_mounts.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/source_dir.hpp"
#include "tests/support/writer_load.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

std::string file_text(const fs_std::path& path) {
  const ByteVector bytes = read_file(path);
  return {bytes.begin(), bytes.end()};
}

/// Frames whose commits fail from lock() until the destructor, since another program holds the
/// locks of their sidecars.
class LockedFrames {
 public:
  LockedFrames(const fs_std::path& source, int count) {
    for (int i = 0; i < count; i++) {
      const std::string frame = (source / (name(i) + ".b2frame")).string();
      write_file(frame, flat_frame(std::string("contents")));
      write_file(frame + ".b2lock", ByteVector());
      locks_.emplace_back(::open((frame + ".b2lock").c_str(), O_RDWR | O_CLOEXEC));
    }
  }
  void lock() const {
    for (const Fd& lock : locks_) BOOST_REQUIRE(::flock(lock.get(), LOCK_EX) == 0);
  }
  static std::string name(int number) { return fmt::format("locked-{:03}", number); }

 private:
  std::vector<Fd> locks_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(waiting_writers)

BOOST_AUTO_TEST_CASE(hold_no_thread_that_others_need, *precondition(needs_fuse_unsanitized)) {
  constexpr int kWriters = 100;
  const SourceDir source;
  const TempDir logs;
  write_file(source / "other.b2frame", flat_frame(std::string("contents")));
  std::optional<LockedFrames> locked(std::in_place, source.path(), kWriters);
  MountSettings settings;
  settings.options = {"cache_size=4M", "dirty_limit=1M"};
  Mount mount(source.path(), settings);
  // The writers open their files before the sidecars are locked.
  const std::string begin = (logs / "begin").string();
  BOOST_REQUIRE(::mkfifo(begin.c_str(), 0600) == 0);
  std::vector<Child> writers;
  for (int i = 0; i < kWriters; i++)
    writers.emplace_back(Arguments{"sh", "-c",
                                   "exec 3<>\"$1\"; echo opened; : <\"$2\"; "
                                   "exec dd if=/dev/zero bs=64K count=100 >&3",
                                   "sh", (mount / LockedFrames::name(i)).string(), begin},
                         logs / std::to_string(i));
  for (int i = 0; i < kWriters; i++)
    BOOST_TEST_REQUIRE(
        comes_true([&] { return file_text(logs / std::to_string(i)) == "opened\n"; }),
        file_text(logs / std::to_string(i)));
  locked->lock();
  // Opening the FIFO for writing lets all writers begin.
  const Fd all_begin(::open(begin.c_str(), O_RDWR | O_CLOEXEC));
  bool do_wait = false;
  // On a busy machine, that many processes take long to begin.
  for (int i = 0; i < 6 && !do_wait; i++)
    do_wait = comes_true([&] { return mount.requests_waiting() >= kWriters / 2; });
  BOOST_TEST_REQUIRE(do_wait, mount.requests_waiting()
                                  << " wait: " << file_text(logs / "0") << mount.log());
  for (int i = 0; i < 20; i++) {
    struct stat st {};
    BOOST_TEST(::stat((mount / "other").c_str(), &st) == 0);
    BOOST_TEST(std::distance(fs_std::directory_iterator(mount.path()), {}) == kWriters + 1);
    BOOST_TEST(file_text(mount / "other") == "contents");
  }
  BOOST_TEST(mount.requests_waiting() > 0u);
  // A killed writer ends at once, although its data cannot be stored.
  writers.front().signal(SIGKILL);
  BOOST_TEST(writers.front().wait(Seconds(60)));
  locked.reset();
  for (Child& writer : writers) BOOST_TEST(writer.wait(Seconds(60)));
}

BOOST_AUTO_TEST_CASE(do_not_stop_the_mount, *precondition(needs_fuse)) {
  for (const WriterLoad& load : std::vector<WriterLoad>{
           {1, 40, {"cache_size=1M"}},
           {12, 6, {"cache_size=16M"}},
           {24, 5, {"cache_size=16M"}},
           {100, 1, {"cache_size=1M"}},
           {24, 3, {"cache_size=16M", "chunk_size=64K"}},
           {4, 20, {"cache_size=64M", "chunk_size=16M"}},
           {12, 3, {"cache_size=16M", "writeback"}},
           {12, 3, {"cache_size=16M", "sync=strict"}},
           {12, 3, {"cache_size=16M"}, ".npy"},
           {100, 2, {"cache_size=256M"}},
       }) {
    const SourceDir source;
    MountSettings settings;
    settings.options = load.options;
    Mount mount(source.path(), settings);
    run_load(load, mount);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
