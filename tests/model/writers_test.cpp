// Several writers at once. Each works on its own files, and all of them append to one file.

#include <cstring>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>

#include "tests/model/sequence.hpp"
#include "tests/model/stored_frames.hpp"
#include "tests/support/needs.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr std::uint64_t kWriters = 4;
/// Operations of one writer between two unmounts.
constexpr std::uint64_t kRound = 250;

/// One write appends it, so it must stay in one piece.
struct Record {
  std::uint32_t writer, number;
  std::uint8_t filling[248];
};

Record record(std::uint64_t writer, std::uint64_t number) {
  Record made{static_cast<std::uint32_t>(writer), static_cast<std::uint32_t>(number), {}};
  std::memset(made.filling, static_cast<int>(writer * 31 + number), sizeof made.filling);
  return made;
}

/// Checks that all records are complete, and that those of each writer are in order. Returns the
/// problem, or an empty string.
std::string problem_in_records(const ByteVector& bytes, std::uint64_t each) {
  if (bytes.size() != kWriters * each * sizeof(Record))
    return std::to_string(bytes.size()) + " bytes";
  std::uint64_t next[kWriters] = {};
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Record)) {
    Record found;
    std::memcpy(&found, bytes.data() + at, sizeof found);
    if (found.writer >= kWriters) return "torn record at " + std::to_string(at);
    const Record expected = record(found.writer, next[found.writer]++);
    if (std::memcmp(&found, &expected, sizeof found) != 0)
      return "wrong record at " + std::to_string(at);
  }
  return {};
}

void append_record(const fs_std::path& path, const Record& made) {
  const Fd fd(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  if (!fd || write(fd.get(), &made, sizeof made) != static_cast<ssize_t>(sizeof made))
    throw_errno("append");
}

/// One of several writers that use a mount at the same time. Each has its own directory.
class Writer {
 public:
  Writer(std::uint64_t number, const fs_std::path& model, const fs_std::path& mount)
      : number_(number),
        mount_(mount),
        name_("w" + std::to_string(number)),
        lockstep_(model / name_, mount / name_, model / name_) {}

  void run(const Variant& variant, std::uint64_t seed, std::uint64_t count) {
    constexpr std::uint64_t kPart = 10;
    try {
      for (std::uint64_t done = 0; done < count; done += kPart) {
        run_operations(lockstep_, variant, seed * kWriters + number_ + 1'000'003 * done, kPart);
        append_record(mount_ / "records", record(number_, appended_++));
      }
      lockstep_.compare_trees();
    } catch (const std::exception& error) {
      problem_ = name_ + ": " + error.what();
    }
    lockstep_.close_all();
  }

  Lockstep& lockstep() { return lockstep_; }
  std::uint64_t appended() const { return appended_; }
  const std::string& problem() const { return problem_; }
  const std::string& name() const { return name_; }

 private:
  const std::uint64_t number_;
  const fs_std::path mount_;
  const std::string name_;
  Lockstep lockstep_;
  std::uint64_t appended_ = 0;
  std::string problem_;
};

Counts run_writers(const Variant& variant, std::uint64_t seed, std::uint64_t count) {
  const TempDir source, model;
  MountSettings settings;
  settings.options = mount_options(seed);
  auto mount = std::make_unique<Mount>(source.path(), settings);
  std::vector<std::unique_ptr<Writer>> writers;
  for (std::uint64_t i = 0; i < kWriters; ++i) {
    writers.push_back(std::make_unique<Writer>(i, model.path(), mount->path()));
    for (const auto& side : {model.path(), mount->path()})
      fs_std::create_directory(side / writers.back()->name());
  }
  std::vector<std::jthread> threads;
  for (auto& writer : writers)
    threads.emplace_back([&] { writer->run(variant, seed, count / kWriters); });
  for (auto& thread : threads) thread.join();
  Counts counts;
  for (auto& writer : writers) {
    BOOST_REQUIRE_MESSAGE(writer->problem().empty(), "seed " << seed << ": " << writer->problem());
    add_counts(counts, writer->lockstep().counts());
  }
  BOOST_TEST_INFO_SCOPE("seed " << seed);
  const std::uint64_t each = writers[0]->appended();
  BOOST_TEST(problem_in_records(read_file(*mount / "records"), each) == "");
  fs_std::copy_file(*mount / "records", model / "records");
  const auto result = mount->unmount();
  BOOST_TEST(result.ok(), result.description());
  const std::string problem = problem_in_source(source.path(), model.path());
  BOOST_TEST(problem.empty(), "seed " << seed << ": " << problem);
  mount = std::make_unique<Mount>(source.path(), settings);
  BOOST_TEST(problem_in_records(read_file(*mount / "records"), each) == "");
  return counts;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(model)

BOOST_AUTO_TEST_CASE(writers_do_not_disturb_each_other, *precondition(needs_fuse)) {
  const RunSize size = run_size();
  const Variant variant = tree_with_npy_names();
  Counts counts;
  std::uint64_t seed = size.seed;
  for (std::uint64_t done = 0; done < size.operations; done += kWriters * kRound, ++seed)
    add_counts(counts,
               run_writers(variant, seed, std::min(kWriters * kRound, size.operations - done)));
  print_counts("writers", counts);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
