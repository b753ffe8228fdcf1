// Chunks in which some blocks are encoded again.
#include <algorithm>
#include <map>

#include <boost/test/unit_test.hpp>

#include "codec/error.hpp"
#include "tests/codec/encoding.hpp"
#include "tests/support/contents.hpp"

namespace bloscfs::test {
namespace {

using codec::BlockUpdate;
using codec::ByteRange;
using codec::Chunk;
using codec::ChunkEncoder;
using codec::CodecId;
using codec::EncodedChunk;
using codec::EncodeSettings;
using codec::FilterId;
using codec::SpecialValue;

/// A chunk, its expected contents, and blocks that are to be changed.
struct Case {
  ByteVector stored;
  ByteVector contents;
  std::int32_t typesize = 0;
  std::map<std::int32_t, ByteVector> changes;

  Chunk chunk() const { return codec::open_chunk(stored, typesize); }

  void change(std::int32_t block, const ByteVector& with) {
    const Chunk opened = chunk();
    const ByteRange range = opened.block_content(block);
    ByteVector bytes(with.begin(), with.begin() + range.size);
    std::copy(bytes.begin(), bytes.end(), contents.begin() + range.offset);
    changes[block] = std::move(bytes);
  }

  EncodedChunk update(ChunkEncoder& encoder) const {
    std::vector<BlockUpdate> updates;
    for (const auto& change : changes) updates.push_back({change.first, change.second});
    return encoder.update(chunk(), stored, updates);
  }
};

Case make_case(const EncodeSettings& settings, const ByteVector& contents) {
  return {ChunkEncoder(settings).encode_stored(contents), contents, settings.typesize, {}};
}

ByteVector block_bytes(const ByteVector& stored, std::int32_t block, std::int32_t typesize) {
  const ByteRange range = codec::open_chunk(stored, typesize).block_stored(block);
  return {stored.begin() + range.offset, stored.begin() + range.offset + range.size};
}

void check_update(const Case& changed, const EncodedChunk& result) {
  const ByteVector bytes = stored_bytes(result, changed.contents.size(), changed.typesize);
  BOOST_TEST(bytes.size() <= changed.contents.size() + 32);
  BOOST_TEST((decode(bytes, changed.typesize) == changed.contents));
}

EncodeSettings blocks_of(std::int32_t blocksize, CodecId id = CodecId::lz4) {
  EncodeSettings settings = make_settings(id, 5, 4, {kShuffle});
  settings.blocksize = blocksize;
  return settings;
}

BOOST_AUTO_TEST_SUITE(chunk_update)

BOOST_AUTO_TEST_CASE(random_updates_give_the_new_contents) {
  const std::uint64_t seed = test_seed();
  std::mt19937_64 random(seed);
  for (int i = 0; i < 600; ++i) {
    EncodeSettings settings = random_settings(random);
    while (!is_lossless(settings)) settings = random_settings(random);
    const ByteVector contents = random_contents(random, settings);
    Case one = make_case(settings, contents);
    const std::int32_t blocks = one.chunk().block_count();
    for (std::size_t n = random() % 4; n > 0 && blocks > 0; --n) {
      const auto block = static_cast<std::int32_t>(random() % static_cast<unsigned>(blocks));
      const auto& kinds = content_kinds();
      one.change(block, make_contents(kinds[random() % kinds.size()], random(), contents.size(),
                                      static_cast<std::size_t>(settings.typesize)));
    }
    EncodeSettings later = random() % 2 == 0 ? settings : random_settings(random);
    while (!is_lossless(later)) later = random_settings(random);
    later.typesize = settings.typesize;
    if (settings.typesize > 255) later.blosc1_header = false;
    BOOST_TEST_CONTEXT("seed " << seed << ": " << describe(settings, contents.size()) << "; then "
                               << describe(later, contents.size()) << "; " << one.changes.size()
                               << " changes") {
      ChunkEncoder encoder(later);
      check_update(one, one.update(encoder));
    }
  }
}

BOOST_AUTO_TEST_CASE(copies_the_bytes_of_untouched_blocks) {
  for (const CodecId id : {CodecId::blosclz, CodecId::zstd}) {
    Case one = make_case(blocks_of(4096, id), walk(50000));
    one.change(3, walk(50000, 2));
    one.change(12, walk(50000, 3));
    // The encoder has other settings than the chunk. The chunk keeps its own.
    ChunkEncoder encoder(make_settings(CodecId::lz4, 9, 4));
    const EncodedChunk result = one.update(encoder);
    check_update(one, result);
    BOOST_TEST((result.bytes[22] == static_cast<int>(id)));
    for (std::int32_t block = 0; block < 13; ++block) {
      const bool same = block_bytes(result.bytes, block, 4) == block_bytes(one.stored, block, 4);
      BOOST_TEST(same == (block != 3 && block != 12), "block " << block);
    }
  }
}

BOOST_AUTO_TEST_CASE(keeps_the_dictionary) {
  for (const CodecId id : {CodecId::lz4, CodecId::lz4hc, CodecId::zstd}) {
    EncodeSettings settings = make_settings(id, 5, 1);
    settings.blocksize = 8192;
    settings.use_dictionary = true;
    Case one = make_case(settings, make_contents("text", 1, 200000, 1));
    one.change(5, make_contents("text", 2, 200000, 1));
    ChunkEncoder encoder(make_settings(CodecId::lz4, 5, 1));
    const EncodedChunk result = one.update(encoder);
    check_update(one, result);
    const codec::Bytes dictionary = codec::open_chunk(result.bytes, 1).dictionary();
    BOOST_TEST(dictionary.size() > 0);
    BOOST_TEST(dictionary.size() == one.chunk().dictionary().size());
  }
}

BOOST_AUTO_TEST_CASE(zeroed_blocks_are_runs_and_a_zeroed_chunk_is_special) {
  Case one = make_case(blocks_of(4096), walk(10000));
  one.change(0, ByteVector(10000));
  ChunkEncoder encoder(blocks_of(4096));
  const EncodedChunk first = one.update(encoder);
  check_update(one, first);
  BOOST_TEST((block_bytes(first.bytes, 0, 4) == ByteVector(16)));
  Case rest{first.bytes, one.contents, 4, {}};
  rest.change(1, ByteVector(10000));
  rest.change(2, ByteVector(10000));
  BOOST_TEST((rest.update(encoder).special == SpecialValue::zero));
}

BOOST_AUTO_TEST_CASE(blocks_that_refer_to_block_0_follow_it) {
  EncodeSettings settings = make_settings(CodecId::lz4, 5, 4, {kDelta, kShuffle});
  settings.blocksize = 4096;
  ChunkEncoder encoder(settings);
  Case one = make_case(settings, walk(20000));
  one.change(0, walk(20000, 5));
  check_update(one, one.update(encoder));
  Case other = make_case(settings, walk(20000));
  other.change(2, walk(20000, 5));
  const EncodedChunk result = other.update(encoder);
  check_update(other, result);
  BOOST_TEST((block_bytes(result.bytes, 4, 4) == block_bytes(other.stored, 4, 4)));
}

BOOST_AUTO_TEST_CASE(chunks_without_blocks_are_encoded_afresh) {
  const ByteVector item{1, 2, 3, 4};
  ByteVector repeated;
  while (repeated.size() < 600000) append(repeated, item);
  for (const ByteVector& contents : {ByteVector(600000), repeated, noise(600000)}) {
    Case one = make_case(blocks_of(4096), contents);
    BOOST_TEST(!one.chunk().header().has_block_starts());
    one.change(1, walk(600000));
    ChunkEncoder encoder(blocks_of(4096));
    check_update(one, one.update(encoder));
  }
}

BOOST_AUTO_TEST_CASE(special_chunks_of_an_index_are_encoded_afresh) {
  const Chunk zeros = Chunk::make_special(SpecialValue::zero, 100000, 4);
  const ByteVector block = walk(static_cast<std::size_t>(zeros.block_content(0).size));
  const BlockUpdate update{0, block};
  ChunkEncoder encoder(blocks_of(4096));
  const EncodedChunk result = encoder.update(zeros, {}, {&update, 1});
  ByteVector expected(100000);
  std::copy(block.begin(), block.end(), expected.begin());
  BOOST_TEST((decode(result.bytes, 4) == expected));
}

BOOST_AUTO_TEST_CASE(no_change_gives_an_equal_chunk) {
  const Case one = make_case(blocks_of(4096), walk(50000));
  ChunkEncoder encoder(blocks_of(4096));
  BOOST_TEST((one.update(encoder).bytes == one.stored));
}

BOOST_AUTO_TEST_CASE(a_chunk_that_outgrows_its_contents_is_stored_plainly) {
  Case one = make_case(blocks_of(4096), walk(50000));
  for (std::int32_t block = 0; block < 12; ++block) one.change(block, noise(50000));
  ChunkEncoder encoder(blocks_of(4096));
  check_update(one, one.update(encoder));
}

BOOST_AUTO_TEST_CASE(damage_stays_in_its_block) {
  Case one = make_case(blocks_of(4096), walk(50000));
  const auto bad = static_cast<std::size_t>(one.chunk().block_stored(7).offset);
  put_int32(one.stored, bad, 1 << 30);
  one.change(3, walk(50000, 2));
  ChunkEncoder encoder(blocks_of(4096));
  const ByteVector updated = one.update(encoder).bytes;
  BOOST_TEST(malformed(updated, 4).find("block 7") != std::string::npos);
  BOOST_TEST((block_bytes(updated, 8, 4) == block_bytes(one.stored, 8, 4)));
}

BOOST_AUTO_TEST_CASE(refuses_contents_of_another_size) {
  const Case one = make_case(blocks_of(4096), walk(50000));
  ChunkEncoder encoder(blocks_of(4096));
  const ByteVector wrong(4095);
  const BlockUpdate update{0, wrong};
  BOOST_CHECK_THROW(encoder.update(one.chunk(), one.stored, {&update, 1}), std::invalid_argument);
  const BlockUpdate beyond{13, wrong};
  BOOST_CHECK_THROW(encoder.update(one.chunk(), one.stored, {&beyond, 1}), std::out_of_range);
  BOOST_CHECK_THROW(encoder.update(one.chunk(), {}, {}), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace bloscfs::test
