// What reading costs, with files that make it dear.

#include "fs/view/frame_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <thread>

#include <boost/test/unit_test.hpp>

#include "codec/error.hpp"
#include "frame/cframe/cframe.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/view/file_view.hpp"
#include "tests/frame/blp_builder.hpp"
#include "tests/frame/frame_builder.hpp"

using namespace bloscfs;
using namespace bloscfs::fs;
using namespace bloscfs::frame::test;

namespace {

using SharedSnapshot = std::shared_ptr<const frame::Snapshot>;

/// A source that several threads read, and which notices how many large reads there are at once.
class BusySource final : public frame::ByteSource {
 public:
  explicit BusySource(Buffer bytes) : bytes_(std::move(bytes)) {}

  std::size_t read_at(std::uint64_t offset, frame::MutableBytes out) const override {
    if (out.size() >= kLarge) {
      most_ = std::max<int>(most_, ++now_);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      now_--;
    }
    if (offset >= bytes_.size()) return 0;
    const std::size_t size = std::min<std::size_t>(out.size(), bytes_.size() - offset);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), size, out.begin());
    return size;
  }
  frame::FileStamp stamp() const override {
    return {1, 1, static_cast<std::int64_t>(bytes_.size()), 0};
  }
  int most_at_once() const { return most_; }

 private:
  static constexpr std::size_t kLarge = 512 << 10;
  Buffer bytes_;
  mutable std::atomic<int> now_{0}, most_{0};
};

/// A source whose reads can be made to fail.
class FailingSource final : public frame::ByteSource {
 public:
  explicit FailingSource(Buffer bytes) : bytes_(std::move(bytes)) {}

  std::size_t read_at(std::uint64_t offset, frame::MutableBytes out) const override {
    if (error != 0) frame::throw_errno(error, "source");
    return bytes_.read_at(offset, out);
  }
  frame::FileStamp stamp() const override { return bytes_.stamp(); }

  int error = 0;

 private:
  MemorySource bytes_;
};

/// The b2nd metalayer of an array of bytes.
Buffer array_layer(const std::vector<std::int64_t>& shape, const std::vector<std::int32_t>& chunks,
                   const std::vector<std::int32_t>& blocks) {
  const auto dimensions = static_cast<std::uint8_t>(shape.size());
  Buffer out = {0x97, 0, dimensions, static_cast<std::uint8_t>(0x90 + dimensions)};
  for (const std::int64_t extent : shape) {
    out.push_back(0xd3);
    put_big(out, static_cast<std::uint64_t>(extent), 8);
  }
  for (const auto& extents : {chunks, blocks}) {
    out.push_back(static_cast<std::uint8_t>(0x90 + dimensions));
    for (const std::int32_t extent : extents) {
      out.push_back(0xd2);
      put_big(out, static_cast<std::uint32_t>(extent), 4);
    }
  }
  for (const int byte : {0, 0xdb, 0, 0, 0, 3, int{'|'}, int{'u'}, int{'1'}})
    out.push_back(static_cast<std::uint8_t>(byte));
  return out;
}

const std::atomic<std::int64_t> nothing_reached{0};

struct ReaderFixture {
  FileView view(SharedSnapshot snapshot, bool raw = true) {
    ViewShape shape = view_shape(snapshot->info(), raw);
    content_ += 2;
    FrameReader reader(std::move(snapshot), content_, content_ + 1, cache, stats, settings);
    return FileView(std::move(shape), std::move(reader));
  }
  FileView view(const FrameBuilder& frame) {
    return view(SharedSnapshot(open_bytes(frame.build())));
  }

  static Buffer read(const FileView& view, std::int64_t offset, std::int64_t size) {
    ReplyData reply;
    view.read(offset, size, reply);
    Buffer out(reply.size());
    reply.copy_to(out);
    return out;
  }

  Stats stats;
  BlockCache cache{32 << 20, stats};
  ReaderSettings settings{false, Work::kRequestLimit};

 private:
  std::uint64_t content_ = 0;
};

/// A frame that repeats one chunk.
FrameBuilder repeated(const Buffer& chunk, std::int32_t chunksize, std::size_t times) {
  FrameBuilder frame;
  frame.chunksize = frame.blocksize = chunksize;
  frame.add(chunk, static_cast<std::size_t>(chunksize));
  frame.entries.assign(times, 0);
  frame.nbytes = std::int64_t{chunksize} * static_cast<std::int64_t>(times);
  return frame;
}

bool is_too_large(const codec::Error& error) {
  return error.code() == codec::FormatErrc::too_large;
}

bool is_malformed_frame(const codec::Error& error) {
  return error.code() == codec::FormatErrc::malformed;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(frame_reader, ReaderFixture)

BOOST_AUTO_TEST_CASE(keeps_tiny_blocks_together) {
  const Buffer content = pattern(40'000, 1);
  for (const int blocksize : {1, 7, 4095, 4096, 5000}) {
    const FileView file = view(simple_frame(content, 20'000, blocksize));
    const auto missed = stats.cache_misses.load();
    BOOST_TEST((read(file, 0, 40'000) == content));
    for (const int at : {0, 4090, 12'345, 19'999})
      BOOST_TEST((read(file, at, 5) == Buffer(content.begin() + at, content.begin() + at + 5)));
    BOOST_TEST(stats.cache_misses.load() - missed <= 2u + 2 + 2 * 5);
  }
}

BOOST_AUTO_TEST_CASE(reads_tiny_blocks_that_lie_far_apart) {
  // Block 1 lies behind half a megabyte that belongs to nobody.
  Buffer chunk = make_block_chunk({1, 2, 3, 4}, 1, 2);
  const std::size_t second = chunk.size() - 6;
  const std::size_t moved = chunk.size() + (512 << 10);
  Buffer block(chunk.begin() + static_cast<std::ptrdiff_t>(second), chunk.end());
  chunk.resize(moved);
  chunk.insert(chunk.end(), block.begin(), block.end());
  for (const auto& [at, value] : {std::pair{std::size_t{36}, moved}, {12, chunk.size()}})
    for (std::size_t i = 0; i < 4; ++i) chunk[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
  FrameBuilder frame;
  frame.chunksize = 4;
  frame.blocksize = 2;
  frame.add(chunk, 4);
  BOOST_TEST((read(view(frame), 0, 4) == Buffer{1, 2, 3, 4}));
}

BOOST_AUTO_TEST_CASE(reads_tiny_blocks_of_different_sizes) {
  std::vector<Buffer> blocks;
  Buffer content;
  for (unsigned i = 0; content.size() < 50'000; ++i) {
    blocks.push_back(pattern(i % 50 == 49 ? 9000 : 1 + i % 7, i));
    content.insert(content.end(), blocks.back().begin(), blocks.back().end());
  }
  FrameBuilder frame;
  frame.chunksize = static_cast<std::int32_t>(content.size());
  frame.general_flags = 0x93;
  frame.add(make_vl_chunk(blocks), content.size());
  const FileView file = view(frame);
  for (std::size_t at = 0; at < content.size(); at += 777) {
    const auto begin = content.begin() + static_cast<std::ptrdiff_t>(at);
    const auto size = std::min<std::int64_t>(1000, content.end() - begin);
    BOOST_TEST((read(file, static_cast<std::int64_t>(at), size) == Buffer(begin, begin + size)));
  }
}

BOOST_AUTO_TEST_CASE(keeps_no_tiny_chunks) {
  const FileView file = view(repeated(make_memcpy_chunk({9}, 1), 1, 100'000));
  BOOST_TEST((read(file, 0, 100'000) == Buffer(100'000, 9)));
  file.prefetch(0, 100'000, nothing_reached);
  BOOST_TEST(stats.cache_misses.load() <= 100'000u / 2048 + 2);
}

BOOST_AUTO_TEST_CASE(wants_only_the_blocks_that_hold_wanted_bytes_of_an_array) {
  // The frame speaks of one block, the chunk has blocks of its own.
  constexpr std::int32_t kSize = 256 << 10;
  const Buffer content = pattern(kSize, 1);
  FrameBuilder frame;
  frame.chunksize = frame.blocksize = kSize;
  frame.metalayers = {{"b2nd", array_layer({kSize}, {kSize}, {kSize})}};
  frame.add(make_block_chunk(content, 1, 8192), kSize);
  const FileView file = view(frame);
  BOOST_TEST((read(file, 100'000, 1) == Buffer{content[100'000]}));
  file.prefetch(200'000, 1, nothing_reached);
  BOOST_TEST(stats.blocks_decoded.load() == 2);
  BOOST_TEST((read(file, 0, kSize) == content));
}

BOOST_AUTO_TEST_CASE(refuses_requests_that_need_endless_decoding) {
  // Each byte of the array is alone in a block of 8 MiB.
  constexpr std::int32_t kBlock = 8 << 20;
  constexpr std::int64_t kRows = 4096;
  Buffer chunk = make_value_chunk({7}, kBlock);
  chunk[0x1f] = 0;  // no special chunk but a block that is one run
  chunk[2] = 0x35;
  std::fill_n(chunk.begin() + 8, 4, std::uint8_t{0});
  chunk[10] = kBlock >> 16;
  chunk.resize(32);
  for (const int byte : {36, 0, 0, 0, 0xf9, 0xff, 0xff, 0xff, 1})
    chunk.push_back(static_cast<std::uint8_t>(byte));
  chunk[12] = static_cast<std::uint8_t>(chunk.size());
  FrameBuilder frame = repeated(chunk, kBlock, kRows);
  frame.metalayers = {{"b2nd", array_layer({kRows, 1}, {1, kBlock}, {1, kBlock})}};
  const FileView file = view(frame);
  BOOST_TEST((read(file, 0, 10) == Buffer(10, 7)));
  BOOST_CHECK_EXCEPTION(read(file, 0, kRows), codec::Error, is_too_large);
  BOOST_TEST(stats.blocks_decoded.load() < 100);
}

BOOST_AUTO_TEST_CASE(adds_nothing_that_it_could_not_read) {
  FrameBuilder frame = repeated(Buffer(40, 0xff), 1000, 1);
  frame.metalayers = {{"b2nd", array_layer({1000}, {1000}, {1000})}};
  const FileView file = view(frame);
  ReplyData reply;
  BOOST_CHECK_THROW(file.read(0, 1000, reply), codec::Error);
  BOOST_TEST(reply.size() == 0);
}

BOOST_AUTO_TEST_CASE(large_openings_wait_for_each_other) {
  // Each opening takes more than a third of the budget.
  constexpr std::int32_t kChunk = 256 << 10;
  FrameBuilder frame = repeated(make_block_chunk(pattern(kChunk, 1), 1, 1), kChunk, 4);
  const auto source = std::make_shared<BusySource>(frame.build());
  Stats own_stats;
  BlockCache small(8 << 20, own_stats);
  const SharedSnapshot snapshot = frame::open_cframe(source, {});
  const FrameReader reader(snapshot, 1, 2, small, own_stats);
  std::vector<std::jthread> threads;
  for (int chunk = 0; chunk < 4; ++chunk)
    threads.emplace_back([&, chunk] { reader.open_chunk(chunk); });
  for (std::jthread& thread : threads) thread.join();
  BOOST_TEST(own_stats.chunks_opened.load() >= 4);
  BOOST_TEST(source->most_at_once() == 1);
}

BOOST_AUTO_TEST_CASE(large_index_pages_wait_for_each_other) {
  constexpr std::int32_t kPage = 1 << 20;
  FrameBuilder frame = repeated(make_memcpy_chunk(pattern(5000, 1), 1), 5000, 4 * (kPage / 8));
  frame.index_chunk = make_block_chunk(Buffer(4 * kPage), 8, kPage);
  const auto source = std::make_shared<BusySource>(frame.build());
  Stats own_stats;
  BlockCache small(8 << 20, own_stats);
  const SharedSnapshot snapshot = frame::open_cframe(source, {});
  const FrameReader reader(snapshot, 1, 2, small, own_stats);
  std::vector<std::jthread> threads;
  for (int page = 0; page < 4; ++page)
    threads.emplace_back([&, page] { reader.page_of_chunk(page * (kPage / 8)); });
  for (std::jthread& thread : threads) thread.join();
  BOOST_TEST(own_stats.index_blocks_decoded.load() >= 4);
  BOOST_TEST(source->most_at_once() == 1);
}

// A chunk of which it is not known how many blocks it has may have some in the cache.
BOOST_AUTO_TEST_CASE(tells_where_a_chunk_cannot_be_forgotten) {
  const Buffer content = pattern(40'000, 1);
  const auto source = std::make_shared<FailingSource>(simple_frame(content, 20'000, 5000).build());
  const SharedSnapshot snapshot = frame::open_cframe(source, {});
  const FrameReader reader(snapshot, 1, 2, cache, stats);
  reader.open_chunk(0);
  BOOST_TEST(reader.forget_chunk(0));
  for (const int error : {EIO, EMFILE, ETIMEDOUT}) {
    source->error = error;
    BOOST_TEST(!reader.forget_chunk(0), "errno " << error);
    source->error = 0;
    BOOST_TEST(reader.forget_chunk(0));
  }
}

BOOST_AUTO_TEST_CASE(snapshots_keep_neither_index_nor_vlmetalayers) {
  FrameBuilder frame = repeated(make_memcpy_chunk({9}, 1), 1, 50'000);
  frame.index_chunk = make_block_chunk(Buffer(8 * 50'000), 8, 8);  // a block for every chunk
  for (int i = 0; i < 1000; ++i)
    frame.vlmetalayers.emplace_back("name of a layer " + std::to_string(i), Buffer());
  const SharedSnapshot snapshot(open_bytes(frame.build()));
  const FileView file = view(snapshot);
  BOOST_TEST((read(file, 49'999, 1) == Buffer{9}));
  BOOST_TEST(snapshot->vlmetalayers().size() == 1000);
  BOOST_TEST(snapshot->memory() < 10'000);
  BOOST_TEST(stats.cache_bytes.load() > 200'000);  // where the blocks of the index start
}

BOOST_AUTO_TEST_CASE(refuses_to_hold_large_headers_of_too_many_open_files) {
  FrameBuilder frame = repeated(make_memcpy_chunk({9}, 1), 1, 1);
  Buffer layer = array_layer({1}, {1}, {1});
  layer.resize(layer.size() - 7);
  put_big(layer, 100'000, 4);
  layer.resize(layer.size() + 100'000, 'x');
  frame.metalayers = {{"b2nd", layer}};
  const SharedSnapshot snapshot(open_bytes(frame.build()));
  std::vector<FileView> files;
  BOOST_CHECK_THROW(for (int i = 0; i < 1000; ++i) files.push_back(view(snapshot)),
                    std::system_error);
  BOOST_TEST(files.size() > 100);
  files.clear();
  BOOST_CHECK_NO_THROW(view(snapshot));
}

BOOST_AUTO_TEST_CASE(books_the_pass_over_chunks_of_different_sizes) {
  FrameBuilder frame = repeated(make_memcpy_chunk({9}, 1), 1, 3 << 20);
  frame.chunksize = 0;
  frame.general_flags = 0x53;
  frame.index_chunk = make_block_chunk(Buffer(8 * (3 << 20)), 8, 8 * (3 << 20));
  const FileView file = view(frame);
  BOOST_CHECK_EXCEPTION(read(file, 0, 1), codec::Error, is_too_large);
}

BOOST_AUTO_TEST_CASE(counts_wrong_checksums) {
  auto frame = simple_frame(pattern(10'000, 1), 5000, 5000);
  Buffer sums;
  for (const unsigned seed : {1u, 2u}) {
    const Buffer sum = pattern(8, seed);
    sums.insert(sums.end(), sum.begin(), sum.end());
  }
  frame.vlmetalayers = {{"bloscfs.xxh3", make_memcpy_chunk(sums, 8)}};
  settings.verify_checksums = true;
  BOOST_CHECK_EXCEPTION(read(view(frame), 0, 10), codec::Error, is_malformed_frame);
  BOOST_TEST(stats.checksum_failures.load() == 1);

  BlpFile packed = simple_blp(pattern(10'000, 1), 5000);
  Buffer bytes = packed.build();
  bytes[packed.position(1) + 100] ^= 1;
  const FileView file = view(SharedSnapshot(open_blp(bytes)));
  BOOST_TEST((read(file, 0, 5000) == pattern(5000, 1)));
  BOOST_CHECK_EXCEPTION(read(file, 5000, 10), codec::Error, is_malformed_frame);
  BOOST_TEST(stats.checksum_failures.load() == 2);
}

BOOST_AUTO_TEST_CASE(chunk_that_shrinks_under_its_reader_is_an_error) {
  BlpFile packed = simple_blp(pattern(10'000, 1), 10'000);
  packed.chunk_size = packed.last_chunk = -1;
  packed.nchunks = -1;
  packed.max_app_chunks = 0;
  packed.offsets = false;
  std::shared_ptr<MemorySource> source;
  const FileView file = view(SharedSnapshot(open_blp(packed.build(), &source)));
  source->bytes[packed.position(0) + 5] = 0;  // nbytes is 16 now; no stamp tells
  source->bytes[packed.position(0) + 4] = 16;
  BOOST_CHECK_EXCEPTION(read(file, 8192, 100), codec::Error, is_malformed_frame);
  BOOST_CHECK_EXCEPTION(file.prefetch(8192, 100, nothing_reached), codec::Error,
                        is_malformed_frame);
}

BOOST_AUTO_TEST_CASE(looks_for_data_page_by_page) {
  constexpr std::int32_t kChunks = 1 << 20;
  FrameBuilder frame = repeated(make_memcpy_chunk({9}, 1), 1, kChunks);
  for (std::size_t i = 0; i < kChunks; ++i)
    frame.entries[i] = special_entry(i % 2 == 0 ? 0x81 : 0x84);
  frame.entries.back() = 0;
  for (const bool in_slabs : {false, true}) {
    if (in_slabs) frame.metalayers = {{"b2nd", array_layer({1, kChunks}, {1, 1}, {1, 1})}};
    const FileView file = view(frame);
    const auto hits = stats.cache_hits.load();
    BOOST_TEST(file.seek_data(5).value() == kChunks - 1);
    BOOST_TEST(file.seek_hole(0).value() == 0);
    BOOST_TEST(stats.cache_hits.load() - hits < 3000);
  }
}

BOOST_AUTO_TEST_SUITE_END()
