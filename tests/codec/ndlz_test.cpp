// NDLZ: every token, damaged streams, and blocks that are encoded and decoded again.
#include <boost/test/unit_test.hpp>

#include "codec/chunk_encoder.hpp"
#include "codec/compressor/codec_table.hpp"
#include "tests/codec/array_chunks.hpp"
#include "tests/codec/chunk_builder.hpp"
#include "tests/support/contents.hpp"

namespace bloscfs::test {
namespace {

using codec::BlockShape;
using codec::CodecId;
using codec::CodecUse;
using codec::EncodeSettings;
using codec::FilterId;

ByteVector ndlz_header(std::int32_t rows, std::int32_t columns) {
  ByteVector stream{2};
  append_int32(stream, rows);
  append_int32(stream, columns);
  return stream;
}

/// Returns an empty vector if the stream is refused.
ByteVector read_ndlz(const ByteVector& stream, std::uint8_t side, std::size_t size,
                     const Extents& shape = {}) {
  ByteVector out(size);
  CodecUse use;
  use.meta = side;
  use.shape = BlockShape(shape);
  const bool good = codec::make_decompressor(CodecId::ndlz)->decompress(stream, use, out);
  return good ? out : ByteVector();
}

/// Makes a stream of two cells: a literal one with 0, 1, 2..., and one with the given token and
/// data.
ByteVector two_cells(std::uint8_t side, const ByteVector& second) {
  ByteVector stream = ndlz_header(side, 2 * side);
  stream.push_back(0);
  append(stream, ascending(std::size_t{side} * side));
  append(stream, second);
  return stream;
}

/// Returns the rows of the second cell; an empty vector if the stream is refused.
std::vector<ByteVector> second_cell(std::uint8_t side, const ByteVector& second) {
  const ByteVector block = read_ndlz(two_cells(side, second), side, std::size_t{2} * side * side);
  std::vector<ByteVector> rows;
  for (std::size_t at = side; at < block.size(); at += std::size_t{2} * side) {
    const auto row = block.begin() + static_cast<std::ptrdiff_t>(at);
    rows.emplace_back(row, row + side);
  }
  return rows;
}

/// Returns the token, and an offset to byte `at` of the first cell.
ByteVector token_to(std::uint8_t token, std::uint8_t side, std::size_t at) {
  return {token, static_cast<std::uint8_t>(std::size_t{side} * side - at), 0};
}

/// Checks a token that copies some rows of the second cell from the first cell, starting at its
/// second row. The other rows are the literal bytes 200, 201...
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
          // The streams contain the shape, too.
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

}  // namespace bloscfs::test
