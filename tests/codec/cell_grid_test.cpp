// NDCELL and NDMEAN, and changes of blocks in chunks whose codecs or filters use the shape of
// blocks.
#include <cstring>

#include <boost/test/unit_test.hpp>

#include "codec/chunk_encoder.hpp"
#include "codec/compressor/codec_table.hpp"
#include "tests/codec/array_chunks.hpp"
#include "tests/codec/chunk_builder.hpp"
#include "tests/support/contents.hpp"

namespace bloscfs::test {

using codec::CodecId;
using codec::EncodeSettings;
using codec::FilterId;

BOOST_AUTO_TEST_SUITE(cells)

namespace {

ByteVector filtered(const EncodeSettings& settings, const ByteVector& block) {
  codec::ChunkHeader h;
  h.typesize = h.full_typesize = settings.typesize;
  h.filters = settings.filters;
  h.block_shape = settings.block_shape;
  codec::BlockEncoder encoder(5);
  const codec::Bytes bytes = encoder.filter(h, true, {}, block);
  return {bytes.begin(), bytes.end()};
}

std::string cells_problem(FilterId id, std::uint8_t side, std::int32_t typesize,
                          const Extents& shape) {
  return problem_of(array_settings(CodecId::lz4, 0, typesize, shape, {{id, side}}));
}

}  // namespace

BOOST_AUTO_TEST_CASE(stand_one_behind_the_other) {
  const EncodeSettings settings =
      array_settings(CodecId::lz4, 0, 1, {4, 8}, {{FilterId::ndcell, 2}});
  const ByteVector wanted{0,  1,  8,  9,  2,  3,  10, 11, 4,  5,  12, 13, 6,  7,  14, 15,
                          16, 17, 24, 25, 18, 19, 26, 27, 20, 21, 28, 29, 22, 23, 30, 31};
  BOOST_TEST(filtered(settings, ascending(32)) == wanted);
}

BOOST_AUTO_TEST_CASE(are_cut_off_at_the_edge) {
  const EncodeSettings settings =
      array_settings(CodecId::lz4, 0, 1, {3, 5}, {{FilterId::ndcell, 2}});
  const ByteVector wanted{0, 1, 5, 6, 2, 3, 7, 8, 4, 9, 10, 11, 12, 13, 14};
  BOOST_TEST(filtered(settings, ascending(15)) == wanted);
}

BOOST_AUTO_TEST_CASE(decode_to_what_was_encoded) {
  for (const Extents& shape :
       {Extents{100}, {20, 30}, {5, 6, 7}, {3, 4, 5, 6}, {2, 3, 2, 3, 2, 3, 2, 3}})
    for (const std::uint8_t side : ByteVector{1, 2, 3})
      for (const std::int32_t typesize : {1, 3, 8, 300}) {
        if (cells_problem(FilterId::ndcell, side, typesize, shape) != "") continue;
        const EncodeSettings settings = array_settings(
            CodecId::lz4, 0, typesize, shape, {{FilterId::ndcell, side}, {FilterId::shuffle, 0}});
        const ByteVector contents =
            make_contents("floats", 3, static_cast<std::size_t>(3 * settings.blocksize),
                          static_cast<std::size_t>(typesize));
        const ByteVector chunk = codec::ChunkEncoder(settings).encode_stored(contents);
        BOOST_TEST((decode_array(chunk, typesize, shape) == contents));
      }
}

BOOST_AUTO_TEST_CASE(become_their_means) {
  const EncodeSettings settings =
      array_settings(CodecId::lz4, 0, 4, {3, 4}, {{FilterId::ndmean, 2}});
  const float items[] = {1, 2, 5, 6, 3, 4, 7, 8, 10, 12, 20, 30};
  const float means[] = {2.5, 2.5, 6.5, 6.5, 2.5, 2.5, 6.5, 6.5, 11, 11, 25, 25};
  ByteVector contents(sizeof(items)), wanted(sizeof(means));
  std::memcpy(contents.data(), items, sizeof(items));
  std::memcpy(wanted.data(), means, sizeof(means));
  const ByteVector chunk = codec::ChunkEncoder(settings).encode_stored(contents);
  BOOST_TEST((decode_array(chunk, 4, {3, 4}) == wanted));
}

BOOST_AUTO_TEST_CASE(are_refused_where_they_do_not_fit) {
  using enum FilterId;
  BOOST_TEST(cells_problem(ndcell, 0, 4, {8, 8}) == "filter ndcell: a cell of side 0");
  BOOST_TEST(cells_problem(ndcell, 4, 4, {3, 20}) == "");
  BOOST_TEST(cells_problem(ndcell, 4, 4, {2, 5}) ==
             "filter ndcell: a cell of side 4 is larger than a block");
  BOOST_TEST(cells_problem(ndcell, 255, 4, {16, 16, 16, 16, 16}) ==
             "filter ndcell: a cell of side 255 is larger than a block");
  BOOST_TEST(cells_problem(ndmean, 4, 8, {2, 3}) == "");
  BOOST_TEST(cells_problem(ndmean, 4, 8, {20, 3}) == "");
  BOOST_TEST(
      cells_problem(ndmean, 4, 8, {3, 20}).starts_with("filter ndmean: a cell of side 4 in"));
  BOOST_TEST(cells_problem(ndmean, 128, 8, {20, 3}) == "filter ndmean: a cell of side 128");
  BOOST_TEST(cells_problem(ndmean, 4, 2, {20, 3}).starts_with("filter ndmean: items of 2 bytes"));
}

BOOST_AUTO_TEST_CASE(are_malformed_in_blocks_of_another_shape) {
  ChunkPlan plan;
  plan.typesize = 2;
  plan.nbytes = plan.blocksize = 64;
  plan.filters = {{FilterId::ndcell, 2}};
  const ByteVector chunk = build_chunk(plan, {raw_stream(ascending(64))});
  BOOST_TEST(array_refusal(chunk, 2, {4, 8}) == "");
  BOOST_TEST(array_refusal(chunk, 2, {8, 8}) ==
             "filter ndcell: a block of 64 bytes is not 8x8 items of 2");
  for (const Extents& shape : {Extents{0, 32}, {-1, -32}, {2147483647, 2147483647}, {4, 4}})
    BOOST_TEST(array_refusal(chunk, 2, shape) != "");
  BOOST_TEST(array_refusal(chunk, 1, {4, 8}) != "");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(changed_arrays)

namespace {

/// Returns the chunk after `later` has encoded its second block again.
ByteVector with_new_block(const EncodeSettings& first, const EncodeSettings& later,
                          const ByteVector& contents, const ByteVector& block) {
  const ByteVector stored = codec::ChunkEncoder(first).encode_stored(contents);
  const codec::Chunk chunk = codec::open_chunk(stored, first.typesize, first.block_shape);
  return codec::ChunkEncoder(later).update(chunk, stored, {{{1, block}}}).bytes;
}

}  // namespace

BOOST_AUTO_TEST_CASE(stay_in_the_codec_of_their_shape) {
  const Extents shape{32, 32};
  const EncodeSettings settings =
      array_settings(CodecId::ndlz, 4, 1, shape, {{FilterId::ndcell, 4}});
  ByteVector contents(4096, 1);
  for (std::size_t i = 0; i < contents.size(); i += 37) contents[i] = static_cast<std::uint8_t>(i);
  const ByteVector block(contents.begin() + 100, contents.begin() + 1124);
  const ByteVector chunk = with_new_block(settings, settings, contents, block);
  std::copy(block.begin(), block.end(), contents.begin() + 1024);
  BOOST_TEST((decode_array(chunk, 1, shape) == contents));
  BOOST_TEST((codec::open_chunk(chunk, 1).header().codec == CodecId::ndlz));
}

BOOST_AUTO_TEST_CASE(lose_no_more_than_they_had) {
  const Extents shape{9, 9};
  const EncodeSettings lossless = array_settings(CodecId::zstd, 0, 8, shape);
  std::vector<EncodeSettings> all{
      array_settings(CodecId::lz4, 0, 8, shape, {{FilterId::ndmean, 3}})};
  if (codec::can_compress(CodecId::zfp_rate))
    all.push_back(array_settings(CodecId::zfp_rate, 20, 8, shape));
  for (const EncodeSettings& lossy : all) {
    const ByteVector contents = make_contents("floats", 3, 3 * 648, 8);
    const ByteVector block = make_contents("floats", 4, 648, 8);
    ByteVector wanted = decode_array(codec::ChunkEncoder(lossy).encode_stored(contents), 8, shape);
    std::copy(block.begin(), block.end(), wanted.begin() + 648);
    BOOST_TEST(
        (decode_array(with_new_block(lossy, lossless, contents, block), 8, shape) == wanted));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
