// One user's dear requests leave the mount to the others.

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <signal.h>
#include <sys/stat.h>

#include "tests/mount/dear_array.hpp"
#include "tests/mount/shared_source.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr int kReaders = 16;
constexpr int kRounds = 6;
/// A turn of others, where a whole request of theirs takes longer; without turns they all do.
const Seconds kSoon(4);

/// What two users share: the stranger and us.
struct SharedMount {
  explicit SharedMount(uid_t mounter = 0) {
    give(source.path(), mounter, 0755);
    write_file(source / "dear.b2nd", dear_array());
    for (int i = 0; i <= kRounds; i++)
      write_file(source / ("good" + std::to_string(i) + ".b2frame"), flat_frame(contents));
    mount.emplace(source.path(), for_all(mounter));
  }

  /// Of a user who is not us, at different places of the dear file.
  std::vector<Child> begin_dear_reads(const std::string& flag) {
    ProcessSettings settings;
    settings.uid = kStranger;
    std::vector<Child> readers;
    for (int i = 0; i < kReaders; i++)
      readers.emplace_back(
          Arguments{"dd", "if=" + (*mount / "dear.npy").string(), "of=/dev/null", "bs=4096",
                    "skip=" + std::to_string(1000 * (i + 1)), "count=64", "iflag=" + flag},
          (logs / std::to_string(i)).string(), settings);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    return readers;
  }

  std::string log_of(int reader) const {
    const ByteVector text = read_file(logs / std::to_string(reader));
    return {text.begin(), text.end()};
  }

  const ByteVector contents = make_contents("floats", 1, std::size_t{2} << 20, 4);
  TempDir source, logs;
  std::optional<Mount> mount;
};

/// Runs `operation`, which ends soon.
template <typename Operation>
void ends_soon(const std::string& name, Operation operation) {
  const auto begin = std::chrono::steady_clock::now();
  operation();
  const Seconds took = std::chrono::steady_clock::now() - begin;
  BOOST_TEST_MESSAGE(name << " took " << took.count() << " s");
  BOOST_TEST(took.count() < kSoon.count(), name << " took " << took.count() << " s");
}

/// Everything that another user may do meanwhile.
void use_mount(const SharedMount& shared) {
  const Mount& mount = *shared.mount;
  for (int i = 1; i <= kRounds; i++) {
    const std::string cold = "good" + std::to_string(i);
    struct stat st {};
    ends_soon("stat", [&] { BOOST_TEST(stat((mount / cold).c_str(), &st) == 0); });
    ends_soon("ls", [&] { BOOST_TEST(run({"ls", "-l", mount.path().string()}).ok()); });
    ends_soon("cached read", [&] { BOOST_TEST(read_file(mount / "good0") == shared.contents); });
    ends_soon("cold read", [&] { BOOST_TEST(read_file(mount / cold) == shared.contents); });
    ends_soon("write", [&] {
      const std::string copy = "of=" + (mount / ("new" + std::to_string(i))).string();
      BOOST_TEST(
          run({"dd", "if=" + (mount / "good0").string(), copy, "bs=256K", "conv=fsync"}).ok());
    });
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(turns)

BOOST_FIXTURE_TEST_CASE(dear_reads_of_one_user_keep_no_other_waiting, SharedMount,
                        *precondition(needs_fuse_unsanitized) * precondition(needs_fuse_as_root)) {
  BOOST_TEST(read_file(*mount / "good0") == contents);
  std::vector<Child> readers = begin_dear_reads("direct");
  use_mount(*this);
  for (int i = 0; i < kReaders; i++) {
    BOOST_TEST(readers[static_cast<std::size_t>(i)].wait(Seconds(200)));
    BOOST_TEST(log_of(i).find("File too large") != std::string::npos, log_of(i));
  }
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
  fs_std::permissions(*mount / "dear.npy", fs_std::perms(0666));
  std::vector<Child> readers = begin_dear_reads("direct");
  ProcessSettings settings;
  settings.uid = kStranger;
  Child writer({"dd", "if=/dev/zero", "of=" + (*mount / "dear.npy").string(), "bs=4096", "count=1",
                "seek=9", "conv=notrunc"},
               (logs / "writer").string(), settings);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  for (int i = 0; i < kRounds; i++)
    ends_soon("ls", [&] { BOOST_TEST(run({"ls", "-l", mount->path().string()}).ok()); });
  for (const Child& reader : readers) reader.signal(SIGKILL);
  mount->signal(SIGKILL);  // else it would commit what was written, for minutes
  BOOST_TEST(mount->wait(Seconds(10)));
}

BOOST_FIXTURE_TEST_CASE(readers_that_wait_for_their_turns_can_be_killed, SharedMount,
                        *precondition(needs_fuse_unsanitized) * precondition(needs_fuse_as_root)) {
  std::vector<Child> readers = begin_dear_reads("direct");
  ends_soon("kill", [&] {
    for (const Child& reader : readers) reader.signal(SIGKILL);
    for (Child& reader : readers) BOOST_TEST(reader.wait(Seconds(100)));
  });
  ends_soon("unmount", [&] { BOOST_TEST(mount->unmount().ok()); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
