// Codecs and filters that go by the shape of an array's blocks.
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include <boost/test/unit_test.hpp>

#include "codec/chunk_encoder.hpp"
#include "codec/compressor/codec_table.hpp"
#include "codec/error.hpp"
#include "tests/codec/chunk_builder.hpp"
#include "tests/codec/encoding.hpp"
#include "tests/support/contents.hpp"

namespace bloscfs::test {
namespace {

using codec::BlockShape;
using codec::CodecId;
using codec::CodecUse;
using codec::EncodeSettings;
using codec::FilterId;
using Extents = std::vector<std::int32_t>;

ByteVector decode_array(const ByteVector& chunk, std::int32_t typesize, const Extents& shape) {
  const codec::Chunk opened = codec::open_chunk(chunk, typesize, BlockShape(shape));
  ByteVector out(static_cast<std::size_t>(opened.nbytes()));
  codec::BlockDecoder().decode_all(opened, chunk, out);
  return out;
}

std::string refusal(const ByteVector& chunk, std::int32_t typesize, const Extents& shape) {
  try {
    decode_array(chunk, typesize, shape);
  } catch (const codec::Error& error) {
    return error.what();
  }
  return {};
}

/// Chunks of blocks of that shape.
EncodeSettings array_settings(CodecId id, std::uint8_t meta, std::int32_t typesize,
                              const Extents& shape,
                              std::initializer_list<codec::FilterStep> filters = {}) {
  EncodeSettings settings = make_settings(id, 5, typesize, filters);
  settings.codec_meta = meta;
  settings.block_shape = BlockShape(shape);
  settings.blocksize = static_cast<std::int32_t>(settings.block_shape.block_size(typesize));
  if (id == CodecId::ndlz && typesize > 1) settings.split = codec::SplitMode::always;
  return settings;
}

std::string problem_of(const EncodeSettings& settings) {
  try {
    check_settings(settings);
  } catch (const codec::Error& error) {
    return error.what();
  }
  return {};
}

ByteVector ascending(std::size_t size) {
  ByteVector bytes(size);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  return bytes;
}

// --- NDLZ

ByteVector ndlz_header(std::int32_t rows, std::int32_t columns) {
  ByteVector stream{2};
  append_int32(stream, rows);
  append_int32(stream, columns);
  return stream;
}

/// Empty where the stream is refused.
ByteVector read_ndlz(const ByteVector& stream, std::uint8_t side, std::size_t size,
                     const Extents& shape = {}) {
  ByteVector out(size);
  CodecUse use;
  use.meta = side;
  use.shape = BlockShape(shape);
  const bool good = codec::make_decompressor(CodecId::ndlz)->decompress(stream, use, out);
  return good ? out : ByteVector();
}

/// One literal cell 0, 1, 2..., and beside it one with that token and what follows it.
ByteVector two_cells(std::uint8_t side, const ByteVector& second) {
  ByteVector stream = ndlz_header(side, 2 * side);
  stream.push_back(0);
  append(stream, ascending(std::size_t{side} * side));
  append(stream, second);
  return stream;
}

/// The rows of the second cell; empty where the stream is refused.
std::vector<ByteVector> second_cell(std::uint8_t side, const ByteVector& second) {
  const ByteVector block = read_ndlz(two_cells(side, second), side, std::size_t{2} * side * side);
  std::vector<ByteVector> rows;
  for (std::size_t at = side; at < block.size(); at += std::size_t{2} * side) {
    const auto row = block.begin() + static_cast<std::ptrdiff_t>(at);
    rows.emplace_back(row, row + side);
  }
  return rows;
}

/// The token, and an offset to byte `at` of the first cell.
ByteVector token_to(std::uint8_t token, std::uint8_t side, std::size_t at) {
  return {token, static_cast<std::uint8_t>(std::size_t{side} * side - at), 0};
}

/// Rows of the second cell by the token that takes some of them from the first cell's second row
/// on, with literal bytes 200, 201... for the others.
void check_row_token(std::uint8_t side, std::uint8_t token, const std::vector<int>& rows) {
  ByteVector second = token_to(token, side, side);
  const std::size_t literals = (side - rows.size()) * side;
  for (std::size_t i = 0; i < literals; ++i) second.push_back(static_cast<std::uint8_t>(200 + i));
  const auto found = second_cell(side, second);
  BOOST_REQUIRE_EQUAL(found.size(), side);
  std::size_t matched = 0, literal = 0;
  for (std::uint8_t row = 0; row < side; ++row) {
    const bool is_matched = std::find(rows.begin(), rows.end(), row) != rows.end();
    for (std::uint8_t i = 0; i < side; ++i)
      BOOST_TEST(found[row][i] ==
                 static_cast<std::uint8_t>(is_matched ? side + matched++ : 200 + literal++));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ndlz)

BOOST_AUTO_TEST_CASE(writes_the_stream_of_the_description) {
  ByteVector block(32, 7);
  for (std::uint8_t i = 0; i < 16; ++i) block[std::size_t{8} * (i / 4) + 4 + i % 4] = i;
  ByteVector stream = ndlz_header(4, 8);
  append(stream, {0x40, 7, 0});
  append(stream, ascending(16));
  CodecUse use;
  use.meta = 4;
  use.shape = BlockShape(Extents{4, 8});
  ByteVector out(100);
  out.resize(codec::make_compressor(CodecId::ndlz, 5)->compress(block, use, out));
  BOOST_TEST(out == stream);
  BOOST_TEST(read_ndlz(stream, 4, 32) == block);
}

BOOST_AUTO_TEST_CASE(reads_rows_from_where_each_token_says) {
  for (const auto& [token, rows] : {std::pair{0x80, std::vector{2, 3}},
                                    {0x88, {0, 1}},
                                    {0x90, {0, 2}},
                                    {0x98, {0, 3}},
                                    {0xB0, {1, 2}},
                                    {0xB8, {1, 3}},
                                    {0xE0, {1, 2, 3}},
                                    {0xE8, {0, 1, 2}},
                                    {0xF0, {0, 1, 3}},
                                    {0xF8, {0, 2, 3}}})
    check_row_token(4, static_cast<std::uint8_t>(token), rows);
  for (int r = 0; r <= 6; ++r) check_row_token(8, static_cast<std::uint8_t>(0x88 + r), {r, r + 1});
  for (int r = 0; r <= 5; ++r)
    check_row_token(8, static_cast<std::uint8_t>(0xA8 + r), {r, r + 1, r + 2});
}

BOOST_AUTO_TEST_CASE(reads_two_pairs_from_two_places) {
  for (const int j : {1, 2, 3}) {
    ByteVector second = token_to(static_cast<std::uint8_t>(0x20 + 8 * j), 4, 8);
    append(second, {16, 0});
    const auto found = second_cell(4, second);
    BOOST_REQUIRE_EQUAL(found.size(), 4U);
    std::size_t first = 8, other = 0;
    for (int row = 0; row < 4; ++row) {
      std::size_t& at = row == 0 || row == j ? first : other;
      for (const std::uint8_t byte : found[static_cast<std::size_t>(row)]) BOOST_TEST(byte == at++);
    }
  }
}

BOOST_AUTO_TEST_CASE(refuses_tokens_of_the_other_side_and_unknown_ones) {
  const ByteVector rest(60);
  for (int token = 0; token < 256; ++token) {
    const bool is_row4 = (token >= 0x28 && token <= 0x38) || (token >= 0x80 && token <= 0x98) ||
                         token == 0xB0 || token == 0xB8 || token >= 0xE0;
    const bool is_common = token == 0 || token == 0x40 || token == 0xC0;
    const bool is_row8 = (token >= 0x88 && token <= 0x8E) || (token >= 0xA8 && token <= 0xAD);
    ByteVector second = token_to(static_cast<std::uint8_t>(token), 4, 0);
    append(second, rest);
    BOOST_TEST(second_cell(4, second).empty() == !(is_common || (is_row4 && token % 8 == 0)));
    second = token_to(static_cast<std::uint8_t>(token), 8, 0);
    append(second, rest);
    append(second, rest);
    BOOST_TEST(second_cell(8, second).empty() == !(is_common || is_row8));
  }
}

BOOST_AUTO_TEST_CASE(refuses_rows_in_cells_at_the_edge) {
  ByteVector stream = ndlz_header(4, 7);
  stream.push_back(0);
  append(stream, ascending(16));
  append(stream, {0x80, 16, 0});
  append(stream, ByteVector(20));
  BOOST_TEST(read_ndlz(stream, 4, 28).empty());
  stream[26] = 0xC0;
  BOOST_TEST(!read_ndlz(stream, 4, 28).empty());
}

BOOST_AUTO_TEST_CASE(refuses_what_is_cut_off_or_lies_outside) {
  const ByteVector whole = two_cells(4, {0x28, 17, 0, 9, 0});
  BOOST_REQUIRE(!read_ndlz(whole, 4, 32).empty());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto end = whole.begin() + static_cast<std::ptrdiff_t>(size);
    BOOST_TEST(read_ndlz({whole.begin(), end}, 4, 32).empty());
  }
  BOOST_TEST(read_ndlz(two_cells(4, {0xC0, 27, 0}), 4, 32).empty());
  BOOST_TEST(read_ndlz(two_cells(4, {0xC0, 12, 0}), 4, 32).empty());
  BOOST_TEST(read_ndlz(whole, 5, 32).empty());
  BOOST_TEST(read_ndlz(whole, 4, 31).empty());
  BOOST_TEST(read_ndlz(whole, 4, 32, {8, 4}).empty());
  BOOST_TEST(read_ndlz(whole, 4, 32, {32}).empty());
  BOOST_TEST(!read_ndlz(whole, 4, 32, {4, 8}).empty());
  for (const auto& [rows, columns] : {std::pair{-4, -8}, {65536 * 4, 65536 * 8}, {0, 0}})
    BOOST_TEST(read_ndlz(ndlz_header(rows, columns), 4, 32).empty());
}

BOOST_AUTO_TEST_CASE(chunks_decode_to_what_was_encoded) {
  for (const std::uint8_t side : ByteVector{4, 8})
    for (const std::int32_t typesize : {1, 2, 8})
      for (const Extents& shape : {Extents{40, 30}, {8, 8}, {3, 50}, {63, 65}, {600, 300}})
        for (const std::string& kind : content_kinds()) {
          const EncodeSettings settings =
              array_settings(CodecId::ndlz, side, typesize, shape, {{FilterId::shuffle, 0}});
          const ByteVector contents =
              make_contents(kind, 5, static_cast<std::size_t>(2 * settings.blocksize),
                            static_cast<std::size_t>(typesize));
          const ByteVector chunk = codec::ChunkEncoder(settings).encode_stored(contents);
          BOOST_TEST((decode_array(chunk, typesize, shape) == contents), kind);
          // The shape stands in the streams, too.
          BOOST_TEST((decode_array(chunk, typesize, {}) == contents), kind);
        }
}

BOOST_AUTO_TEST_CASE(finds_repeated_cells) {
  const Extents shape{64, 64};
  ByteVector contents;
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column < 64; ++column)
      contents.push_back(static_cast<std::uint8_t>(8 * (row % 8) + column % 8));
  const EncodeSettings settings = array_settings(CodecId::ndlz, 8, 1, shape);
  const ByteVector chunk = codec::ChunkEncoder(settings).encode_stored(contents);
  BOOST_TEST(chunk.size() == 32 + 4 + 4 + 9 + 65 + 63 * 3);
  BOOST_TEST((decode_array(chunk, 1, shape) == contents));
}

BOOST_AUTO_TEST_CASE(is_refused_where_it_does_not_fit) {
  BOOST_TEST(problem_of(array_settings(CodecId::ndlz, 5, 1, {8, 8})) ==
             "codec ndlz: takes cells of 4 or 8, not 5");
  BOOST_TEST(problem_of(array_settings(CodecId::ndlz, 4, 1, {4, 4, 4})) ==
             "codec ndlz: takes 2 dimensions, not 3");
  EncodeSettings whole_items = array_settings(CodecId::ndlz, 4, 4, {8, 8});
  BOOST_TEST(problem_of(whole_items) == "");
  whole_items.split = codec::SplitMode::never;
  BOOST_TEST(problem_of(whole_items) == "codec ndlz: a block of 256 bytes is not 8x8 items of 1");
}

BOOST_AUTO_TEST_SUITE_END()

// --- NDCELL and NDMEAN

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
  BOOST_TEST(refusal(chunk, 2, {4, 8}) == "");
  BOOST_TEST(refusal(chunk, 2, {8, 8}) ==
             "filter ndcell: a block of 64 bytes is not 8x8 items of 2");
  for (const Extents& shape : {Extents{0, 32}, {-1, -32}, {2147483647, 2147483647}, {4, 4}})
    BOOST_TEST(refusal(chunk, 2, shape) != "");
  BOOST_TEST(refusal(chunk, 1, {4, 8}) != "");
}

BOOST_AUTO_TEST_SUITE_END()

// --- ZFP

BOOST_AUTO_TEST_SUITE(zfp)

namespace {

boost::test_tools::assertion_result has_zfp(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result(codec::can_compress(CodecId::zfp_rate));
  result.message() << "built without libzfp";
  return result;
}

template <typename Float>
ByteVector waves(std::size_t count) {
  ByteVector bytes(count * sizeof(Float));
  for (std::size_t i = 0; i < count; ++i) {
    const auto item = static_cast<Float>(std::sin(static_cast<double>(i) / 50));
    std::memcpy(bytes.data() + i * sizeof(Float), &item, sizeof(Float));
  }
  return bytes;
}

template <typename Float>
double largest_difference(const ByteVector& a, const ByteVector& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); i += sizeof(Float)) {
    Float x = 0, y = 0;
    std::memcpy(&x, a.data() + i, sizeof(Float));
    std::memcpy(&y, b.data() + i, sizeof(Float));
    largest = std::max(largest, std::abs(static_cast<double>(x) - static_cast<double>(y)));
  }
  return largest;
}

template <typename Float>
void check_mode(CodecId id, std::uint8_t meta, double tolerance, const Extents& shape) {
  const auto typesize = static_cast<std::int32_t>(sizeof(Float));
  const EncodeSettings settings = array_settings(id, meta, typesize, shape);
  const ByteVector contents =
      waves<Float>(2 * static_cast<std::size_t>(settings.blocksize / typesize));
  const ByteVector chunk = codec::ChunkEncoder(settings).encode_stored(contents);
  const ByteVector decoded = decode_array(chunk, typesize, shape);
  BOOST_TEST(chunk.size() < contents.size());
  BOOST_TEST(largest_difference<Float>(contents, decoded) <= tolerance);
  BOOST_TEST((chunk.size() - 32 - 2 * (4 + 4)) % 8 == 0U);  // whole words of other builds
}

}  // namespace

BOOST_AUTO_TEST_CASE(keeps_what_each_mode_promises, *boost::unit_test::precondition(has_zfp)) {
  constexpr std::uint8_t kThousandth = 253;  // 10^-3
  for (const Extents& shape : {Extents{400}, {30, 22}, {9, 10, 11}, {8, 8, 7, 8}}) {
    check_mode<float>(CodecId::zfp_accuracy, kThousandth, 1e-3, shape);
    check_mode<double>(CodecId::zfp_accuracy, kThousandth, 1e-3, shape);
    check_mode<double>(CodecId::zfp_precision, 20, 1e-2, shape);
    check_mode<double>(CodecId::zfp_rate, 50, 1e-2, shape);
  }
}

BOOST_AUTO_TEST_CASE(keeps_what_is_no_number, *boost::unit_test::precondition(has_zfp)) {
  const EncodeSettings settings = array_settings(CodecId::zfp_rate, 10, 4, {8, 8});
  ByteVector contents = waves<float>(128);
  const float infinite = std::numeric_limits<float>::infinity();
  std::memcpy(contents.data() + 40, &infinite, sizeof(infinite));
  const ByteVector chunk = codec::ChunkEncoder(settings).encode_stored(contents);
  const ByteVector decoded = decode_array(chunk, 4, {8, 8});
  BOOST_TEST(std::equal(decoded.begin(), decoded.begin() + 256, contents.begin()));
  BOOST_TEST((decoded != contents));
}

BOOST_AUTO_TEST_CASE(refuses_streams_that_are_damaged, *boost::unit_test::precondition(has_zfp)) {
  ChunkPlan plan;
  plan.flags = 0xD5;
  plan.typesize = 4;
  plan.codec_id = 33;
  plan.nbytes = plan.blocksize = 1024;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const ByteVector chunk = build_chunk(plan, {coded_stream(noise(1 + seed % 40, seed))});
    refusal(chunk, 4, {16, 16});  // any answer but a crash
  }
  const ByteVector chunk = build_chunk(plan, {coded_stream(noise(8))});
  BOOST_TEST(unsupported(chunk, 4) == "codec zfp_accuracy needs the shape of an array's blocks");
  BOOST_TEST(refusal(chunk, 4, {16, 8}) ==
             "codec zfp_accuracy a block of 1024 bytes is not 16x8 items of 4");
  BOOST_TEST(refusal(chunk, 4, {2, 2, 4, 4, 4}) ==
             "codec zfp_accuracy takes up to 4 dimensions, not 5");
}

BOOST_AUTO_TEST_CASE(counts_the_memory_of_its_cells, *boost::unit_test::precondition(has_zfp)) {
  ChunkPlan plan;
  plan.flags = 0xD5;
  plan.typesize = 4;
  plan.codec_id = 33;
  plan.nbytes = plan.blocksize = 4096;
  const ByteVector chunk = build_chunk(plan, {coded_stream(noise(100))});
  const auto memory = [&](const Extents& shape) {
    return codec::open_chunk(chunk, 4, BlockShape(shape)).decode_memory();
  };
  BOOST_TEST(memory({1024}) > memory({}) + 4096);
  BOOST_TEST(memory({1, 1, 1, 1024}) > 64 * 4096);
}

BOOST_AUTO_TEST_CASE(is_refused_where_it_does_not_fit, *boost::unit_test::precondition(has_zfp)) {
  const auto problem = [](CodecId id, std::uint8_t meta, std::int32_t typesize,
                          const Extents& shape) {
    return problem_of(array_settings(id, meta, typesize, shape));
  };
  using enum CodecId;
  BOOST_TEST(problem(zfp_rate, 101, 4, {8, 8}) ==
             "codec zfp_rate: takes 1 to 100 percent, not 101");
  BOOST_TEST(problem(zfp_precision, 0, 8, {8, 8}) == "");
  BOOST_TEST(problem(zfp_precision, 0, 2, {8, 8}) ==
             "codec zfp_precision: takes items of 4 or 8 bytes, not 2");
  BOOST_TEST(problem(zfp_accuracy, 0, 4, {8, 3}) ==
             "codec zfp_accuracy: takes blocks of at least 4 items along each dimension");
  EncodeSettings settings = array_settings(zfp_rate, 50, 4, {8, 8}, {{FilterId::shuffle, 0}});
  BOOST_TEST(problem_of(settings) == "codec zfp_rate: takes no filters");
}

BOOST_AUTO_TEST_SUITE_END()

// --- Changes

BOOST_AUTO_TEST_SUITE(changed_arrays)

namespace {

/// The chunk with a new second block, encoded by `later`.
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
