// After the daemon is killed, everything that fsync acknowledged is there, and nothing incomplete
// is.
//
// BLOSCFS_DURABILITY_ROUNDS sets how often the daemon is killed.

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "tests/peer/frame_request.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/manifest.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/pause.hpp"
#include "tests/support/peer.hpp"
#include "tests/support/sanitizers.hpp"
#include "tests/support/source_dir.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr int kRounds = kSanitized ? 2 : 20;
constexpr int kAcknowledged = 50;  ///< minimum in each round
constexpr std::size_t kBlock = 4096;
constexpr std::uint64_t kBlocks = 128;

int rounds() {
  const char* text = std::getenv("BLOSCFS_DURABILITY_ROUNDS");
  return text == nullptr ? kRounds : std::stoi(text);
}

/// Returns the block for write number `number`. Number 0 is a block that was never written.
ByteVector block(std::uint64_t number) {
  return number == 0 ? ByteVector(kBlock) : make_contents("noise", number, kBlock, 1);
}

/// Numbers of the writes that a block may hold: the last acknowledged one and all later ones.
using Candidates = std::vector<std::uint64_t>;

std::uint64_t number_of(const ByteVector& bytes, const Candidates& candidates) {
  for (const std::uint64_t number : candidates)
    if (block(number) == bytes) return number;
  throw std::runtime_error("neither the acknowledged bytes nor later ones, of " +
                           std::to_string(candidates.size()) + " that may be there");
}

/// Rewrites random blocks of one file, and calls fsync from time to time.
class BlockWriter {
 public:
  explicit BlockWriter(std::string name) : name_(std::move(name)), blocks_(kBlocks, {0}) {}

  /// Works until a call fails.
  void work(const fs_std::path& mount, std::uint64_t seed, std::atomic<int>& acknowledged) {
    std::mt19937_64 random(seed);
    const Fd fd(open((mount / name_).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!fd) return;
    for (;;) {
      for (std::uint64_t i = random() % 5; i <= 5; ++i)
        if (!write_one(fd.get(), random() % kBlocks)) return;
      if (fsync(fd.get()) != 0) return;
      for (auto& candidates : blocks_) candidates = {candidates.back()};
      ++acknowledged;
    }
  }

  /// Checks that each block holds one of its candidates, which becomes the only candidate from then
  /// on.
  void check(const fs_std::path& mount) {
    ByteVector all = read_file(mount / name_);
    BOOST_TEST(all.size() <= kBlocks * kBlock);
    all.resize(kBlocks * kBlock);
    for (std::size_t i = 0; i < kBlocks; ++i) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i * kBlock);
      try {
        blocks_[i] = {number_of(ByteVector(begin, begin + kBlock), blocks_[i])};
      } catch (const std::runtime_error& error) {
        BOOST_ERROR(name_ << ", block " << i << ": " << error.what());
      }
    }
  }

 private:
  bool write_one(int fd, std::uint64_t at) {
    const std::uint64_t number = ++last_number_;
    blocks_[at].push_back(number);
    const ByteVector bytes = block(number);
    return pwrite(fd, bytes.data(), kBlock, static_cast<off_t>(at * kBlock)) ==
           static_cast<ssize_t>(kBlock);
  }

  const std::string name_;
  std::vector<Candidates> blocks_;
  std::uint64_t last_number_ = 0;
};

/// Makes new files and renames them over old ones. A rename is durable once the directory is
/// synced.
class FileMaker {
 public:
  void work(const fs_std::path& mount, std::uint64_t seed, std::atomic<int>& acknowledged) {
    std::mt19937_64 random(seed);
    const fs_std::path home = mount / "made";
    const Fd directory(open(home.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory) return;
    for (;;) {
      const std::string name = "file" + std::to_string(random() % 6) + (random() % 2 ? ".npy" : "");
      const std::uint64_t number = ++last_number_;
      unsure_.insert(name);
      if (!replace(home, name, contents(number)) || fsync(directory.get()) != 0) return;
      files_[name] = number;
      unsure_.erase(name);
      ++acknowledged;
    }
  }

  void check(const fs_std::path& mount) {
    for (const auto& [name, number] : files_) {
      if (unsure_.count(name) != 0) continue;
      const fs_std::path path = mount / "made" / name;
      BOOST_TEST(fs_std::exists(path), name << " is lost");
      if (fs_std::exists(path)) BOOST_CHECK_MESSAGE(read_file(path) == contents(number), name);
    }
    for (const std::string& name : unsure_) check_unsure(mount / "made" / name);
    unsure_.clear();
  }

 private:
  /// Returns an NPY file for odd numbers, plain bytes for even ones.
  static ByteVector contents(std::uint64_t number) {
    const auto rows = static_cast<std::int64_t>(1 + number % 2000);
    const ByteVector items = make_contents("floats", number, static_cast<std::size_t>(rows) * 8, 8);
    if (number % 2 == 0) return items;
    ByteVector file = bytes_of(npy_header("<f8", {rows}));
    file.insert(file.end(), items.begin(), items.end());
    return file;
  }

  static bool replace(const fs_std::path& home, const std::string& name, const ByteVector& bytes) {
    const fs_std::path fresh = home / "fresh";
    const Fd fd(open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    return fd && write(fd.get(), bytes.data(), bytes.size()) == std::ssize(bytes) &&
           fsync(fd.get()) == 0 && rename(fresh.c_str(), (home / name).c_str()) == 0;
  }

  /// Checks a file whose last rename was not acknowledged: it must be the new one or the previous
  /// one.
  void check_unsure(const fs_std::path& path) {
    const std::string name = path.filename().string();
    const bool was_there = files_.count(name) != 0;
    BOOST_TEST((fs_std::exists(path) || !was_there), name << " is lost");
    if (!fs_std::exists(path)) return;
    const ByteVector found = read_file(path);
    const bool is_old = was_there && found == contents(files_[name]);
    BOOST_TEST((is_old || found == contents(last_number_)), name << " is neither old nor new");
    if (!is_old) files_[name] = last_number_;
  }

  std::map<std::string, std::uint64_t> files_;
  std::set<std::string> unsure_;
  std::uint64_t last_number_ = 0;
};

/// Returns the paths below SOURCE for which `chosen` is true.
template <typename Chosen>
Arguments paths_below(const fs_std::path& source, Chosen chosen) {
  Arguments paths;
  for (const auto& entry : fs_std::recursive_directory_iterator(source))
    if (chosen(entry.path())) paths.push_back(entry.path().string());
  return paths;
}

bool is_temporary(const fs_std::path& path) {
  return path.filename().string().starts_with(".bloscfs-");
}

bool is_container(const fs_std::path& path) {
  const auto suffix = path.extension();
  return (suffix == ".b2frame" || suffix == ".b2nd") && path.filename() != "chunks.b2frame";
}

void verify_all(const fs_std::path& source) {
  Arguments command = paths_below(source, is_container);
  BOOST_REQUIRE(!command.empty());
  command.insert(command.begin(), {b2frame_program(), "verify"});
  const auto result = run(command);
  BOOST_TEST(result.ok(), result.description());
}

/// Writers at work in a mount whose daemon is killed at random moments.
class Siege {
 public:
  Siege() {
    fs_std::create_directory(source_ / "made");
    const ByteVector zeros(kBlocks * kBlock);
    write_file(source_ / "contiguous.b2frame", flat_frame(zeros));
    write_sparse_frame(source_ / "sparse.b2frame", zeros);
  }

  void round(std::uint64_t seed) {
    std::atomic<int> acknowledged = 0;
    {
      Mount mount(source_.path());
      std::vector<std::jthread> threads;
      for (auto& writer : writers_)
        threads.emplace_back([&, number = threads.size()] {
          writer.work(mount.path(), seed + number, acknowledged);
        });
      threads.emplace_back([&] { maker_.work(mount.path(), seed, acknowledged); });
      const bool enough = wait_for(acknowledged);
      std::mt19937_64 random(seed);
      pause_at_random(random, std::chrono::milliseconds(200));
      mount.signal(SIGKILL);
      for (auto& thread : threads) thread.join();
      BOOST_REQUIRE_MESSAGE(enough, "only " << acknowledged << " were acknowledged");
    }
    acknowledged_ += acknowledged;
    verify_all(source_.path());
    Mount mount(source_.path());
    for (auto& writer : writers_) writer.check(mount.path());
    maker_.check(mount.path());
    // The mount removes a directory's leftovers when the directory is first listed.
    paths_below(mount.path(), is_temporary);
    const auto result = mount.unmount();
    BOOST_TEST(result.ok(), result.description());
    for (const auto& path : paths_below(source_.path(), is_temporary))
      BOOST_ERROR("left behind: " << path);
    verify_all(source_.path());
  }

  int acknowledged() const { return acknowledged_; }

 private:
  static bool wait_for(const std::atomic<int>& acknowledged) {
    return comes_true([&] { return acknowledged >= kAcknowledged; });
  }

  SourceDir source_;
  BlockWriter writers_[3] = {BlockWriter("contiguous"), BlockWriter("sparse"), BlockWriter("new")};
  FileMaker maker_;
  int acknowledged_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(durability)

BOOST_AUTO_TEST_CASE(nothing_acknowledged_is_lost_when_the_daemon_is_killed,
                     *precondition(needs_fuse)) {
  const std::uint64_t seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  Siege siege;
  for (int i = 0; i < rounds(); ++i) BOOST_TEST_CONTEXT("seed " << seed << ", round " << i)
  siege.round(seed + static_cast<std::uint64_t>(i));
  BOOST_TEST_MESSAGE(siege.acknowledged() << " acknowledged in " << rounds() << " rounds");
}

BOOST_AUTO_TEST_CASE(closed_file_is_committed_without_being_asked, *precondition(needs_fuse)) {
  const SourceDir source;
  const ByteVector bytes = make_contents("text", 3, 300000, 1);
  DaemonTime time;
  Mount mount(source.path(), time.of());
  write_file(mount / "a", bytes);
  BOOST_TEST(mount.counter("dirty_bytes") > 0u);
  BOOST_TEST(comes_true([&] {
    time.move(std::chrono::seconds(1));
    return mount.counter("dirty_bytes") == 0;
  }));
  mount.signal(SIGKILL);
  BOOST_TEST(mount.wait(Seconds(10)));
  Mount again(source.path());
  BOOST_CHECK(read_file(again / "a") == bytes);
}

BOOST_AUTO_TEST_CASE(saved_array_is_one_for_the_peer,
                     *precondition(needs_numpy) * precondition(needs_fuse_and_peer)) {
  const SourceDir source;
  const TempDir out;
  {
    Mount mount(source.path());
    const std::string script =
        "import numpy, sys; numpy.save(sys.argv[1], "
        "numpy.arange(60000, dtype='<f8').reshape(200, 300) / 7)";
    const auto saved = run({numpy_python(), "-c", script, (mount / "t.npy").string()});
    BOOST_REQUIRE_MESSAGE(saved.ok(), saved.description());
    BOOST_TEST(mount.unmount().ok());
  }
  BOOST_TEST(fs_std::exists(source / "t.b2nd"));
  FrameRequest request;
  request.path = source / "t.b2nd";
  request.array = true;
  request.nbytes = 60000 * 8;
  request.actions = {{"read", out / "items", "", 0, 0}};
  const auto result = run_frame_editor(request);
  BOOST_REQUIRE_MESSAGE(result.ok(), result.description());
  ByteVector expected(60000 * 8);
  for (std::size_t i = 0; i < 60000; ++i) {
    const double value = static_cast<double>(i) / 7;
    std::memcpy(expected.data() + 8 * i, &value, sizeof value);
  }
  BOOST_CHECK(read_file(out / "items") == expected);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
