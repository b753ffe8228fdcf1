// Reading costs only as much as the bytes that are read.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/proc.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr std::size_t kPage = 4096;
constexpr std::size_t kBodies = 1000;
// Bytes that the daemon reads from other places than SOURCE: requests of the kernel, and /proc at
// the start.
constexpr std::uint64_t kOtherReads = 256 << 10;

struct AlignedPage {
  AlignedPage() : bytes(static_cast<std::uint8_t*>(std::aligned_alloc(kPage, kPage)), &std::free) {}
  ByteVector read(const Fd& fd, std::int64_t offset) const {
    const ssize_t got = pread(fd.get(), bytes.get(), kPage, offset);
    if (got < 0) throw_errno("pread");
    return {bytes.get(), bytes.get() + got};
  }
  std::unique_ptr<std::uint8_t, decltype(&std::free)> bytes;
};

Fd open_direct(const fs_std::path& path) {
  Fd fd(open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
  if (!fd) throw_errno("open");
  return fd;
}

/// A frame of many chunks, of which only a few differ: its index refers to them repeatedly.
class RepeatingFrame {
 public:
  RepeatingFrame(std::size_t chunksize, std::size_t blocksize, std::size_t bodies) {
    plan_.chunksize = chunksize;
    plan_.blocksize = blocksize;
    for (std::size_t i = 0; i < bodies; ++i) {
      contents_.push_back(make_contents("text", i + 1, chunksize, 1));
      chunks_.push_back(encode_chunk(contents_.back(), 1, blocksize));
      starts_.push_back(static_cast<std::int64_t>(area_.size()));
      area_.insert(area_.end(), chunks_.back().begin(), chunks_.back().end());
    }
  }

  void write(const fs_std::path& path, std::size_t count) {
    std::vector<std::int64_t> entries;
    entries.reserve(count);
    for (std::size_t i = 0; i < count; ++i) entries.push_back(starts_[i % starts_.size()]);
    plan_.nbytes = static_cast<std::int64_t>(count * plan_.chunksize);
    write_file(path, encode_frame(plan_, area_, entries));
  }

  ByteVector page(std::int64_t offset) const {
    const auto at = static_cast<std::size_t>(offset);
    const auto& body = contents_[at / plan_.chunksize % contents_.size()];
    const auto begin = body.begin() + static_cast<std::ptrdiff_t>(at % plan_.chunksize);
    return {begin, begin + kPage};
  }
  std::size_t stored_block(std::int64_t offset) const {
    const auto at = static_cast<std::size_t>(offset);
    const auto& chunk = chunks_[at / plan_.chunksize % chunks_.size()];
    return block_extent(chunk, at % plan_.chunksize / plan_.blocksize).second;
  }
  std::int64_t nbytes() const { return plan_.nbytes; }
  std::size_t head_of_chunk() const { return 32 + 4 * (plan_.chunksize / plan_.blocksize); }

 private:
  FramePlan plan_;
  std::vector<ByteVector> contents_, chunks_;
  std::vector<std::int64_t> starts_;
  ByteVector area_;
};

struct Cost {
  Seconds time{1e9};
  std::uint64_t memory = 0;
};

/// Mounts the frame, calls stat on its file, and reads a page from the middle.
Cost cost_of_first_page(const fs_std::path& frame, const RepeatingFrame& expected,
                        std::int64_t nbytes) {
  const AlignedPage page;
  const auto begin = std::chrono::steady_clock::now();
  Mount mount(frame);
  struct stat st {};
  const auto path = mount / frame.stem();
  BOOST_REQUIRE(stat(path.c_str(), &st) == 0);
  const std::int64_t middle = nbytes / 2 - nbytes / 2 % std::int64_t{kPage};
  const auto bytes = page.read(open_direct(path), middle);
  const Seconds time = std::chrono::steady_clock::now() - begin;
  BOOST_TEST(st.st_size == nbytes);
  BOOST_CHECK(bytes == expected.page(middle));
  const auto stats = mount.stats();
  BOOST_TEST(stats.at("index_blocks_decoded").get<int>() == 1);
  BOOST_TEST(stats.at("blocks_decoded").get<int>() == 1);
  BOOST_TEST(stats.at("chunks_opened").get<int>() == 1);
  const auto read = process_io(mount.pid()).at("rchar");
  const auto counted = stats.at("source_bytes_read").get<std::uint64_t>();
  BOOST_TEST(counted <= read);
  BOOST_TEST(read <= counted + kOtherReads);
  return {time, process_memory(mount.pid(), "VmHWM")};
}

Cost best_cost(const fs_std::path& frame, const RepeatingFrame& expected, std::int64_t nbytes) {
  Cost best;
  for (int i = 0; i < 5; ++i) {
    const Cost cost = cost_of_first_page(frame, expected, nbytes);
    best.time = std::min(best.time, cost.time);
    best.memory = std::max(best.memory, cost.memory);
  }
  return best;
}

/// Stores an array of int16 in blocks of 8 x 16 x 16. Returns its NPY file.
ByteVector write_array(const fs_std::path& path, const std::vector<std::int64_t>& shape) {
  const std::string header = npy_header("<i2", shape);
  ByteVector contents(header.begin(), header.end());
  std::size_t size = 2;
  for (const std::int64_t extent : shape) size *= static_cast<std::size_t>(extent);
  const ByteVector elements = make_contents("ramp", 1, size, 2);
  contents.insert(contents.end(), elements.begin(), elements.end());
  const auto npy = fs_std::path(path).replace_extension(".npy");
  write_file(npy, contents);
  const auto made = run({b2frame_program(), "create", "--chunk-shape", "32,64,64", "--block-shape",
                         "8,16,16", npy.string(), "-o", path.string()});
  BOOST_REQUIRE_MESSAGE(made.ok(), made.description());
  fs_std::remove(npy);
  return contents;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(laziness)

BOOST_AUTO_TEST_CASE(ten_million_chunks_cost_little_more_than_ten,
                     *precondition(needs_fuse_unsanitized)) {
  const TempDir source;
  RepeatingFrame frame(kPage, kPage, kBodies);
  frame.write(source / "few.b2frame", 10);
  const auto few_bytes = frame.nbytes();
  frame.write(source / "many.b2frame", 10000000);
  const Cost many = best_cost(source / "many.b2frame", frame, frame.nbytes());
  const Cost few = best_cost(source / "few.b2frame", frame, few_bytes);
  BOOST_TEST((many.time - few.time).count() <= 0.050);
  BOOST_TEST(many.memory <= few.memory + (32 << 20));
}

BOOST_AUTO_TEST_CASE(random_page_costs_one_block, *precondition(needs_fuse)) {
  constexpr std::size_t kChunk = 1 << 20, kBlock = 32 << 10, kChunks = 1024;
  // Size of the index: a header, one block start, and a block of at most 8 bytes for each chunk.
  constexpr std::uint64_t kIndex = 32 + 4 + 4 + 8 * kChunks;
  const TempDir source;
  RepeatingFrame frame(kChunk, kBlock, 16);
  frame.write(source / "a.b2frame", kChunks);
  // The daemon compares the header of a recently written frame around each fetch. So make it old.
  const timespec long_ago[2] = {{1000000000, 0}, {1000000000, 0}};
  utimensat(AT_FDCWD, (source / "a.b2frame").c_str(), long_ago, 0);
  Mount mount(source / "a.b2frame");
  const AlignedPage page;
  const Fd fd = open_direct(mount / "a");
  std::mt19937_64 random(7);
  for (int i = 0; i < 40; ++i) {
    const auto pages = static_cast<std::uint64_t>(frame.nbytes()) / kPage;
    const auto offset = static_cast<std::int64_t>(random() % pages * kPage);
    const auto before = mount.counter("source_bytes_read");
    BOOST_CHECK(page.read(fd, offset) == frame.page(offset));
    const auto read = mount.counter("source_bytes_read") - before;
    const std::uint64_t most =
        frame.stored_block(offset) + frame.head_of_chunk() + (i == 0 ? kIndex : 0);
    BOOST_TEST(read <= most, "at " << offset << ": " << read << " > " << most);
  }
  BOOST_TEST(mount.counter("index_blocks_decoded") == 1u);
}

BOOST_AUTO_TEST_CASE(pages_here_and_there_take_memory_when_they_come_back,
                     *precondition(needs_fuse)) {
  constexpr std::size_t kBlock = 64 << 10, kBlocks = 256;
  const TempDir source;
  RepeatingFrame frame(16 * kBlock, kBlock, 4);
  frame.write(source / "a.b2frame", kBlocks / 16);
  Mount mount(source / "a.b2frame");
  const AlignedPage page;
  const Fd fd = open_direct(mount / "a");
  // In random order: the daemon would read ahead after equal steps.
  std::vector<std::size_t> order(kBlocks);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(5));
  std::vector<std::uint64_t> decoded, held;
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t i : order) {
      const auto offset = static_cast<std::int64_t>(i * kBlock + kPage);
      BOOST_CHECK(page.read(fd, offset) == frame.page(offset));
    }
    decoded.push_back(mount.counter("blocks_decoded"));
    held.push_back(mount.counter("cache_bytes"));
  }
  BOOST_TEST(decoded[0] == kBlocks);
  BOOST_TEST(held[0] <= kBlocks * kBlock / 4);
  BOOST_TEST(decoded[1] <= 2 * kBlocks);
  BOOST_TEST(held[1] >= kBlocks * kBlock * 3 / 4);
  BOOST_TEST(decoded[2] - decoded[1] <= kBlocks / 4);
}

BOOST_AUTO_TEST_CASE(mounting_a_tree_reads_no_chunk, *precondition(needs_fuse)) {
  const TempDir source;
  for (int i = 0; i < 20; ++i)
    write_file(source / (std::to_string(i) + ".b2frame"),
               flat_frame(make_contents("noise", 1, 500000, 1)));
  Mount mount(source.path());
  std::uint64_t shown = 0;
  for (const auto& entry : fs_std::directory_iterator(mount.path())) shown += entry.file_size();
  BOOST_TEST(shown == 20u * 500000);
  const auto stats = mount.stats();
  BOOST_TEST(stats.at("blocks_decoded").get<int>() == 0);
  BOOST_TEST(stats.at("index_blocks_decoded").get<int>() == 0);
  BOOST_TEST(stats.at("chunks_opened").get<int>() == 0);
  BOOST_TEST(stats.at("source_bytes_read").get<std::uint64_t>() < 20u * 16384);
}

BOOST_AUTO_TEST_CASE(second_read_comes_from_the_kernel, *precondition(needs_fuse)) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame(make_contents("text", 1, 1000000, 1)));
  Mount mount(source.path());
  const auto first = read_file(mount / "a");
  const auto before = mount.stats();
  BOOST_CHECK(read_file(mount / "a") == first);
  const auto after = mount.stats();
  for (const char* counter : {"cache_hits", "cache_misses", "blocks_decoded"})
    BOOST_TEST(after.at(counter).get<int>() == before.at(counter).get<int>(), counter);
}

BOOST_AUTO_TEST_CASE(what_the_kernel_has_is_not_kept_twice, *precondition(needs_fuse)) {
  const TempDir source;
  const ByteVector contents = make_contents("text", 1, std::size_t{24} << 20, 1);
  write_file(source / "a.b2frame", flat_frame(contents));
  MountSettings settings;
  settings.options = {"cache_size=64M"};
  Mount mount(source.path(), settings);
  BOOST_CHECK(read_file(mount / "a") == contents);
  BOOST_TEST(mount.counter("cache_bytes") < (std::uint64_t{4} << 20));
}

BOOST_AUTO_TEST_CASE(readers_of_one_file_share_its_blocks, *precondition(needs_fuse)) {
  constexpr std::size_t kBlock = 128 << 10, kBlocks = 1024;
  const TempDir source;
  RepeatingFrame frame(4 * kBlock, kBlock, 4);
  frame.write(source / "a.b2frame", kBlocks / 4);
  MountSettings settings;
  settings.options = {"cache_size=16M"};
  const auto read = [&](const Mount& mount) {
    std::array<std::jthread, 8> readers;
    std::atomic<std::int64_t> bytes{0};
    for (std::jthread& reader : readers)
      reader = std::jthread([&] { bytes += std::ssize(read_file(mount / "a")); });
    for (std::jthread& reader : readers) reader.join();
    BOOST_TEST(bytes == std::ssize(readers) * frame.nbytes());
  };
  const auto stats = counters_of_reading(source / "a.b2frame", settings, kBlocks * kBlock, read);
  BOOST_TEST(stats.at("blocks_decoded").get<std::size_t>() == kBlocks);
}

// One layer of chunks along the first axis fits in half of the cache.
BOOST_AUTO_TEST_CASE(arrays_decode_each_block_once, *precondition(needs_fuse)) {
  const TempDir source;
  const ByteVector contents = write_array(source / "a.b2nd", {64, 128, 128});
  MountSettings settings;
  settings.options = {"cache_size=4M"};
  const auto stats = counters_of_reading(
      source.path(), settings, contents.size(),
      [&](const Mount& mount) { BOOST_CHECK(read_file(mount / "a.npy") == contents); });
  BOOST_TEST(stats.at("blocks_decoded").get<int>() == 8 * 8 * 8);
}

BOOST_AUTO_TEST_CASE(padding_of_arrays_is_not_kept, *precondition(needs_fuse)) {
  const TempDir source;
  const ByteVector contents = write_array(source / "a.b2nd", {2000, 60, 60});
  MountSettings settings;
  settings.options = {"cache_size=64M"};
  Mount mount(source.path(), settings);
  BOOST_CHECK(read_file(mount / "a.npy") == contents);
  BOOST_TEST(mount.counter("cache_bytes") < (std::uint64_t{4} << 20));
}

BOOST_AUTO_TEST_CASE(closed_files_are_not_kept_open, *precondition(needs_fuse)) {
  const TempDir source;
  for (const char* name : {"read", "written"})
    write_file(source / (name + std::string(".b2frame")),
               flat_frame(make_contents("noise", 1, 500000, 1)));
  Mount mount(source.path());
  const auto open_frames = [&] {
    std::vector<std::string> names;
    for (const auto& entry :
         fs_std::directory_iterator("/proc/" + std::to_string(mount.pid()) + "/fd")) {
      std::error_code gone;
      const auto target = fs_std::read_symlink(entry.path(), gone);
      if (target.extension() == ".b2frame") names.push_back(target.filename());
    }
    return names;
  };
  {
    const Fd file(open((mount / "written").c_str(), O_RDWR));
    BOOST_TEST(pwrite(file.get(), "x", 1, 100000) == 1);
    BOOST_TEST(fsync(file.get()) == 0);
    // The daemon keeps recently examined files open too, but for at most two seconds.
    BOOST_TEST(comes_true([&] { return open_frames().size() == 1; }));
  }
  BOOST_TEST(read_file(mount / "read").size() == 500000u);
  // The kernel reports a close to the daemon a moment later, and the last commit follows soon.
  BOOST_TEST(comes_true([&] { return open_frames().empty(); }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
