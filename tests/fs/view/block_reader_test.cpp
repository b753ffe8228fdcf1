// Tiny and large blocks, and the memory that decoding them takes.

#include "fs/view/block_reader.hpp"

#include <boost/test/unit_test.hpp>

#include "codec/chunk_encoder.hpp"
#include "tests/frame/blp_builder.hpp"
#include "tests/fs/view/reader_fixture.hpp"

using namespace bloscfs;
using namespace bloscfs::fs;
using namespace bloscfs::frame::test;
using namespace bloscfs::test;

namespace {

Buffer slow_slope() {
  Buffer content(4 * 8192);
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<std::uint8_t>(i / 100);
  return content;
}

/// Makes a frame of one chunk. Its blocks have 8192 bytes, and refer to the first block.
FrameBuilder delta_frame(const Buffer& content) {
  codec::EncodeSettings encode;
  encode.filters.back() = {codec::FilterId::delta, 0};
  encode.blocksize = 8192;
  FrameBuilder frame;
  frame.chunksize = static_cast<std::int32_t>(content.size());
  frame.blocksize = encode.blocksize;
  frame.add(codec::ChunkEncoder(encode).encode(content).bytes, content.size());
  return frame;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(block_reader, ReaderFixture)

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
  // Half a megabyte that belongs to no block precedes block 1.
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

BOOST_AUTO_TEST_CASE(wants_only_the_blocks_that_hold_wanted_bytes_of_an_array) {
  // The frame's header says that a chunk is one block. The chunk has smaller blocks.
  constexpr std::int32_t kSize = 256 << 10;
  const Buffer content = pattern(kSize, 1);
  FrameBuilder frame;
  frame.chunksize = frame.blocksize = kSize;
  frame.metalayers = {{"b2nd", array_layer({kSize}, {kSize}, {kSize})}};
  frame.add(make_block_chunk(content, 1, 8192), kSize);
  const FileView file = view(frame);
  BOOST_TEST((read(file, 100'000, 1) == Buffer{content[100'000]}));
  file.prefetch(request, 200'000, 1, not_reached);
  BOOST_TEST(stats.blocks_decoded.load() == 2);
  BOOST_TEST((read(file, 0, kSize) == content));
}

BOOST_AUTO_TEST_CASE(chunk_that_shrinks_under_its_reader_is_an_error) {
  BlpFile packed = simple_blp(pattern(10'000, 1), 10'000);
  packed.chunk_size = packed.last_chunk = -1;
  packed.nchunks = -1;
  packed.max_app_chunks = 0;
  packed.offsets = false;
  std::shared_ptr<MemorySource> source;
  const FileView file = view(SharedSnapshot(open_blp(packed.build(), &source)));
  source->bytes[packed.position(0) + 5] = 0;  // nbytes becomes 16; the stamp stays
  source->bytes[packed.position(0) + 4] = 16;
  BOOST_CHECK_EXCEPTION(read(file, 8192, 100), codec::Error, is_malformed_frame);
  BOOST_CHECK_EXCEPTION(file.prefetch(request, 8192, 100, not_reached), codec::Error,
                        is_malformed_frame);
}

BOOST_AUTO_TEST_CASE(decodes_the_block_that_others_refer_to_once) {
  const Buffer content = slow_slope();
  const FrameBuilder frame = delta_frame(content);
  const FileView file = view(frame);
  for (const auto& [at, decoded] : {std::pair{2, 2u}, {1, 3}, {0, 3}, {3, 4}}) {
    const auto begin = content.begin() + at * 8192;
    BOOST_TEST((read(file, at * 8192, 10) == Buffer(begin, begin + 10)));
    BOOST_TEST(stats.blocks_decoded.load() == decoded, "block " << at);
  }
}

BOOST_AUTO_TEST_CASE(decodes_blocks_of_a_stored_chunk_past_the_cache) {
  const Buffer content = slow_slope();
  const FileView file = view(delta_frame(content));
  const FrameReader& reader = file.reader();
  const auto opened = reader.open_chunk(request, 0);
  Buffer stored(static_cast<std::size_t>(opened->chunk.header().cbytes));
  reader.snapshot().read_stored(*opened, {0, opened->chunk.header().cbytes}, stored);
  for (const int block : {2, 0, 2, 3}) {
    const auto begin = content.begin() + block * 8192;
    Buffer decoded(8192);
    reader.blocks().decode_stored(*opened, stored, block, decoded);
    BOOST_TEST((decoded == Buffer(begin, begin + 8192)), "block " << block);
  }
  BOOST_TEST(stats.blocks_decoded.load() == 4);
  // Overwrites the size of the first stream in block 1 with an invalid one.
  for (std::size_t i = 0; i < 4; ++i)
    stored[static_cast<std::size_t>(opened->chunk.block_stored(1).offset) + i] = 0xFF;
  Buffer decoded(8192);
  BOOST_CHECK_EXCEPTION(reader.blocks().decode_stored(*opened, stored, 1, decoded), codec::Error,
                        [](const codec::Error& error) {
                          return std::string(error.what()).find("chunk 0") != std::string::npos;
                        });
}

BOOST_AUTO_TEST_CASE(names_the_chunk_that_has_too_few_bytes) {
  const Buffer content = pattern(3000, 1);
  const auto source =
      std::make_shared<MemorySource>(repeated(make_memcpy_chunk(content, 1), 3000, 2).build());
  const SharedSnapshot snapshot = frame::open_cframe(source, {});
  const FrameReader reader(snapshot, 1, 2, cache, stats);
  const auto opened = reader.open_chunk(request, 1);
  ReadRequest reading = reader.begin_request(request);
  BOOST_CHECK_EXCEPTION(reader.blocks().span_at(*opened, 2999, 2, reading), codec::Error,
                        [](const codec::Error& error) {
                          return std::string(error.what()).find("chunk 1 has 3000 bytes") !=
                                 std::string::npos;
                        });
  BOOST_TEST(reader.blocks().span_at(*opened, 2999, 1, reading).bytes[0] == content[2999]);
}

BOOST_AUTO_TEST_SUITE_END()
