// The chunk header: exact bytes of real headers, and damage to each field.
#include "codec/chunk_header.hpp"

#include <limits>

#include <boost/test/unit_test.hpp>

#include "codec/error.hpp"
#include "tests/codec/chunk_builder.hpp"
#include "tests/support/hex.hpp"

namespace bloscfs::test {
namespace {

using codec::ChunkHeader;
using codec::CodecId;
using codec::FilterId;
using codec::FormatErrc;
using codec::SpecialValue;

constexpr std::uint64_t kPlenty = std::uint64_t{1} << 32;

ChunkHeader parse(const ByteVector& bytes, std::int32_t typesize = 0,
                  std::uint64_t available = kPlenty) {
  return codec::parse_chunk_header(bytes, available, typesize);
}

void check_rejected(const ByteVector& bytes, FormatErrc code = FormatErrc::malformed,
                    std::uint64_t available = kPlenty, std::int32_t typesize = 0) {
  BOOST_CHECK_EXCEPTION(parse(bytes, typesize, available), codec::Error,
                        [&](const codec::Error& e) { return e.code() == make_error_code(code); });
}

/// Returns the header of a plain chunk of 1000 bytes, in 4 blocks of 256, whose stored size is 500
/// bytes.
ByteVector plain() {
  ChunkPlan plan;
  plan.typesize = 4;
  plan.nbytes = 1000;
  plan.blocksize = 256;
  plan.filters = {{FilterId::shuffle, 0}};
  return build_header(plan, 500);
}

ByteVector with_byte(ByteVector bytes, std::size_t at, int value) {
  bytes[at] = static_cast<std::uint8_t>(value);
  return bytes;
}

ByteVector with_field(ByteVector bytes, std::size_t at, std::int32_t value) {
  put_int32(bytes, at, value);
  return bytes;
}

ByteVector special(int id, std::int32_t nbytes, std::int32_t cbytes, std::uint8_t typesize = 4) {
  ChunkPlan plan;
  plan.flags = 0x05;
  plan.typesize = typesize;
  plan.nbytes = nbytes;
  plan.blocksize = 64;
  plan.blosc2_flags = static_cast<std::uint8_t>(id << 4);
  return build_header(plan, cbytes);
}

BOOST_AUTO_TEST_SUITE(chunk_header)

BOOST_AUTO_TEST_CASE(parses_a_plain_header) {
  const ChunkHeader h = parse(plain());
  BOOST_TEST(h.header_size == 32);
  BOOST_TEST(h.typesize == 4);
  BOOST_TEST(h.full_typesize == 4);
  BOOST_TEST(h.nbytes == 1000);
  BOOST_TEST(h.blocksize == 256);
  BOOST_TEST(h.block_count == 4);
  BOOST_TEST(h.cbytes == 500);
  BOOST_TEST(h.dont_split);
  BOOST_TEST(h.has_filter(FilterId::shuffle));
  BOOST_TEST(!h.has_filter(FilterId::delta));
  BOOST_TEST(h.has_block_starts());
}

BOOST_AUTO_TEST_CASE(parses_the_dumps_of_the_format) {
  const ChunkHeader empty =
      parse(from_hex("05010704000000000100000020000000000000000001000000000000000000"
                     "00"));
  BOOST_TEST(empty.nbytes == 0);
  BOOST_TEST(empty.block_count == 0);
  BOOST_TEST(!empty.has_block_starts());
  const ChunkHeader copied =
      parse(from_hex("0501270488130000"
                     "88130000a8130000"
                     "00000000000001010000000000000000"));
  BOOST_TEST(copied.memcpyed);
  BOOST_TEST(copied.nbytes == 5000);
  const ChunkHeader blosc1 = parse(from_hex("02012304881300008813000098130000"));
  BOOST_TEST(blosc1.memcpyed);
  BOOST_TEST(blosc1.header_size == 16);
  BOOST_TEST(parse(from_hex("02013304000000000100000010000000")).nbytes == 0);
}

BOOST_AUTO_TEST_CASE(reads_the_filters_of_a_short_header_from_its_flags) {
  ChunkPlan plan;
  plan.version = 2;
  plan.typesize = 4;
  plan.nbytes = 1000;
  plan.blocksize = 1000;
  plan.flags = 0x01 | 0x08 | 2 << 5;
  const ChunkHeader shuffled = parse(build_header(plan, 500));
  BOOST_CHECK(shuffled.filters[5].id == FilterId::shuffle);
  BOOST_CHECK(shuffled.filters[4].id == FilterId::delta);
  BOOST_CHECK(shuffled.codec == CodecId::snappy);
  plan.flags = 0x04;
  BOOST_CHECK(parse(build_header(plan, 500)).filters[5].id == FilterId::bitshuffle);
  plan.flags = 0x01;
  plan.typesize = 1;
  BOOST_CHECK(!parse(build_header(plan, 500)).has_filter(FilterId::shuffle));
}

BOOST_AUTO_TEST_CASE(knows_the_codecs) {
  const auto codec_of = [](int format, int id) {
    return parse(with_byte(with_byte(plain(), 2, 0x15 | format << 5), 22, id)).codec;
  };
  BOOST_CHECK(codec_of(0, 0) == CodecId::blosclz);
  BOOST_CHECK(codec_of(1, 1) == CodecId::lz4);
  BOOST_CHECK(codec_of(1, 2) == CodecId::lz4hc);
  BOOST_CHECK(codec_of(3, 4) == CodecId::zlib);
  BOOST_CHECK(codec_of(4, 5) == CodecId::zstd);
  BOOST_CHECK(codec_of(6, 33) == CodecId::zfp_accuracy);
  for (const int format : {5, 7}) {
    check_rejected(with_byte(plain(), 2, 0x15 | format << 5), FormatErrc::unsupported);
  }
  check_rejected(with_byte(plain(), 2, 0x15 | 2 << 5));  // Snappy never had this header
  check_rejected(with_byte(with_byte(plain(), 2, 0x15 | 6 << 5), 22, 5));
}

BOOST_AUTO_TEST_CASE(ignores_the_last_filter_slot_of_version_3) {
  const ByteVector garbage = with_byte(with_byte(plain(), 21, 99), 29, 98);
  const ChunkHeader h = parse(with_byte(garbage, 0, 3));
  BOOST_CHECK(h.filters[5] == codec::FilterStep{});
}

BOOST_AUTO_TEST_CASE(rejects_short_input) {
  for (std::size_t size = 0; size < 32; ++size) {
    ByteVector bytes = plain();
    bytes.resize(size);
    check_rejected(bytes);
  }
}

BOOST_AUTO_TEST_CASE(rejects_sizes_out_of_range) {
  constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min();
  for (const std::int32_t nbytes : {-1, kLowest, 0x7FFFFFFF, 0x7FFFFFFF - 31}) {
    check_rejected(with_field(plain(), 4, nbytes));
  }
  for (const std::int32_t blocksize : {0, -1, kLowest, 0x1FFFF001, 0x7FFFFFFF}) {
    check_rejected(with_field(plain(), 8, blocksize));
  }
  for (const std::int32_t cbytes : {0, -1, kLowest, 15, 16, 31}) {
    check_rejected(with_field(plain(), 12, cbytes));
  }
  check_rejected(with_byte(plain(), 3, 0));
  check_rejected(plain(), FormatErrc::malformed, 499);
  BOOST_CHECK_NO_THROW(parse(plain(), 0, 500));
}

BOOST_AUTO_TEST_CASE(rejects_more_blocks_than_there_is_room_for_their_starts) {
  BOOST_CHECK_NO_THROW(parse(with_field(plain(), 12, 32 + 16)));
  check_rejected(with_field(plain(), 12, 32 + 15));
  check_rejected(with_field(with_field(plain(), 4, 0x7FFFFFFF - 32), 8, 1));
}

BOOST_AUTO_TEST_CASE(rejects_flags_that_stored_chunks_never_have) {
  check_rejected(with_byte(plain(), 31, 0x08));
  for (const int id : {5, 6, 7}) check_rejected(with_byte(plain(), 31, id << 4));
  check_rejected(with_byte(plain(), 30, 0x02));
  check_rejected(with_byte(with_byte(plain(), 30, 0x82), 0, 7), FormatErrc::unsupported);
  BOOST_CHECK_NO_THROW(parse(with_byte(plain(), 31, 0x02)));  // written on a big-endian host
  BOOST_CHECK_NO_THROW(parse(with_byte(plain(), 0, 7)));
}

BOOST_AUTO_TEST_CASE(rejects_a_memcpyed_chunk_of_another_size) {
  ChunkPlan plan;
  plan.flags = 0x07;
  plan.nbytes = plan.blocksize = 100;
  BOOST_CHECK_NO_THROW(parse(build_header(plan, 132)));
  check_rejected(build_header(plan, 131));
  check_rejected(build_header(plan, 133));
}

BOOST_AUTO_TEST_CASE(checks_special_values) {
  BOOST_CHECK(parse(special(1, 1001, 32)).special == SpecialValue::zero);
  BOOST_CHECK(parse(special(1, 0, 32)).special == SpecialValue::zero);
  BOOST_CHECK(parse(special(2, 1000, 32)).special == SpecialValue::nan);
  BOOST_TEST(parse(special(3, 900, 32 + 300)).value_size == 300);
  BOOST_CHECK_NO_THROW(parse(special(4, 1000, 32)));
  check_rejected(special(2, 1002, 32));
  check_rejected(special(2, 1000, 32, 5));
  BOOST_CHECK_NO_THROW(parse(special(2, 1000, 32, 4), 8));
  check_rejected(special(2, 1004, 32, 4), FormatErrc::malformed, kPlenty, 8);
  check_rejected(special(3, 1000, 32));
  check_rejected(special(3, 1000, 32 + 3));
  check_rejected(special(3, 1000, 32 + 2000));
  check_rejected(special(3, 0, 32 + 4));
  check_rejected(special(4, 1001, 32));
}

BOOST_AUTO_TEST_CASE(clamps_the_blocksize_to_the_contents) {
  const ChunkHeader h = parse(with_field(plain(), 8, 100000));
  BOOST_TEST(h.blocksize == 1000);
  BOOST_TEST(h.block_count == 1);
}

BOOST_AUTO_TEST_CASE(recovers_a_blocksize_that_its_writer_rounded) {
  BOOST_TEST(parse(with_field(plain(), 8, 255)).blocksize == 252);
  BOOST_TEST(parse(with_field(with_field(plain(), 4, 1001), 8, 2000)).blocksize == 1000);
  BOOST_TEST(parse(with_field(with_field(plain(), 4, 9), 8, 3)).blocksize == 3);
  BOOST_TEST(parse(with_byte(with_field(plain(), 8, 255), 0, 4)).blocksize == 255);
  const ByteVector bytes = with_byte(with_field(plain(), 8, 500), 3, 1);
  BOOST_TEST(parse(bytes, 300).blocksize == 300);
  BOOST_TEST(parse(bytes).blocksize == 500);
}

BOOST_AUTO_TEST_CASE(counts_the_streams_of_a_block) {
  const auto streams = [](std::uint8_t version, std::uint8_t typesize, std::int32_t blocksize) {
    ChunkPlan plan;
    plan.version = version;
    plan.flags = version == 2 ? 0x00 : 0x05;
    plan.typesize = typesize;
    plan.nbytes = 3 * blocksize;
    plan.blocksize = blocksize;
    return parse(build_header(plan, 500000)).stream_count(blocksize);
  };
  BOOST_TEST(streams(5, 4, 1024) == 4);
  BOOST_TEST(streams(5, 32, 1024) == 32);
  BOOST_TEST(streams(2, 4, 512) == 4);
  BOOST_TEST(streams(2, 4, 508) == 1);
  BOOST_TEST(streams(2, 16, 16 * 128) == 16);
  BOOST_TEST(streams(2, 17, 17 * 128) == 1);
  BOOST_TEST(parse(plain()).stream_count(256) == 1);  // dont_split
  ChunkHeader split = parse(plain());
  split.dont_split = false;
  BOOST_TEST(split.stream_count(256) == 4);
  BOOST_TEST(split.stream_count(232) == 1);
}

BOOST_AUTO_TEST_CASE(checks_vl_blocks) {
  ByteVector vl = with_byte(with_byte(plain(), 0, 6), 30, 1);
  vl = with_field(vl, 8, 7);
  BOOST_TEST(parse(vl).vl_blocks);
  BOOST_TEST(parse(vl).block_count == 7);
  check_rejected(with_byte(vl, 31, 0x10));
  check_rejected(with_field(with_byte(vl, 2, 0x17), 12, 1032));
  check_rejected(with_field(vl, 4, 0));
  check_rejected(with_field(vl, 8, 118));
}

BOOST_AUTO_TEST_CASE(accepts_dictionaries_only_for_codecs_that_take_them) {
  const ByteVector with_dictionary = with_byte(plain(), 31, 0x01);
  BOOST_TEST(parse(with_byte(with_dictionary, 2, 0x15 | 1 << 5)).has_dictionary);
  BOOST_TEST(parse(with_byte(with_dictionary, 2, 0x15 | 4 << 5)).has_dictionary);
  check_rejected(with_dictionary);
  check_rejected(with_byte(with_dictionary, 2, 0x15 | 3 << 5));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace bloscfs::test
