// Which chunks a commit stores again.

#include "fs/commit/chunk_changes.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/support/temp_dir.hpp"

namespace bloscfs::fs {
namespace {

using Chunks = std::set<std::int64_t>;
using test::ByteVector;

constexpr std::int64_t kChunk = 100;

struct WrittenLayer {
  PagePool pages;
  ByteOverlay bytes{pages, 1 << 20};
  Layer layer{pages};
};

void check_changes(const ChunkChanges& changes, const ChunkChanges& expected) {
  BOOST_REQUIRE(changes.size() == expected.size());
  for (std::size_t i = 0; i < changes.size(); i++) {
    BOOST_TEST(changes[i].chunk_offset == expected[i].chunk_offset);
    BOOST_TEST(changes[i].size == expected[i].size);
    BOOST_TEST((changes[i].bytes == nullptr) == (expected[i].bytes == nullptr));
  }
}

/// An array of 4 rows of 6 bytes. Its chunks have 2 rows and 4 columns, and one block each.
frame::ArrayInfo small_array() {
  frame::ArrayInfo array;
  array.shape = {4, 6};
  array.chunkshape = {2, 4};
  array.blockshape = {2, 4};
  return array;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(chunk_changes)

BOOST_AUTO_TEST_CASE(flat_contents_are_cut_into_equal_chunks_but_for_the_last) {
  const FlatCut cut{kChunk, 1, 250};
  BOOST_TEST(cut.range(0).size == 100);
  BOOST_TEST(cut.range(2).offset == 200);
  BOOST_TEST(cut.range(2).size == 50);
}

BOOST_AUTO_TEST_CASE(last_chunk_may_end_within_an_item) {
  BOOST_CHECK(!(FlatCut{kChunk, 1, 251}.chunk_within_item()));
  BOOST_CHECK(!(FlatCut{kChunk, 4, 252}.chunk_within_item()));
  BOOST_CHECK(!(FlatCut{kChunk, 4, 0}.chunk_within_item()));
  BOOST_CHECK((FlatCut{kChunk, 4, 251}.chunk_within_item() == 2));
  BOOST_CHECK((FlatCut{kChunk, 4, 300}.chunk_within_item() == std::nullopt));
}

BOOST_FIXTURE_TEST_CASE(bytes_count_as_written_and_zeros_do_not, WrittenLayer) {
  BOOST_CHECK(written_chunks(bytes, {kChunk, 1, 1000}) == Chunks{});
  bytes.zero(0, 1000);
  BOOST_CHECK(written_chunks(bytes, {kChunk, 1, 1000}) == Chunks{});
  bytes.write(199, ByteVector(2));
  bytes.write(500, ByteVector(100));
  BOOST_CHECK(written_chunks(bytes, {kChunk, 1, 1000}) == (Chunks{1, 2, 5}));
  BOOST_CHECK(written_chunks(bytes, {kChunk, 1, 200}) == Chunks{1});
}

BOOST_AUTO_TEST_CASE(change_of_size_concerns_where_the_old_bytes_end) {
  const auto resized = [](std::int64_t size, std::int64_t kept, std::int64_t old_size) {
    return resized_chunks({kChunk, 1, size}, kept, old_size);
  };
  BOOST_CHECK(resized(250, 250, 250) == Chunks{});
  BOOST_CHECK(resized(430, 250, 250) == Chunks{2});
  BOOST_CHECK(resized(430, 200, 200) == Chunks{});
  BOOST_CHECK(resized(130, 130, 250) == Chunks{1});
  BOOST_CHECK(resized(200, 200, 250) == Chunks{});
  BOOST_CHECK(resized(250, 30, 250) == Chunks{0});
  BOOST_CHECK(resized(0, 0, 250) == Chunks{});
  BOOST_CHECK(resized_chunks({kChunk, 4, 431}, 250, 250) == (Chunks{2, 4}));
  BOOST_CHECK(resized_chunks({kChunk, 4, 250}, 250, 250) == Chunks{});
}

BOOST_FIXTURE_TEST_CASE(changes_of_a_range_count_from_its_start, WrittenLayer) {
  bytes.zero(150, 20);
  bytes.write(190, ByteVector(50, 7));
  check_changes(changes_of_range(bytes, {100, 100}),
                {{50, 20, nullptr}, {90, 10, bytes.extent(190, 50).data()}});
  check_changes(changes_of_range(bytes, {300, 100}), {});
}

BOOST_FIXTURE_TEST_CASE(changes_of_an_array_go_to_the_chunks_that_hold_them, WrittenLayer) {
  const frame::ArrayGeometry geometry(small_array(), 1);
  // After the 8 bytes of the header, the write changes the last byte of row 0 and the first byte of
  // row 1.
  layer.bytes.write(8 + 5, ByteVector(2, 7));
  const auto changes = changes_of_array(geometry, layer, 8, 32, 32);
  BOOST_REQUIRE(changes.size() == 2u);
  const std::uint8_t* const there = layer.bytes.extent(13, 2).data();
  check_changes(changes.at(0), {{4, 1, there + 1}});
  check_changes(changes.at(1), {{1, 1, there}});
}

BOOST_FIXTURE_TEST_CASE(header_of_an_array_is_no_change_of_its_chunks, WrittenLayer) {
  const frame::ArrayGeometry geometry(small_array(), 1);
  layer.bytes.write(0, ByteVector(8, 7));
  BOOST_TEST(changes_of_array(geometry, layer, 8, 32, 32).empty());
}

BOOST_FIXTURE_TEST_CASE(rows_of_an_array_that_came_back_are_zeros, WrittenLayer) {
  const frame::ArrayGeometry geometry(small_array(), 1);
  layer.lower_end = 8 + 18;  // keeps all rows but the last
  const auto changes = changes_of_array(geometry, layer, 8, 32, 32);
  BOOST_REQUIRE(changes.size() == 2u);
  check_changes(changes.at(2), {{4, 4, nullptr}});
  check_changes(changes.at(3), {{4, 2, nullptr}});
  // Rows that the array did not have before are no changes.
  BOOST_TEST(changes_of_array(geometry, layer, 8, 32, 26).empty());
}

BOOST_AUTO_TEST_CASE(later_changes_lie_over_earlier_ones) {
  const ByteVector bytes{1, 2, 3, 4};
  ByteVector out(6, 9);
  apply_changes({{8, 10, nullptr}, {12, 4, bytes.data()}, {100, 5, nullptr}}, 10, out);
  BOOST_TEST(out == (ByteVector{0, 0, 1, 2, 3, 4}), boost::test_tools::per_element());
  ByteVector before(3, 9);
  apply_changes({{8, 3, nullptr}, {10, 4, bytes.data()}}, 8, before);
  BOOST_TEST(before == (ByteVector{0, 0, 1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::fs
