// Whole chunks: decoding returns the encoded contents, and the bytes are those of the format's
// examples.
#include <algorithm>

#include <boost/test/unit_test.hpp>

#include "codec/error.hpp"
#include "tests/codec/encoding.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/hex.hpp"

namespace bloscfs::test {
namespace {

using codec::ChunkEncoder;
using codec::CodecId;
using codec::EncodedChunk;
using codec::EncodeSettings;
using codec::FilterId;
using codec::SpecialValue;

constexpr codec::FilterStep kBitshuffle{FilterId::bitshuffle, 0};
constexpr CodecId kCodecs[] = {CodecId::blosclz, CodecId::lz4, CodecId::lz4hc, CodecId::zlib,
                               CodecId::zstd};

ByteVector from_text(std::string hex) {
  hex.erase(std::remove(hex.begin(), hex.end(), ' '), hex.end());
  return from_hex(hex);
}

ByteVector repeated(const ByteVector& item, std::size_t count) {
  ByteVector bytes;
  for (std::size_t i = 0; i < count; ++i) append(bytes, item);
  return bytes;
}

ByteVector contents_of(const EncodedChunk& chunk, std::size_t nbytes, std::int32_t typesize) {
  return decode(stored_bytes(chunk, nbytes, typesize), typesize);
}

ByteVector encode(const EncodeSettings& settings, const ByteVector& contents) {
  const EncodedChunk chunk = ChunkEncoder(settings).encode(contents);
  BOOST_TEST((chunk.special == SpecialValue::none));
  return chunk.bytes;
}

BOOST_AUTO_TEST_SUITE(chunk_encoder)

BOOST_AUTO_TEST_CASE(contents_come_back_for_random_settings) {
  const std::uint64_t seed = test_seed();
  std::mt19937_64 random(seed);
  for (int i = 0; i < 800; ++i) {
    const EncodeSettings settings = random_settings(random);
    const ByteVector contents = random_contents(random, settings);
    BOOST_TEST_CONTEXT("seed " << seed << ": " << describe(settings, contents.size())) {
      const EncodedChunk chunk = ChunkEncoder(settings).encode(contents);
      BOOST_TEST(chunk.bytes.size() <= ChunkEncoder::max_stored_size(contents.size()));
      const ByteVector decoded = contents_of(chunk, contents.size(), settings.typesize);
      BOOST_TEST(decoded.size() == contents.size());
      if (is_lossless(settings)) BOOST_TEST((decoded == contents));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_same_contents_give_the_same_bytes_whatever_came_before) {
  for (const CodecId id : kCodecs) {
    for (const int level : {1, 4, 5, 9}) {
      const EncodeSettings settings = make_settings(id, level, 4, {kShuffle});
      ChunkEncoder used(settings);
      for (const char* kind : {"floats", "text", "ramp", "islands", "text", "floats"}) {
        const ByteVector contents = make_contents(kind, 7, 150000, 4);
        BOOST_TEST((used.encode(contents).bytes == ChunkEncoder(settings).encode(contents).bytes),
                   describe(settings, contents.size()) << ", " << kind);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(dictionaries_give_the_same_bytes_whatever_came_before) {
  for (const CodecId id : {CodecId::lz4, CodecId::lz4hc, CodecId::zstd}) {
    EncodeSettings settings = make_settings(id, 5, 1);
    settings.blocksize = 8192;
    settings.use_dictionary = true;
    ChunkEncoder used(settings);
    for (const std::uint64_t seed : {1U, 2U, 1U}) {
      const ByteVector contents = make_contents("text", seed, 200000, 1);
      const ByteVector chunk = used.encode(contents).bytes;
      BOOST_TEST((chunk == ChunkEncoder(settings).encode(contents).bytes));
      BOOST_TEST((chunk[31] & codec::kBlosc2Dictionary) != 0);
      BOOST_TEST((decode(chunk) == contents));
    }
  }
}

BOOST_AUTO_TEST_CASE(writes_the_header_of_an_empty_chunk) {
  const ByteVector chunk = encode(make_settings(CodecId::blosclz, 5, 4, {kShuffle}), {});
  BOOST_TEST(to_hex(chunk) == to_hex(from_text("05 01 07 04 00000000 01000000 20000000 0000000000"
                                               "01 00 00 000000000000 00 00")));
}

BOOST_AUTO_TEST_CASE(stores_small_contents_as_they_are) {
  const ByteVector contents = repeated({'a', 'b', 'c', 'd'}, 5);
  ByteVector expected =
      from_text("05 01 07 04 14000000 14000000 34000000 0000000000 01 00 00 000000000000 00 00");
  append(expected, contents);
  BOOST_TEST((encode(make_settings(CodecId::blosclz, 5, 4, {kShuffle}), contents) == expected));
}

BOOST_AUTO_TEST_CASE(stores_unfiltered_what_does_not_compress) {
  const ByteVector contents = noise(5000);
  ByteVector expected =
      from_text("05 01 27 04 88130000 88130000 a8130000 0000000000 01 01 00 000000000000 00 00");
  append(expected, contents);
  BOOST_TEST((encode(make_settings(CodecId::lz4, 5, 4, {kShuffle}), contents) == expected));
}

BOOST_AUTO_TEST_CASE(stores_everything_at_level_0) {
  for (const CodecId id : kCodecs) {
    const ByteVector contents = walk(5000);
    const ByteVector chunk = encode(make_settings(id, 0, 4, {kShuffle}), contents);
    BOOST_TEST(chunk.size() == 5032);
    BOOST_TEST(chunk[2] == 0x07);
    BOOST_TEST((decode(chunk) == contents));
  }
}

BOOST_AUTO_TEST_CASE(writes_the_headers_of_blosc1) {
  EncodeSettings settings = make_settings(CodecId::lz4, 5, 4, {kShuffle});
  settings.blosc1_header = true;
  BOOST_TEST(to_hex(encode(settings, {})) ==
             to_hex(from_text("02 01 33 04 00000000 01000000 10000000")));
  const ByteVector contents = noise(5000);
  ByteVector expected = from_text("02 01 23 04 88130000 88130000 98130000");
  append(expected, contents);
  BOOST_TEST((encode(settings, contents) == expected));
  const ByteVector zeros = encode(settings, ByteVector(5000));  // this header has no special chunks
  BOOST_TEST(zeros[2] == 0x21);
  BOOST_TEST((decode(zeros) == ByteVector(5000)));
}

BOOST_AUTO_TEST_CASE(zeros_and_nans_have_no_stored_bytes) {
  ChunkEncoder floats(make_settings(CodecId::zstd, 5, 4, {kShuffle}));
  ChunkEncoder doubles(make_settings(CodecId::zstd, 5, 8, {kShuffle}));
  for (const std::size_t size : {4U, 32U, 5000U}) {
    BOOST_TEST((floats.encode(ByteVector(size)).special == SpecialValue::zero));
  }
  const ByteVector nan = repeated({0, 0, 0xC0, 0x7F}, 1000);
  const ByteVector wide_nan = repeated({0, 0, 0, 0, 0, 0, 0xF8, 0x7F}, 1000);
  BOOST_TEST((floats.encode(nan).special == SpecialValue::nan));
  BOOST_TEST(floats.encode(nan).bytes.empty());
  BOOST_TEST((doubles.encode(wide_nan).special == SpecialValue::nan));
  BOOST_TEST((doubles.encode(nan).special == SpecialValue::none));
  BOOST_TEST((floats.encode(wide_nan).special == SpecialValue::none));
  ByteVector other_nan = nan;
  other_nan[6] = 0xC1;
  BOOST_TEST((floats.encode(other_nan).special == SpecialValue::none));
}

BOOST_AUTO_TEST_CASE(zeros_that_are_no_whole_items_are_runs) {
  const ByteVector chunk = encode(make_settings(CodecId::lz4, 5, 4, {kShuffle}), ByteVector(5001));
  BOOST_TEST(to_hex({chunk.begin() + 32, chunk.end()}) ==
             to_hex(from_text("28000000 38000000")) + to_hex(ByteVector(20)));
  BOOST_TEST((decode(chunk) == ByteVector(5001)));
}

BOOST_AUTO_TEST_CASE(writes_special_chunks_that_stand_alone) {
  ChunkEncoder encoder(make_settings(CodecId::zstd, 5, 4, {kShuffle}));
  BOOST_TEST(to_hex(encoder.encode_stored(ByteVector(5000))) ==
             to_hex(from_text("05 01 85 04 88130000 88130000 20000000 0000000000 01 05 00"
                              "000000000000 00 10")));
  const ByteVector nan = repeated({0, 0, 0xC0, 0x7F}, 1250);
  const ByteVector stored = encoder.encode_stored(nan);
  BOOST_TEST(to_hex(stored) ==
             to_hex(from_text("05 01 05 04 88130000 88130000 20000000 000000000000"
                              "00 00 000000000000 00 20")));
  BOOST_TEST((decode(stored) == nan));
  BOOST_TEST(encoder.encode_stored(noise(100)).size() == 132);
}

BOOST_AUTO_TEST_CASE(a_repeated_item_is_stored_once) {
  const ByteVector item = noise(300);
  const ByteVector chunk =
      encode(make_settings(CodecId::lz4, 5, 300, {kShuffle}), repeated(item, 10));
  ByteVector expected =
      from_text("05 01 05 01 b80b0000 b80b0000 4c010000 000000000000 00 00 000000000000 00 30");
  append(expected, item);
  BOOST_TEST((chunk == expected));
  BOOST_TEST((decode(chunk, 300) == repeated(item, 10)));
}

BOOST_AUTO_TEST_CASE(constant_streams_are_runs) {
  // The size is not a multiple of the item size, so the chunk cannot be one that repeats an item.
  const ByteVector chunk =
      encode(make_settings(CodecId::lz4, 5, 4, {kShuffle}), ByteVector(5001, 1));
  const ByteVector run = run_stream(1);
  ByteVector streams;
  for (int i = 0; i < 5; ++i) append(streams, run);
  BOOST_TEST(to_hex({chunk.begin() + 32, chunk.end()}) ==
             to_hex(from_text("28000000 3c000000")) + to_hex(streams));
  ByteVector high(5001, 0);
  for (std::size_t i = 3; i < 5000; i += 4) high[i] = 0xFF;
  const ByteVector mixed = encode(make_settings(CodecId::lz4, 5, 4, {kShuffle}), high);
  BOOST_TEST(to_hex({mixed.begin() + 40, mixed.end()}) ==
             to_hex(from_text("00000000 00000000 00000000 01ffffff 01 00000000")));
  BOOST_TEST((decode(mixed) == high));
}

BOOST_AUTO_TEST_CASE(what_a_filter_turns_to_zeros_is_zero) {
  const EncodeSettings settings = make_settings(CodecId::lz4, 5, 4, {{FilterId::int_trunc, 0xE8}});
  ByteVector contents(4000);
  for (std::size_t i = 0; i < 4000; i += 4) contents[i] = static_cast<std::uint8_t>(i / 4 % 7);
  BOOST_TEST((ChunkEncoder(settings).encode(contents).special == SpecialValue::zero));
}

BOOST_AUTO_TEST_CASE(takes_no_more_than_32_bytes_on_top) {
  for (const CodecId id : kCodecs) {
    for (const std::size_t size : {1U, 31U, 32U, 33U, 127U, 128U, 4096U, 70000U}) {
      for (const codec::FilterStep step : {kShuffle, kBitshuffle, kDelta}) {
        EncodeSettings settings = make_settings(id, 9, 8, {step});
        settings.split = codec::SplitMode::always;
        BOOST_TEST(encode(settings, noise(size)).size() == size + 32);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(writes_into_the_callers_buffer) {
  ChunkEncoder encoder(make_settings(CodecId::lz4, 5, 4, {kShuffle}));
  const ByteVector contents = walk(100000);
  ByteVector buffer(ChunkEncoder::max_stored_size(contents.size()), 0xEE);
  const codec::EncodedSize size = encoder.encode_into(contents, buffer);
  buffer.resize(size.stored);
  BOOST_TEST((buffer == encoder.encode(contents).bytes));
  buffer.resize(ChunkEncoder::max_stored_size(contents.size()) - 1);
  BOOST_CHECK_THROW(encoder.encode_into(contents, buffer), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(leaves_out_filters_whose_last_bytes_others_lose) {
  for (const codec::FilterStep step : {kDelta, codec::FilterStep{FilterId::bytedelta, 4}}) {
    ChunkEncoder encoder(make_settings(CodecId::lz4, 5, 4, {step}));
    BOOST_TEST(encoder.encode(walk(4000)).bytes[21] == static_cast<int>(step.id));
    BOOST_TEST(encoder.encode(walk(4001)).bytes[21] == 0);
  }
}

BOOST_AUTO_TEST_CASE(gives_scratch_back) {
  ChunkEncoder encoder(make_settings(CodecId::lz4, 5, 4, {kShuffle}));
  encoder.encode(walk(200000));
  BOOST_TEST(encoder.scratch_memory() >= 200000);
  encoder.trim(1000000);
  BOOST_TEST(encoder.scratch_memory() >= 200000);
  encoder.trim(0);
  BOOST_TEST(encoder.scratch_memory() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace bloscfs::test
