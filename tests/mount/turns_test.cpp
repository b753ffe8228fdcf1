// Expensive requests of one user do not block the mount for other users.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mount/dear_array.hpp"
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

constexpr int kReaders = 16;
constexpr int kGoodFiles = 3;
// Limits in processor time of the daemon, which does not depend on the load of other programs.
/// Room for one slot of the other user, but not for a whole expensive request. Without slots every
/// operation would take longer.
const Seconds kSoon(8);
/// Room for one request of the other user (two seconds of processor time, which they share), but
/// not for all that wait.
const Seconds kOneTurn(20);
/// A limit by the clock, for operations that never end.
const Seconds kHang(120);

/// A mount that is shared by the user kStranger and the user who runs the test.
struct SharedMount {
  explicit SharedMount(uid_t mounter = 0) {
    give(source.path(), mounter, 0755);
    write_file(source / "dear.b2nd", dear_array());
    for (int i = 0; i <= kGoodFiles; i++)
      write_file(source / ("good" + std::to_string(i) + ".b2frame"), flat_frame(contents));
    mount.emplace(source.path(), for_all(mounter));
  }

  /// Starts a process of kStranger.
  Child begin_as_stranger(const Arguments& command, const std::string& log) {
    ProcessSettings settings;
    settings.uid = kStranger;
    return Child(command, (logs / log).string(), settings);
  }

  /// Starts processes of kStranger that read different parts of the expensive file.
  std::vector<Child> begin_dear_reads(const std::string& flag, int count = kReaders) {
    std::vector<Child> readers;
    for (int i = 0; i < count; i++)
      readers.push_back(begin_as_stranger(
          {"dd", "if=" + (*mount / "dear.npy").string(), "of=/dev/null", "bs=4096",
           "skip=" + std::to_string(1000 * (i + 1)), "count=64", "iflag=" + flag},
          std::to_string(i)));
    BOOST_TEST(
        comes_true([&] { return mount->serves("read") >= static_cast<std::size_t>(count) / 2; }));
    return readers;
  }

  std::string log_of(const std::string& process) const {
    const ByteVector text = read_file(logs / process);
    return {text.begin(), text.end()};
  }

  const ByteVector contents = make_contents("floats", 1, std::size_t{2} << 20, 4);
  SourceDir source;
  TempDir logs;
  std::optional<Mount> mount;
};

/// Runs `operation`. It must end before the daemon has used `limit` of processor time.
template <typename Operation>
void ends_soon(const SharedMount& shared, const std::string& name, Operation operation,
               Seconds limit = kSoon) {
  const auto begin = std::chrono::steady_clock::now();
  const Seconds worked_before = process_cpu(shared.mount->pid());
  operation();
  const Seconds took = std::chrono::steady_clock::now() - begin;
  const Seconds worked = process_cpu(shared.mount->pid()) - worked_before;
  BOOST_TEST_MESSAGE(name << " took " << took.count() << " s, " << worked.count() << " s of work");
  BOOST_TEST(worked.count() < limit.count(), name << " took " << worked.count() << " s of work");
  BOOST_TEST(took.count() < kHang.count(), name << " took " << took.count() << " s");
}

/// Does everything that another user may do at the same time.
void use_mount(const SharedMount& shared) {
  const Mount& mount = *shared.mount;
  struct stat st {};
  ends_soon(shared, "stat", [&] { BOOST_TEST(stat((mount / "good1").c_str(), &st) == 0); });
  ends_soon(shared, "ls", [&] { BOOST_TEST(run({"ls", "-l", mount.path().string()}).ok()); });
  ends_soon(shared, "cached read",
            [&] { BOOST_TEST(read_file(mount / "good0") == shared.contents); });
  ends_soon(shared, "cold read",
            [&] { BOOST_TEST(read_file(mount / "good1") == shared.contents); });
  ends_soon(shared, "write", [&] {
    const std::string copy = "of=" + (mount / "new").string();
    BOOST_TEST(run({"dd", "if=" + (mount / "good0").string(), copy, "bs=256K", "conv=fsync"}).ok());
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(turns, *precondition(kNeedsSpeed))

BOOST_FIXTURE_TEST_CASE(dear_reads_of_one_user_keep_no_other_waiting, SharedMount,
                        *precondition(needs_fuse_unsanitized) * precondition(needs_fuse_as_root)) {
  BOOST_TEST(read_file(*mount / "good0") == contents);
  std::vector<Child> readers = begin_dear_reads("direct");
  use_mount(*this);
  // Each read takes two seconds of processor time. A few reads are enough to see how they end.
  constexpr int kSeen = 3;
  const auto ended = [&] {
    return std::count_if(readers.begin(), readers.end(), [](Child& one) { return !one.running(); });
  };
  BOOST_TEST(comes_true([&] { return ended() >= kSeen; }, kHang));
  for (int i = 0; i < kReaders; i++) {
    if (readers[static_cast<std::size_t>(i)].running()) continue;
    const std::string log = log_of(std::to_string(i));
    BOOST_TEST(log.find("File too large") != std::string::npos, log);
  }
  for (const Child& reader : readers) reader.signal(SIGKILL);
  for (Child& reader : readers) BOOST_TEST(reader.wait(Seconds(20)));
}

BOOST_TEST_DECORATOR(*precondition(needs_fuse_unsanitized) * precondition(needs_mounter))
BOOST_AUTO_TEST_CASE_TEMPLATE(dear_reads_through_the_page_cache_keep_no_other_waiting, By,
                              Mounters) {
  SharedMount shared(By::user());
  BOOST_TEST(read_file(*shared.mount / "good0") == shared.contents);
  std::vector<Child> readers = shared.begin_dear_reads("fullblock");
  use_mount(shared);
  for (const Child& reader : readers) reader.signal(SIGKILL);
  for (Child& reader : readers) BOOST_TEST(reader.wait(Seconds(10)));
}

BOOST_FIXTURE_TEST_CASE(write_that_meets_dear_reads_keeps_no_look_waiting, SharedMount,
                        *precondition(needs_fuse_unsanitized) * precondition(needs_fuse_as_root)) {
  // The write gets its slot after them.
  constexpr int kBefore = 6;
  fs_std::permissions(*mount / "dear.npy", fs_std::perms(0666));
  std::vector<Child> readers = begin_dear_reads("direct", kBefore);
  Child writer = begin_as_stranger({"dd", "if=/dev/zero", "of=" + (*mount / "dear.npy").string(),
                                    "bs=4096", "count=1", "seek=9", "conv=notrunc"},
                                   "writer");
  BOOST_TEST(comes_true([&] { return mount->serves("write") > 0 || !writer.running(); }));
  for (int i = 0; i < 3; i++)
    ends_soon(*this, "ls", [&] { BOOST_TEST(run({"ls", "-l", mount->path().string()}).ok()); });
  for (const Child& reader : readers) reader.signal(SIGKILL);
  mount->signal(SIGKILL);  // otherwise it would commit the write for minutes
  BOOST_TEST(mount->wait(Seconds(10)));
}

BOOST_FIXTURE_TEST_CASE(who_waits_for_a_turn_keeps_no_owner_from_a_file, SharedMount,
                        *precondition(needs_fuse_unsanitized) * precondition(needs_fuse_as_root)) {
  BOOST_TEST_REQUIRE(::chown((source / "dear.b2nd").c_str(), kStranger, kStranger) == 0);
  std::vector<Child> readers = begin_dear_reads("direct");
  for (Child& more : begin_dear_reads("direct")) readers.push_back(std::move(more));
  const std::string read = (*mount / "good1").string(), flushed = (*mount / "good2").string(),
                    searched = (*mount / "good3").string();
  // The kernel holds a lock of each file while these requests wait.
  readers.push_back(
      begin_as_stranger({"dd", "if=" + read, "of=/dev/null", "bs=4096", "count=1"}, "reader"));
  readers.push_back(begin_as_stranger({"sync", flushed}, "flusher"));
  readers.push_back(begin_as_stranger(
      {"python3", "-c", "import os; os.lseek(os.open('" + searched + "', 0), 0, os.SEEK_HOLE)"},
      "searcher"));
  BOOST_TEST(comes_true([&] { return mount->serves("lseek") > 0; }));
  ends_soon(
      *this, "read", [&] { BOOST_TEST(read_file(read) == contents); }, kOneTurn);
  for (const std::string& file : {flushed, searched})
    ends_soon(
        *this, "write of " + file,
        [&] {
          const Fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
          BOOST_TEST(::pwrite(fd.get(), "x", 1, 0) == 1);
        },
        kOneTurn);
  for (const Child& reader : readers) reader.signal(SIGKILL);
  for (Child& reader : readers) BOOST_TEST(reader.wait(Seconds(20)));
}

BOOST_FIXTURE_TEST_CASE(attributes_that_are_not_known_are_read_in_turns, SharedMount,
                        *precondition(needs_fuse_unsanitized) * precondition(needs_fuse_as_root)) {
  const auto read_attribute = [&](const std::string& file) {
    return begin_as_stranger(
        {"python3", "-c",
         "import os; os.getxattr('" + (*mount / file).string() + "', 'user.blosc2.typesize')"},
        file);
  };
  BOOST_TEST(read_attribute("good1").wait(Seconds(20)));
  std::vector<Child> readers = begin_dear_reads("direct");
  Child unknown = read_attribute("good2");
  ends_soon(*this, "attribute that is known",
            [&] { BOOST_TEST(read_attribute("good1").wait(Seconds(20))); });
  BOOST_TEST(unknown.running());
  for (const Child& reader : readers) reader.signal(SIGKILL);
  for (Child& reader : readers) BOOST_TEST(reader.wait(Seconds(20)));
  BOOST_TEST(unknown.wait(Seconds(20)));
  BOOST_TEST(unknown.result().ok(), log_of("good2"));
}

BOOST_FIXTURE_TEST_CASE(listings_of_one_user_do_not_block_others, SharedMount,
                        *precondition(needs_fuse_unsanitized) * precondition(needs_fuse_as_root)) {
  constexpr int kFiles = 100'000;
  constexpr std::uint64_t kMemory = std::uint64_t{200} << 20;  // of one such listing and all else
  fs_std::create_directory(source / "large");
  for (int i = 0; i < kFiles; i++) write_file(source / "large" / std::to_string(i), ByteVector());
  BOOST_TEST(read_file(*mount / "good0") == contents);
  std::vector<Child> listers;
  for (int i = 0; i < kReaders; i++)
    listers.push_back(begin_as_stranger(
        {"python3", "-c",
         "import os\nwhile True: os.close(os.open('" + (*mount / "large").string() + "', 0))"},
        std::to_string(i)));
  BOOST_TEST(comes_true([&] { return mount->serves() > 0; }));
  use_mount(*this);
  for (const Child& lister : listers) lister.signal(SIGKILL);
  for (Child& lister : listers) BOOST_TEST(lister.wait(Seconds(20)));
  const std::uint64_t most = process_memory(mount->pid(), "VmHWM");
  BOOST_TEST(most <= kMemory, (most >> 20) << " MiB");
}

BOOST_FIXTURE_TEST_CASE(readers_that_wait_for_their_turns_can_be_killed, SharedMount,
                        *precondition(needs_fuse_unsanitized) * precondition(needs_fuse_as_root)) {
  std::vector<Child> readers = begin_dear_reads("direct");
  ends_soon(*this, "kill", [&] {
    for (const Child& reader : readers) reader.signal(SIGKILL);
    for (Child& reader : readers) BOOST_TEST(reader.wait(Seconds(100)));
  });
  BOOST_TEST(mount->unmount().ok());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
