// Streams of every kind and codec, and damage to each of their fields.
#include "codec/block_decoder.hpp"

#include <boost/test/unit_test.hpp>
#include <lz4.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include "codec/error.hpp"
#include "codec/filter/shuffle.hpp"
#include "tests/codec/chunk_builder.hpp"
#include "tests/support/decode_chunk.hpp"
#include "tests/support/hex.hpp"

namespace bloscfs::test {
namespace {

using codec::CodecId;
using codec::FilterId;

constexpr std::size_t kBlock = 4000;

ByteVector lz4_stream(const ByteVector& in) {
  ByteVector out(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(in.size()))));
  out.resize(static_cast<std::size_t>(LZ4_compress_default(
      reinterpret_cast<const char*>(in.data()), reinterpret_cast<char*>(out.data()),
      static_cast<int>(in.size()), static_cast<int>(out.size()))));
  return out;
}

ByteVector zlib_stream(const ByteVector& in) {
  uLongf size = compressBound(in.size());
  ByteVector out(size);
  compress(out.data(), &size, in.data(), in.size());
  out.resize(size);
  return out;
}

ByteVector zstd_stream(const ByteVector& in) {
  ByteVector out(ZSTD_compressBound(in.size()));
  out.resize(ZSTD_compress(out.data(), out.size(), in.data(), in.size(), 3));
  return out;
}

ByteVector snappy_stream(const ByteVector& in) {
  std::size_t size = snappy_max_compressed_length(in.size());
  ByteVector out(size);
  snappy_compress(reinterpret_cast<const char*>(in.data()), in.size(),
                  reinterpret_cast<char*>(out.data()), &size);
  out.resize(size);
  return out;
}

/// `format` is the codec number in the flags byte.
ChunkPlan plan_of(int format, std::size_t nbytes = kBlock, std::size_t blocksize = kBlock) {
  ChunkPlan plan;
  plan.flags = static_cast<std::uint8_t>(0x15 | format << 5);
  plan.nbytes = static_cast<std::int32_t>(nbytes);
  plan.blocksize = static_cast<std::int32_t>(blocksize);
  return plan;
}

ChunkPlan snappy_plan(std::size_t nbytes = kBlock) {
  ChunkPlan plan = plan_of(2, nbytes, nbytes);
  plan.version = 2;
  plan.flags = 0x10 | 2 << 5;
  return plan;
}

struct CodecCase {
  const char* name;
  ChunkPlan plan;
  ByteVector stream;
};

std::vector<CodecCase> codec_cases() {
  const ByteVector contents = walk(kBlock);
  return {{"lz4", plan_of(1), lz4_stream(contents)},
          {"zlib", plan_of(3), zlib_stream(contents)},
          {"zstd", plan_of(4), zstd_stream(contents)},
          {"snappy", snappy_plan(), snappy_stream(contents)}};
}

/// Makes a chunk of one block with one stream.
ByteVector one_stream(const ChunkPlan& plan, const ByteVector& stream) {
  return build_chunk(plan, {stream});
}

BOOST_AUTO_TEST_SUITE(block_decoder)

BOOST_AUTO_TEST_CASE(decodes_streams_of_each_codec) {
  for (const CodecCase& c : codec_cases()) {
    BOOST_TEST((decode(one_stream(c.plan, coded_stream(c.stream))) == walk(kBlock)), c.name);
  }
}

BOOST_AUTO_TEST_CASE(rejects_streams_that_decode_to_another_size) {
  for (CodecCase& c : codec_cases()) {
    for (const int change : {-1, 1}) {
      c.plan.nbytes = c.plan.blocksize = static_cast<std::int32_t>(kBlock) + change;
      BOOST_TEST(malformed(one_stream(c.plan, coded_stream(c.stream))) != "", c.name);
    }
  }
}

BOOST_AUTO_TEST_CASE(rejects_a_codec_stream_cut_short) {
  for (const CodecCase& c : codec_cases()) {
    for (std::size_t size = 1; size < c.stream.size(); size += 7) {
      const ByteVector cut(c.stream.begin(), c.stream.begin() + static_cast<std::ptrdiff_t>(size));
      BOOST_TEST(malformed(one_stream(c.plan, coded_stream(cut))) != "",
                 c.name << " cut to " << size);
    }
  }
}

BOOST_AUTO_TEST_CASE(rejects_a_chunk_cut_anywhere) {
  for (const CodecCase& c : codec_cases()) {
    const ByteVector whole = one_stream(c.plan, coded_stream(c.stream));
    for (std::size_t size = 0; size < whole.size(); ++size) {
      ByteVector cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      BOOST_REQUIRE(malformed(cut) != "");
      if (size < 32) continue;  // also with a header whose cbytes is right
      put_int32(cut, 12, static_cast<std::int32_t>(size));
      BOOST_REQUIRE(malformed(cut) != "");
    }
  }
}

BOOST_AUTO_TEST_CASE(decodes_zero_run_and_raw_streams) {
  ChunkPlan plan = plan_of(0, 40, 40);
  plan.typesize = 4;
  plan.flags = 0x05;
  ByteVector streams;
  append(streams, zero_stream());
  append(streams, run_stream(1));
  append(streams, run_stream(255));
  append(streams, raw_stream(noise(10)));
  ByteVector expected(10);
  expected.resize(20, 1);
  expected.resize(30, 255);
  append(expected, noise(10));
  BOOST_TEST((decode(one_stream(plan, streams)) == expected));
}

BOOST_AUTO_TEST_CASE(unshuffles_streams_of_every_kind) {
  constexpr std::size_t kElements = 1000;
  for (const int typesize : {2, 3, 4, 5, 8, 16, 24}) {
    ByteVector shuffled, stored;
    for (unsigned i = 0; i < static_cast<unsigned>(typesize); ++i) {
      const ByteVector streams[] = {noise(kElements, i), walk(kElements, i),
                                    ByteVector(kElements, 0),
                                    ByteVector(kElements, static_cast<std::uint8_t>(i))};
      const ByteVector& stream = streams[i % 4];
      append(shuffled, stream);
      append(stored, i % 4 == 0   ? raw_stream(stream)
                     : i % 4 == 1 ? coded_stream(lz4_stream(stream))
                     : i % 4 == 2 ? zero_stream()
                                  : run_stream(static_cast<std::uint8_t>(i)));
    }
    ChunkPlan plan = plan_of(1, shuffled.size(), shuffled.size());
    plan.flags = 0x05 | 1 << 5;
    plan.typesize = static_cast<std::uint8_t>(typesize);
    plan.filters = {{FilterId::trunc_prec, 0}, {FilterId::shuffle, 0}};
    ByteVector expected(shuffled.size());
    codec::unshuffle_scalar(shuffled, expected, plan.typesize);
    BOOST_TEST((decode(build_chunk(plan, {stored})) == expected), "typesize " << typesize);
  }
}

BOOST_AUTO_TEST_CASE(decodes_the_run_example_of_the_format) {
  ChunkPlan plan = plan_of(1, 5000, 5000);
  plan.typesize = 4;
  plan.flags = 0x05 | 1 << 5;
  plan.filters = {{FilterId::shuffle, 0}};
  ByteVector streams;
  for (int i = 0; i < 4; ++i) append(streams, from_hex("ffffffff01"));
  BOOST_TEST((decode(one_stream(plan, streams)) == ByteVector(5000, 1)));
}

BOOST_AUTO_TEST_CASE(rejects_bad_stream_sizes_and_tokens) {
  const ChunkPlan plan = plan_of(1, 40, 40);
  for (const std::int32_t size : {-256, -257, 41, 0x7FFFFFFF, -0x7FFFFFFF - 1, 38}) {
    ByteVector stream = raw_stream(noise(40));
    put_int32(stream, 0, size);
    BOOST_TEST(malformed(one_stream(plan, stream)) != "", "stream size " << size);
  }
  ByteVector run = run_stream(7);
  run[4] = 2;
  BOOST_TEST(malformed(one_stream(plan, run)) != "");
  run.pop_back();
  BOOST_TEST(malformed(one_stream(plan, run)) != "");
}

BOOST_AUTO_TEST_CASE(accepts_snappy_streams_longer_than_their_contents) {
  const ByteVector stream = snappy_stream(noise(1));
  BOOST_TEST(stream.size() == 3U);
  BOOST_TEST((decode(one_stream(snappy_plan(1), coded_stream(stream))) == noise(1)));
}

BOOST_AUTO_TEST_CASE(rejects_blocks_that_do_not_split_evenly) {
  ChunkPlan plan = plan_of(0, 10, 5);
  plan.typesize = 8;
  plan.flags = 0x05;
  BOOST_TEST(malformed(build_chunk(plan, {raw_stream(noise(5)), raw_stream(noise(5))})) != "");
}

BOOST_AUTO_TEST_CASE(damage_in_one_block_leaves_the_others_readable) {
  ByteVector bad = raw_stream(noise(10));
  put_int32(bad, 0, 11);
  const ByteVector bytes = build_chunk(plan_of(1, 20, 10), {bad, raw_stream(noise(10))});
  const codec::Chunk chunk = codec::open_chunk(bytes, 0);
  codec::BlockDecoder decoder;
  ByteVector out(10);
  const auto decode_block = [&](std::int32_t block) {
    const codec::ByteRange range = chunk.block_stored(block);
    decoder.decode(chunk, block,
                   codec::Bytes(bytes).subspan(static_cast<std::size_t>(range.offset),
                                               static_cast<std::size_t>(range.size)),
                   {}, out);
  };
  BOOST_CHECK_THROW(decode_block(0), codec::Error);
  BOOST_CHECK_NO_THROW(decode_block(1));
  BOOST_TEST((out == noise(10)));
}

BOOST_AUTO_TEST_CASE(names_codecs_that_it_lacks_but_reads_plain_streams) {
  ChunkPlan plan = plan_of(6, 10, 10);
  plan.codec_id = static_cast<std::uint8_t>(CodecId::grok);
  BOOST_TEST(unsupported(one_stream(plan, coded_stream(noise(5)))) ==
             "codec grok is not supported");
  BOOST_TEST((decode(one_stream(plan, raw_stream(noise(10)))) == noise(10)));
  BOOST_TEST((decode(one_stream(plan, zero_stream())) == ByteVector(10)));
  BOOST_TEST((decode(one_stream(plan, run_stream(3))) == ByteVector(10, 3)));
  plan.codec_id = 160;
  BOOST_TEST(unsupported(one_stream(plan, coded_stream(noise(5)))) ==
             "codec codec160 is not supported");
}

BOOST_AUTO_TEST_CASE(decodes_with_a_raw_dictionary) {
  ChunkPlan plan = plan_of(1);
  plan.blosc2_flags = 1;
  plan.dictionary = noise(1000, 3);
  ByteVector contents = walk(kBlock - 1000);
  append(contents, plan.dictionary);
  LZ4_stream_t* const stream = LZ4_createStream();
  LZ4_loadDict(stream, reinterpret_cast<const char*>(plan.dictionary.data()), 1000);
  ByteVector out(kBlock);
  out.resize(static_cast<std::size_t>(LZ4_compress_fast_continue(
      stream, reinterpret_cast<const char*>(contents.data()), reinterpret_cast<char*>(out.data()),
      static_cast<int>(kBlock), static_cast<int>(kBlock), 1)));
  LZ4_freeStream(stream);
  const ByteVector good = one_stream(plan, coded_stream(out));
  BOOST_TEST((decode(good) == contents));
  plan.dictionary = noise(1000, 4);
  BOOST_TEST((decode(one_stream(plan, coded_stream(out))) != contents));
}

BOOST_AUTO_TEST_CASE(one_decoder_keeps_the_dictionaries_of_chunks_apart) {
  codec::BlockDecoder decoder;
  for (const std::uint32_t seed : {5U, 6U, 5U}) {
    ChunkPlan plan = plan_of(4);
    plan.blosc2_flags = 1;
    plan.dictionary = noise(1000, seed);
    ByteVector contents = walk(kBlock - 1000);
    append(contents, plan.dictionary);
    ByteVector out(ZSTD_compressBound(kBlock));
    ZSTD_CCtx* const context = ZSTD_createCCtx();
    out.resize(ZSTD_compress_usingDict(context, out.data(), out.size(), contents.data(), kBlock,
                                       plan.dictionary.data(), plan.dictionary.size(), 1));
    ZSTD_freeCCtx(context);
    const ByteVector chunk = one_stream(plan, coded_stream(out));
    BOOST_TEST((decode_chunk(chunk, 0, kBlock, decoder) == contents));
  }
}

BOOST_AUTO_TEST_CASE(rejects_a_damaged_zstd_dictionary) {
  ChunkPlan plan = plan_of(4);
  plan.blosc2_flags = 1;
  plan.dictionary = from_hex("37a430ec0000000000000000ffffffffffff");
  BOOST_TEST(malformed(one_stream(plan, coded_stream(zstd_stream(walk(kBlock))))) != "");
}

BOOST_AUTO_TEST_CASE(vl_blocks_are_their_own_delta_reference) {
  ChunkPlan plan = plan_of(1, 80, 2);
  plan.version = 6;
  plan.flags2 = 1;
  plan.typesize = 8;
  plan.filters = {{FilterId::delta, 0}};
  ByteVector ones(40);
  ones[0] = 9;  // the other bytes are zeros, so XOR changes nothing
  const ByteVector chunk = build_chunk(plan, {raw_stream(ones), raw_stream(ones)});
  ByteVector expected;
  for (int i = 0; i < 10; ++i) append(expected, {9, 0, 0, 0, 0, 0, 0, 0});
  BOOST_TEST((decode(chunk) == expected));
}

BOOST_AUTO_TEST_CASE(rejects_vl_streams_longer_than_their_contents) {
  ChunkPlan plan = plan_of(1, 10, 1);
  plan.version = 6;
  plan.flags2 = 1;
  ByteVector block = raw_stream(noise(10));
  BOOST_TEST((decode(build_chunk(plan, {block})) == noise(10)));
  block.push_back(0);
  BOOST_TEST(malformed(build_chunk(plan, {block})) != "");
}

BOOST_AUTO_TEST_CASE(refuses_chunks_larger_than_allowed) {
  codec::BlockDecoder decoder;
  const ByteVector chunk = one_stream(plan_of(1, 1000, 1000), zero_stream());
  BOOST_TEST(decode_chunk(chunk, 0, 1000, decoder).size() == 1000U);
  BOOST_CHECK_EXCEPTION(decode_chunk(chunk, 0, 999, decoder), codec::Error,
                        [](const codec::Error& e) {
                          return e.code() == make_error_code(codec::FormatErrc::too_large);
                        });
}

BOOST_AUTO_TEST_CASE(scratch_grows_on_demand_and_is_given_back) {
  ChunkPlan plan = plan_of(1, 1000, 1000);
  plan.typesize = 4;
  codec::BlockDecoder decoder;
  decode_chunk(one_stream(plan, zero_stream()), 0, 1000, decoder);
  BOOST_TEST(decoder.scratch_memory() == 0U);
  plan.filters = {{FilterId::shuffle, 0}};
  decode_chunk(one_stream(plan, zero_stream()), 0, 1000, decoder);
  BOOST_TEST(decoder.scratch_memory() == 1000U);
  decoder.trim(100);
  BOOST_TEST(decoder.scratch_memory() <= 100U);
  decode_chunk(one_stream(plan, zero_stream()), 0, 1000, decoder);
}

BOOST_AUTO_TEST_CASE(refuses_buffers_that_do_not_fit) {
  const ByteVector bytes = one_stream(plan_of(1, 10, 10), raw_stream(noise(10)));
  const codec::Chunk chunk = codec::open_chunk(bytes, 0);
  codec::BlockDecoder decoder;
  ByteVector out(10);
  const codec::Bytes stored = codec::Bytes(bytes).subspan(36);
  BOOST_CHECK_NO_THROW(decoder.decode(chunk, 0, stored, {}, out));
  BOOST_CHECK_THROW(decoder.decode(chunk, 0, stored.first(13), {}, out), std::invalid_argument);
  out.pop_back();
  BOOST_CHECK_THROW(decoder.decode(chunk, 0, stored, {}, out), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace bloscfs::test
