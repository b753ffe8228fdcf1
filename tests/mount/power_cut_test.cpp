// Random work in a mount with files, directories and hard links. The test records everything that
// the daemon does to its store. Then it simulates power cuts that lose random parts of that. Each
// resulting tree must be a committed one, and no older than what was acknowledged.
//
// BLOSCFS_POWER_CUT_SEED repeats a run.

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <unistd.h>

#include "tests/frame/volatile_disk.hpp"
#include "tests/mount/allowed_trees.hpp"
#include "tests/mount/store_recording.hpp"
#include "tests/mount/tree_history.hpp"
#include "tests/mount/tree_worker.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/sanitizers.hpp"
#include "tests/support/source_dir.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;
using frame::test::VolatileDisk;

constexpr int kRecordings = 3;
/// With this seed, a file is replaced shortly after another name of it was removed.
constexpr std::uint64_t kSeedOfRemovedLink = 3115007740;
constexpr int kOperations = 500;  ///< in each round
constexpr std::size_t kStates = (kSanitized ? 2000 : 21000) / kRecordings;

/// Lists the last steps before a cut, for the message of a failure.
std::string last_steps(const std::vector<RecordedStep>& steps, std::size_t done) {
  static const char* const kinds[] = {
      "write",  "truncate", "punch",  "sync_file",      "attributes",     "create",  "link",
      "rename", "exchange", "unlink", "make_directory", "sync_directory", "sync_all"};
  constexpr std::size_t kTold = 20;
  std::ostringstream told;
  for (std::size_t i = done > kTold ? done - kTold : 0; i < done; ++i) {
    const auto& step = steps[i].operation;
    told << "\n  " << kinds[static_cast<std::size_t>(step.kind)] << " node " << step.node << " "
         << step.name << (step.to.empty() ? "" : " to ") << step.to << " in " << step.to_node
         << ", object " << step.target << ", " << step.offset << "+" << step.bytes.size();
  }
  return told.str();
}

/// Checks all cuts of a recording. Returns how many states it has checked.
std::size_t check_cuts(const StoreRecording& recording, const TreeHistory& history,
                       std::uint32_t seed) {
  const auto steps = recording.steps();
  const std::size_t losses = kStates / steps.size() + 1;
  std::mt19937 random(seed);
  TreeReader reader;
  VolatileDisk disk(recording.before());
  std::size_t states = 0;
  for (std::size_t done = 0; done <= steps.size(); ++done) {
    if (done > 0) disk.perform(steps[done - 1].operation);
    const AllowedTrees allowed(history, done == 0 ? 0 : steps[done - 1].end);
    for (std::size_t loss = 0; loss <= losses; ++loss, ++states) {
      std::string problem;
      try {
        problem = allowed.problem_in(reader.read(disk.after_cut(loss == 0 ? nullptr : &random)));
      } catch (const std::exception& error) {
        problem = error.what();
      }
      BOOST_REQUIRE_MESSAGE(problem.empty(),
                            "cut after step " << done << " of " << steps.size() << ", loss " << loss
                                              << ": " << problem << last_steps(steps, done));
    }
  }
  return states;
}

std::vector<std::uint64_t> directories_made(const std::vector<RecordedStep>& steps) {
  std::vector<std::uint64_t> nodes;
  for (const RecordedStep& step : steps)
    if (step.operation.kind == frame::test::StoreOperation::Kind::make_directory)
      nodes.push_back(step.operation.target);
  return nodes;
}

/// Checks that the recording is complete: its operations must lead to what is in SOURCE.
void check_completeness(const StoreRecording& recording, const fs_std::path& source) {
  VolatileDisk disk(recording.before());
  for (const RecordedStep& step : recording.steps()) disk.perform(step.operation);
  const auto now = StoreRecording(source).before().clone();
  TreeReader reader;
  BOOST_CHECK(by_path(reader.read(disk.after_cut(nullptr))) == by_path(reader.read(now)));
}

std::size_t run_round(std::uint64_t seed, bool waits) {
  const SourceDir source;
  const ByteVector first = make_contents("text", seed, 30000, 1);
  write_sparse_frame(source / "s.b2frame", first, {8192, 2048, 1, {}, {}});
  const StoreRecording recording(source.path());
  TreeHistory history;
  MountSettings settings;
  settings.environment = recording.environment();
  // A small limit, so that new files are staged. The files that a sandbox makes would be recorded
  // too.
  settings.options = {"cache_size=8M", "dirty_limit=1M", "sandbox=off"};
  Mount mount(source.path(), settings);
  TreeWorker worker(mount.path(), recording, history, seed);
  worker.adopt_sparse("s", first);
  worker.work(kOperations / 2);
  if (waits) comes_true([&] { return mount.counter("dirty_bytes") == 0; });
  worker.work(kOperations / 2);
  const auto result = mount.unmount();
  BOOST_REQUIRE_MESSAGE(result.ok(), result.description());
  check_completeness(recording, source.path());
  history.set_nodes(directories_made(recording.steps()));
  return check_cuts(recording, history, static_cast<std::uint32_t>(seed));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(power_cuts_of_a_mount)

BOOST_AUTO_TEST_CASE(leave_committed_states_that_are_new_enough,
                     *precondition(needs_fuse) * precondition(kNeedsExchange)) {
  const char* given = std::getenv("BLOSCFS_POWER_CUT_SEED");
  const std::uint64_t seed = given == nullptr ? std::random_device{}() : std::stoull(given);
  std::size_t states = 0;
  for (std::uint64_t round = 0; round < kRecordings; ++round)
    BOOST_TEST_CONTEXT("seed " << seed + round) states += run_round(seed + round, round == 0);
  BOOST_TEST_CONTEXT("seed " << kSeedOfRemovedLink) run_round(kSeedOfRemovedLink, false);
  BOOST_TEST_MESSAGE(states << " states from seed " << seed);
  BOOST_TEST(states >= kStates * kRecordings);
}

// A file that becomes an array changes its name from y.npy.b2frame to y.b2nd, without a flush. If
// an exchange then gives y.b2nd to another file, a power cut that keeps the exchange alone would
// show two files for y.npy.
BOOST_AUTO_TEST_CASE(exchange_does_not_bring_a_name_back,
                     *precondition(needs_fuse) * precondition(kNeedsExchange)) {
  const SourceDir source;
  fs_std::create_directory(source / "one");
  fs_std::create_directory(source / "two");
  const StoreRecording recording(source.path());
  MountSettings settings;
  settings.environment = recording.environment();
  settings.options = {"sandbox=off"};
  Mount mount(source.path(), settings);
  const fs_std::path one = mount / "one/x.npy", two = mount / "two/y.npy";
  const auto write_and_sync = [](const fs_std::path& path, const ByteVector& contents) {
    write_file(path, contents);
    const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    BOOST_REQUIRE(fsync(file.get()) == 0);
  };
  const auto array = [](std::int64_t rows) {
    ByteVector file = bytes_of(npy_header("<f8", {rows}));
    file.resize(file.size() + static_cast<std::size_t>(rows) * 8);
    return file;
  };
  write_and_sync(two, make_contents("text", 1, 3000, 1));
  write_and_sync(one, array(10));
  write_and_sync(two, array(20));
  const std::size_t before = recording.steps().size();
  BOOST_REQUIRE(renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, two.c_str(), RENAME_EXCHANGE) == 0);
  const auto result = mount.unmount();
  BOOST_REQUIRE_MESSAGE(result.ok(), result.description());

  std::mt19937 random(1);
  TreeReader reader;
  VolatileDisk disk(recording.before());
  const auto steps = recording.steps();
  BOOST_REQUIRE(steps.size() > before);
  for (std::size_t done = 0; done < steps.size(); ++done) {
    disk.perform(steps[done].operation);
    for (int loss = 0; done >= before && loss < 100; ++loss) {
      const auto tree = by_path(reader.read(disk.after_cut(&random)));
      std::string shown;
      for (const auto& [path, contents] : tree) shown += path + " ";
      BOOST_REQUIRE_EQUAL(shown, "one/ one/x.npy two/ two/y.npy ");
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
