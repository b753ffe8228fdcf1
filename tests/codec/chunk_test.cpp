// Opened chunks: where blocks lie in the contents and in the stored bytes.
#include "codec/chunk.hpp"

#include <boost/test/unit_test.hpp>

#include "codec/error.hpp"
#include "tests/codec/chunk_builder.hpp"
#include "tests/support/hex.hpp"

namespace bloscfs::test {
namespace {

using codec::ByteRange;
using codec::Chunk;
using codec::FilterId;
using codec::SpecialValue;

constexpr std::int32_t kMiB = 1 << 20;

ChunkPlan plan_of(std::int32_t nbytes, std::int32_t blocksize) {
  ChunkPlan plan;
  plan.nbytes = nbytes;
  plan.blocksize = blocksize;
  return plan;
}

Chunk open(const ByteVector& bytes) { return codec::open_chunk(bytes, 0); }

bool same(const ByteRange& range, std::int64_t offset, std::int64_t size) {
  return range.offset == offset && range.size == size;
}

/// Makes a chunk of three uncompressed blocks of 10, 10 and 5 bytes.
ByteVector three_blocks() {
  return build_chunk(plan_of(25, 10),
                     {raw_stream(noise(10)), raw_stream(noise(10)), raw_stream(noise(5))});
}

ByteVector vl_chunk(const std::vector<std::int32_t>& sizes) {
  ChunkPlan plan = plan_of(0, static_cast<std::int32_t>(sizes.size()));
  plan.version = 6;
  plan.flags2 = 1;
  std::vector<ByteVector> blocks;
  for (const std::int32_t size : sizes) {
    plan.nbytes += size;
    blocks.push_back(raw_stream(noise(static_cast<std::size_t>(size))));
  }
  return build_chunk(plan, blocks);
}

void check_malformed(ByteVector bytes, std::size_t field, std::int32_t value) {
  put_int32(bytes, field, value);
  BOOST_CHECK_THROW(open(bytes), codec::Error);
}

BOOST_AUTO_TEST_SUITE(chunk)

BOOST_AUTO_TEST_CASE(tells_where_blocks_lie) {
  const Chunk chunk = open(three_blocks());
  BOOST_TEST(chunk.block_count() == 3);
  BOOST_TEST(same(chunk.block_content(1), 10, 10));
  BOOST_TEST(same(chunk.block_content(2), 20, 5));
  BOOST_TEST(same(chunk.block_stored(0), 44, 14));
  BOOST_TEST(same(chunk.block_stored(2), 72, 9));
  BOOST_TEST(chunk.block_at(9) == 0);
  BOOST_TEST(chunk.block_at(10) == 1);
  BOOST_TEST(chunk.block_at(24) == 2);
}

BOOST_AUTO_TEST_CASE(accepts_block_starts_in_any_order) {
  ByteVector bytes = three_blocks();
  put_int32(bytes, 32, 58);
  put_int32(bytes, 36, 44);
  const Chunk chunk = open(bytes);
  BOOST_TEST(same(chunk.block_stored(0), 58, 14));
  BOOST_TEST(same(chunk.block_stored(1), 44, 14));
  BOOST_TEST(same(chunk.block_stored(2), 72, 9));
}

BOOST_AUTO_TEST_CASE(gives_blocks_that_share_a_start_the_same_bytes) {
  ByteVector bytes = three_blocks();
  put_int32(bytes, 36, 44);
  const Chunk chunk = open(bytes);
  BOOST_TEST(same(chunk.block_stored(0), 44, 14));
  BOOST_TEST(same(chunk.block_stored(1), 44, 14));
}

BOOST_AUTO_TEST_CASE(caps_the_stored_bytes_at_what_a_block_can_use) {
  ByteVector bytes = three_blocks();
  bytes.resize(100000);
  put_int32(bytes, 12, 100000);
  BOOST_TEST(same(open(bytes).block_stored(2), 72, 9));
  ChunkPlan split = plan_of(4000, 1000);
  split.typesize = 4;
  split.flags = 0x05;
  const ByteVector wide(50000);
  BOOST_TEST(open(build_chunk(split, {wide, wide, wide, wide})).block_stored(0).size == 1016);
  split.version = 2;
  split.flags = 2 << 5;  // Snappy
  BOOST_TEST(open(build_chunk(split, {wide, wide, wide, wide})).block_stored(0).size ==
             4 * 36 + 1000 + 166);
}

BOOST_AUTO_TEST_CASE(rejects_block_starts_outside_the_data) {
  const ByteVector bytes = three_blocks();
  const std::int32_t cbytes = static_cast<std::int32_t>(bytes.size());
  for (const std::int32_t start : {-1, 0, 31, 43, cbytes, cbytes + 1, 0x7FFFFFFF}) {
    check_malformed(bytes, 36, start);
  }
}

BOOST_AUTO_TEST_CASE(rejects_a_prefix_that_is_too_short) {
  const ByteVector bytes = three_blocks();
  const codec::ChunkHeader header = codec::parse_chunk_header(bytes, bytes.size(), 0);
  BOOST_TEST(Chunk::prefix_size(header) == 44);
  BOOST_CHECK_NO_THROW(Chunk(header, codec::Bytes(bytes).first(44), {}));
  BOOST_CHECK_THROW(Chunk(header, codec::Bytes(bytes).first(43), {}), codec::Error);
}

BOOST_AUTO_TEST_CASE(cuts_memcpyed_chunks_into_virtual_blocks) {
  ChunkPlan plan = plan_of(3 * kMiB, kMiB);
  plan.flags = 0x07;
  const auto chunk_of = [&](std::int32_t blocksize) {
    plan.blocksize = blocksize;
    ByteVector bytes = build_header(plan, plan.nbytes + 32);
    bytes.resize(static_cast<std::size_t>(plan.nbytes) + 32);
    return open(bytes);
  };
  BOOST_TEST(chunk_of(kMiB).block_count() == 3);
  BOOST_TEST(same(chunk_of(kMiB).block_stored(1), kMiB + 32, kMiB));
  BOOST_TEST(chunk_of(kMiB + 1).block_count() == 12);
  BOOST_TEST(same(chunk_of(3 * kMiB).block_stored(11), 11 * kMiB / 4 + 32, kMiB / 4));
}

BOOST_AUTO_TEST_CASE(opens_special_chunks_of_any_size) {
  const Chunk zeros = Chunk::make_special(SpecialValue::zero, 0x7FFFFFFF - 32, 1000);
  BOOST_TEST(zeros.memory() < 4096U);
  BOOST_TEST(zeros.decode_memory() <= kMiB);
  BOOST_TEST(zeros.block_stored(zeros.block_count() - 1).size == 0);
  BOOST_TEST(Chunk::make_special(SpecialValue::zero, 0, 4).block_count() == 0);
  BOOST_CHECK_THROW(Chunk::make_special(SpecialValue::nan, 100, 2), codec::Error);
  BOOST_CHECK_THROW(Chunk::make_special(SpecialValue::value, 100, 4), codec::Error);
  BOOST_CHECK_THROW(Chunk::make_special(SpecialValue::zero, -1, 4), codec::Error);
}

BOOST_AUTO_TEST_CASE(fills_special_contents_from_any_offset) {
  ByteVector out(7);
  Chunk::make_special(SpecialValue::nan, 4000, 4).fill_special(2, out);
  BOOST_TEST(to_hex(out) == "c07f0000c07f00");
  Chunk::make_special(SpecialValue::nan, 4000, 8).fill_special(6, out);
  BOOST_TEST(to_hex(out) == "f87f0000000000");
  Chunk::make_special(SpecialValue::uninit, 4000, 8).fill_special(5, out);
  BOOST_TEST(to_hex(out) == "00000000000000");
  ChunkPlan plan = plan_of(300, 300);
  plan.blosc2_flags = 3 << 4;
  ByteVector bytes = build_header(plan, 35);
  append(bytes, from_hex("a1b2c3"));
  open(bytes).fill_special(100, out);
  BOOST_TEST(to_hex(out) == "b2c3a1b2c3a1b2");
}

BOOST_AUTO_TEST_CASE(tells_where_vl_blocks_lie) {
  const Chunk chunk = open(vl_chunk({3, 10, 1}));
  BOOST_TEST(chunk.block_count() == 3);
  BOOST_TEST(same(chunk.block_content(1), 3, 10));
  BOOST_TEST(same(chunk.block_stored(1), 51, 14));
  BOOST_TEST(chunk.block_at(2) == 0);
  BOOST_TEST(chunk.block_at(3) == 1);
  BOOST_TEST(chunk.block_at(13) == 2);
}

BOOST_AUTO_TEST_CASE(rejects_vl_blocks_that_contradict_the_header) {
  const ByteVector bytes = vl_chunk({3, 10, 1});
  check_malformed(bytes, 4, 15);  // nbytes
  check_malformed(bytes, 44, 4);  // first size
  check_malformed(bytes, 44, 0);
  check_malformed(bytes, 44, -3);
  check_malformed(bytes, 44, 0x7FFFFFFF);
  check_malformed(bytes, 36, 44);  // starts not increasing
  check_malformed(bytes, 36, 48);  // no room for a stream
  check_malformed(bytes, 40, static_cast<std::int32_t>(bytes.size()) - 4);
}

BOOST_AUTO_TEST_CASE(finds_and_bounds_the_dictionary) {
  ChunkPlan plan = plan_of(10, 10);
  plan.flags = 0x15 | 1 << 5;
  plan.blosc2_flags = 1;
  plan.dictionary = noise(20);
  const ByteVector bytes = build_chunk(plan, {raw_stream(noise(10))});
  const Chunk chunk = open(bytes);
  BOOST_TEST((ByteVector(chunk.dictionary().begin(), chunk.dictionary().end()) == noise(20)));
  BOOST_TEST(same(chunk.block_stored(0), 60, 14));
  for (const std::int32_t size : {0, -1, 21, 32769, 0x7FFFFFFF}) check_malformed(bytes, 36, size);
}

BOOST_AUTO_TEST_CASE(says_which_blocks_need_the_reference) {
  ChunkPlan plan = plan_of(20, 10);
  plan.filters = {{FilterId::delta, 0}};
  const Chunk chunk = open(build_chunk(plan, {zero_stream(), zero_stream()}));
  BOOST_TEST(!chunk.needs_reference(0));
  BOOST_TEST(chunk.needs_reference(1));
  BOOST_TEST(!open(three_blocks()).needs_reference(1));
}

BOOST_AUTO_TEST_CASE(bounds_the_memory_of_decoding) {
  ChunkPlan plan = plan_of(20000, 10000);
  plan.typesize = 4;
  const std::vector<ByteVector> blocks(2, raw_stream(noise(10000)));
  const std::int64_t plain = open(build_chunk(plan, blocks)).decode_memory();
  BOOST_TEST(plain == 20004);
  plan.filters = {{FilterId::delta, 0}, {FilterId::shuffle, 0}};
  BOOST_TEST(open(build_chunk(plan, blocks)).decode_memory() == plain + 20000);
  BOOST_TEST(open(vl_chunk({3, 10, 1})).decode_memory() == 10 + 15);
}

BOOST_AUTO_TEST_CASE(refuses_instrumented_chunks) {
  ByteVector bytes = three_blocks();
  bytes[31] = 0x80;
  BOOST_TEST(unsupported(bytes) == "instrumented chunk: not data");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace bloscfs::test
