// Random work in a mount, of which everything that the daemon did to its store is known: whatever
// part of that a power cut leaves, the tree is one that was committed, and not older than what was
// acknowledged.
//
// BLOSCFS_POWER_CUT_SEED repeats a run.

#include <cerrno>
#include <cstdlib>
#include <sstream>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/frame/volatile_disk.hpp"
#include "tests/mount/store_recording.hpp"
#include "tests/mount/tree_history.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/draw.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/sanitizers.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;
using frame::test::VolatileDisk;

constexpr int kRecordings = 3;
constexpr int kOperations = 300;  ///< in a round
constexpr std::size_t kStates = (kSanitized ? 2000 : 21000) / kRecordings;
constexpr int kLargest = 40000;
/// Closed files are committed by themselves after this time.
constexpr unsigned kGroupSeconds = 5;

/// Does the same to a mount and to its history.
class Worker {
 public:
  Worker(const fs_std::path& mount, const StoreRecording& recording, TreeHistory& history,
         std::uint64_t seed)
      : mount_(mount), recording_(recording), history_(history), random_(seed) {}

  /// The sparse frame that SOURCE had from the start.
  void adopt_sparse(const std::string& path, const ByteVector& contents) {
    sparse_ = history_.add(contents, 0);
    contents_[sparse_] = contents;
    history_.name({{path, sparse_}}, 0);
    history_.file_is_durable(sparse_, 0);
    history_.directory_is_durable({}, 0);
  }

  void work(int operations) {
    using Step = void (Worker::*)();
    static const std::vector<Step> steps = {
        &Worker::create,    &Worker::create,        &Worker::overwrite, &Worker::overwrite,
        &Worker::append,    &Worker::resize,        &Worker::punch,     &Worker::sync_file,
        &Worker::sync_file, &Worker::rename,        &Worker::rename,    &Worker::exchange,
        &Worker::unlink,    &Worker::sync_directory};
    for (int i = 0; i < operations; ++i) (this->*pick(random_, steps))();
  }

 private:
  using File = TreeHistory::File;

  std::string any_path() {
    static const std::vector<std::string> names = {"a", "b", "c", "s", "x.npy", "y.npy"};
    return (one_in(random_, 3) ? "d/" : "") + pick(random_, names);
  }
  ByteVector some_bytes(int largest) {
    const auto size = static_cast<std::size_t>(between(random_, 1, largest));
    return make_contents(one_in(random_, 2) ? "noise" : "text", random_(), size, 1);
  }
  /// Every other one is a file that numpy.save would write.
  ByteVector first_contents() {
    if (one_in(random_, 2)) return some_bytes(kLargest);
    const std::int64_t rows = between(random_, 1, kLargest / 8);
    ByteVector file = bytes_of(npy_header("<f8", {rows}));
    const auto items = make_contents("floats", random_(), static_cast<std::size_t>(rows) * 8, 8);
    file.insert(file.end(), items.begin(), items.end());
    return file;
  }

  void create() {
    const std::string path = any_path();
    if (history_.file_at(path) != TreeHistory::kNone) return;
    const auto began = recording_.size();
    const Fd fd(open((mount_ / path).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!fd) throw_errno("create " + path);
    const File file = history_.add({}, began);
    history_.name({{path, file}}, began);
    write(fd, file, 0, first_contents());
    if (one_in(random_, 3)) sync(fd, file);
  }

  void overwrite() {
    change([&](const Fd& fd, File file, std::size_t size) {
      const auto offset = static_cast<std::size_t>(between(random_, 0, static_cast<int>(size)));
      write(fd, file, offset, some_bytes(3000));
    });
  }
  void append() {
    change([&](const Fd& fd, File file, std::size_t size) {
      write(fd, file, size, some_bytes(8000));
    });
  }
  void resize() {
    change([&](const Fd& fd, File file, std::size_t) {
      const int size = between(random_, 0, kLargest);
      const auto began = recording_.size();
      if (ftruncate(fd.get(), size) != 0) throw_errno("ftruncate");
      contents_[file].resize(static_cast<std::size_t>(size));
      history_.write(file, contents_[file], began);
    });
  }
  void punch() {
    change([&](const Fd& fd, File file, std::size_t size) {
      const int offset = between(random_, 0, static_cast<int>(size));
      const int length = between(random_, 1, kLargest);
      const auto began = recording_.size();
      if (fallocate(fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length) != 0)
        throw_errno("punch");
      ByteVector& bytes = contents_[file];
      const auto end = std::min(size, static_cast<std::size_t>(offset + length));
      std::fill(bytes.begin() + offset, bytes.begin() + static_cast<std::ptrdiff_t>(end),
                std::uint8_t{0});
      history_.write(file, bytes, began);
    });
  }
  void sync_file() {
    change([&](const Fd& fd, File file, std::size_t) { sync(fd, file); });
  }

  template <typename Act>
  void change(Act act) {
    const std::string path = any_path();
    const File file = history_.file_at(path);
    if (file == TreeHistory::kNone) return;
    const Fd fd(open((mount_ / path).c_str(), O_RDWR | O_CLOEXEC));
    if (!fd) throw_errno("open " + path);
    act(fd, file, contents_[file].size());
  }

  void write(const Fd& fd, File file, std::size_t offset, const ByteVector& bytes) {
    const auto began = recording_.size();
    if (pwrite(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)) !=
        std::ssize(bytes))
      throw_errno("pwrite");
    ByteVector& contents = contents_[file];
    contents.resize(std::max(contents.size(), offset + bytes.size()));
    std::copy(bytes.begin(), bytes.end(), contents.begin() + static_cast<std::ptrdiff_t>(offset));
    history_.write(file, contents, began);
  }

  void sync(const Fd& fd, File file) {
    if (fsync(fd.get()) != 0) throw_errno("fsync");
    history_.file_is_durable(file, recording_.size());
  }

  void rename() {
    const std::string from = any_path(), to = any_path();
    const File file = history_.file_at(from);
    if (file == TreeHistory::kNone || from == to) return;
    const File replaced = history_.file_at(to);
    // A file and a directory cannot replace each other: they change places, and then one goes.
    const bool in_two_steps =
        replaced != TreeHistory::kNone && (file == sparse_ || replaced == sparse_);
    if (in_two_steps && (from.ends_with(".npy") || to.ends_with(".npy"))) return;
    if (in_two_steps) sync_directory(directory_of(to));
    const auto began = recording_.size();
    if (::rename((mount_ / from).c_str(), (mount_ / to).c_str()) != 0)
      throw_errno("rename " + from + " to " + to);
    history_.name({{from, in_two_steps ? replaced : TreeHistory::kNone}, {to, file}}, began);
    if (in_two_steps) history_.name({{from, TreeHistory::kNone}}, began);
  }
  void exchange() {
    const std::string one = any_path(), other = any_path();
    const File first = history_.file_at(one), second = history_.file_at(other);
    if (first == TreeHistory::kNone || second == TreeHistory::kNone || first == second) return;
    const auto began = recording_.size();
    if (renameat2(AT_FDCWD, (mount_ / one).c_str(), AT_FDCWD, (mount_ / other).c_str(),
                  RENAME_EXCHANGE) != 0)
      throw_errno("exchange " + one + " and " + other);
    history_.name({{one, second}, {other, first}}, began);
  }
  void unlink() {
    const std::string path = any_path();
    if (history_.file_at(path) == TreeHistory::kNone || one_in(random_, 2)) return;
    const auto began = recording_.size();
    if (::unlink((mount_ / path).c_str()) != 0) throw_errno("unlink " + path);
    history_.name({{path, TreeHistory::kNone}}, began);
  }
  void sync_directory() { sync_directory(one_in(random_, 2) ? "d/" : ""); }
  void sync_directory(const std::string& directory) {
    const Fd fd(open((mount_ / directory).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd || fsync(fd.get()) != 0) throw_errno("fsync of a directory");
    history_.directory_is_durable(directory, recording_.size());
  }

  const fs_std::path mount_;
  const StoreRecording& recording_;
  TreeHistory& history_;
  Random random_;
  std::map<File, ByteVector> contents_;
  File sparse_ = 0;
};

/// The last steps before a cut, for a failure's message.
std::string last_steps(const std::vector<RecordedStep>& steps, std::size_t done) {
  static const char* const kinds[] = {"write",      "truncate",       "punch",          "sync_file",
                                      "attributes", "create",         "rename",         "exchange",
                                      "unlink",     "make_directory", "sync_directory", "sync_all"};
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

/// All cuts of a recording; returns how many states were looked at.
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
    const std::size_t time = done == 0 ? 0 : steps[done - 1].end;
    for (std::size_t loss = 0; loss <= losses; ++loss, ++states) {
      std::string problem;
      try {
        problem =
            history.problem_in(reader.read(disk.after_cut(loss == 0 ? nullptr : &random)), time);
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

/// Nothing was left out of the recording: it leads to what is in SOURCE.
void check_completeness(const StoreRecording& recording, const fs_std::path& source) {
  VolatileDisk disk(recording.before());
  for (const RecordedStep& step : recording.steps()) disk.perform(step.operation);
  const auto now = StoreRecording(source).before().clone();
  TreeReader reader;
  BOOST_CHECK(reader.read(disk.after_cut(nullptr)) == reader.read(now));
}

std::size_t run_round(std::uint64_t seed, bool waits) {
  const TempDir source;
  const ByteVector first = make_contents("text", seed, 30000, 1);
  fs_std::create_directory(source / "d");
  write_sparse_frame(source / "s.b2frame", first, {8192, 2048, 1, {}, {}});
  const StoreRecording recording(source.path());
  TreeHistory history;
  MountSettings settings;
  settings.environment = recording.environment();
  Mount mount(source.path(), settings);
  Worker worker(mount.path(), recording, history, seed);
  worker.adopt_sparse("s", first);
  worker.work(kOperations / 2);
  if (waits) sleep(kGroupSeconds);
  worker.work(kOperations / 2);
  const auto result = mount.unmount();
  BOOST_REQUIRE_MESSAGE(result.ok(), result.description());
  check_completeness(recording, source.path());
  return check_cuts(recording, history, static_cast<std::uint32_t>(seed));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(power_cuts_of_a_mount)

BOOST_AUTO_TEST_CASE(leave_committed_states_that_are_new_enough, *precondition(needs_fuse)) {
  const char* given = std::getenv("BLOSCFS_POWER_CUT_SEED");
  const std::uint64_t seed = given == nullptr ? std::random_device{}() : std::stoull(given);
  std::size_t states = 0;
  for (std::uint64_t round = 0; round < kRecordings; ++round)
    BOOST_TEST_CONTEXT("seed " << seed + round) states += run_round(seed + round, round == 0);
  BOOST_TEST_MESSAGE(states << " states from seed " << seed);
  BOOST_TEST(states >= kStates * kRecordings);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
