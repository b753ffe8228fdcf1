// Which bytes a reader reads to open a frame, and to read from its middle.

#include <chrono>

#include <boost/test/unit_test.hpp>

#include "codec/error.hpp"
#include "frame/cframe/cframe.hpp"
#include "tests/frame/frame_builder.hpp"
#include "tests/support/needs.hpp"

using namespace bloscfs::frame;
using bloscfs::frame::test::Buffer;
using bloscfs::frame::test::FrameBuilder;

namespace {

constexpr std::int64_t kChunks = 2'000'000;
constexpr std::int64_t kMiddle = 1'123'456;

/// Makes a frame of ten million chunks of zeros, and a stored one in the middle.
FrameBuilder huge_frame() {
  FrameBuilder frame;
  frame.chunksize = 1000;
  frame.blocksize = 100;
  frame.add(bloscfs::frame::test::make_block_chunk(bloscfs::frame::test::pattern(1000, 8), 1, 100),
            1000);
  frame.entries.assign(kChunks, bloscfs::frame::test::special_entry(0x81));
  frame.entries[kMiddle] = 0;
  frame.nbytes = kChunks * 1000;
  return frame;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(frame_laziness)

BOOST_AUTO_TEST_CASE(opens_a_small_frame_with_one_read) {
  auto frame =
      bloscfs::frame::test::simple_frame(bloscfs::frame::test::pattern(2000, 1), 1000, 500);
  frame.metalayers = {{"m", {1}}};
  frame.vlmetalayers = {{"v", bloscfs::frame::test::make_memcpy_chunk({2}, 1)}};
  std::shared_ptr<bloscfs::frame::test::MemorySource> source;
  const auto snapshot = bloscfs::frame::test::open_bytes(frame.build(), &source);
  BOOST_CHECK_EQUAL(source->reads.size(), 1);
}

BOOST_AUTO_TEST_CASE(opens_a_large_frame_with_two_reads_and_no_metalayer_contents) {
  auto frame =
      bloscfs::frame::test::simple_frame(bloscfs::frame::test::pattern(200'000, 1), 1000, 500);
  frame.metalayers = {{"big", Buffer(100'000)}};
  std::shared_ptr<bloscfs::frame::test::MemorySource> source;
  const auto snapshot = bloscfs::frame::test::open_bytes(frame.build(), &source);
  BOOST_CHECK_LE(source->reads.size(), 2);
  BOOST_CHECK_LE(source->bytes_read(), 8192);
}

BOOST_AUTO_TEST_CASE(reads_many_vlmetalayers_piecewise) {
  auto frame =
      bloscfs::frame::test::simple_frame(bloscfs::frame::test::pattern(2000, 1), 1000, 500);
  for (int i = 0; i < 20; ++i)
    frame.vlmetalayers.emplace_back("v" + std::to_string(i),
                                    bloscfs::frame::test::make_memcpy_chunk(Buffer(100'000), 1));
  std::shared_ptr<bloscfs::frame::test::MemorySource> source;
  const auto snapshot = bloscfs::frame::test::open_bytes(frame.build(), &source);
  BOOST_CHECK_LE(source->bytes_read(), 40'000);
  source->reads.clear();
  BOOST_CHECK_EQUAL(snapshot->vlmetalayers().size(), 20);
  BOOST_CHECK_LE(source->bytes_read(), 40'000);
}

BOOST_AUTO_TEST_CASE(reads_one_index_block_of_a_frame_of_two_million_chunks,
                     *boost::unit_test::precondition(bloscfs::test::needs_plain_build)) {
  std::shared_ptr<bloscfs::frame::test::MemorySource> source;
  const auto snapshot = bloscfs::frame::test::open_bytes(huge_frame().build(), &source);
  BOOST_CHECK_LE(source->bytes_read(), 8192);
  BOOST_CHECK(!snapshot->all_chunks_special());
  source->reads.clear();
  bloscfs::frame::test::ContentReader reader(*snapshot);
  Buffer found(10);
  reader.read(kMiddle * 1000 + 345, found);
  const Buffer expected = bloscfs::frame::test::pattern(1000, 8);
  BOOST_TEST(found == Buffer(expected.begin() + 345, expected.begin() + 355));
  // Reads the starts of the index's blocks (4 KB), one of these blocks, the starts of one chunk's
  // blocks, and one block.
  BOOST_CHECK_LE(source->bytes_read(), 60'000);
  BOOST_CHECK_LE(source->reads.size(), 8);
}

BOOST_AUTO_TEST_CASE(opens_a_chunk_with_one_read_of_what_it_needs) {
  const auto frame =
      bloscfs::frame::test::simple_frame(bloscfs::frame::test::pattern(300'000, 1), 100'000, 1000);
  std::shared_ptr<bloscfs::frame::test::MemorySource> source;
  const auto snapshot = bloscfs::frame::test::open_bytes(frame.build(), &source);
  bloscfs::codec::BlockDecoder decoder;
  const auto page = snapshot->read_page(0, nullptr, decoder);
  source->reads.clear();
  const OpenedChunk chunk = snapshot->open_chunk(page->place(1), 1 << 20);
  BOOST_REQUIRE_EQUAL(source->reads.size(), 1);
  BOOST_CHECK_EQUAL(source->reads[0].size, 32 + 4 * 100);
  BOOST_CHECK_EQUAL(chunk.chunk.block_count(), 100);
}

BOOST_AUTO_TEST_CASE(tells_an_all_special_frame_by_the_index_header) {
  FrameBuilder frame;
  frame.chunksize = 1'000'000'000;
  frame.nbytes = std::int64_t{1'000'000'000} * 200'000'000;
  frame.entries = {0};
  frame.index_chunk =
      bloscfs::frame::test::make_value_chunk({0, 0, 0, 0, 0, 0, 0, 0x81}, 8 * 200'000'000);
  std::shared_ptr<bloscfs::frame::test::MemorySource> source;
  const auto snapshot = bloscfs::frame::test::open_bytes(frame.build(), &source);
  BOOST_CHECK(snapshot->all_chunks_special() == bloscfs::codec::SpecialValue::zero);
  Buffer found(100, 1);
  bloscfs::frame::test::ContentReader(*snapshot).read(frame.nbytes - 100, found);
  BOOST_TEST(found == Buffer(100));
  bloscfs::codec::BlockDecoder decoder;
  const auto page = snapshot->read_page(50, nullptr, decoder);
  BOOST_CHECK(page->uniform_special());
  BOOST_CHECK_EQUAL(page->chunk_count(), 2048);
  BOOST_CHECK_LE(source->bytes_read(), 10'000);
}

BOOST_AUTO_TEST_CASE(refuses_a_chunk_that_needs_more_memory_than_allowed) {
  const auto frame =
      bloscfs::frame::test::simple_frame(bloscfs::frame::test::pattern(100'000, 1), 100'000, 1);
  const auto snapshot = bloscfs::frame::test::open_bytes(frame.build());
  bloscfs::codec::BlockDecoder decoder;
  const auto page = snapshot->read_page(0, nullptr, decoder);
  try {
    snapshot->open_chunk(page->place(0), 100'000);
    BOOST_ERROR("opened");
  } catch (const bloscfs::codec::Error& error) {
    BOOST_CHECK(error.code() == bloscfs::codec::FormatErrc::too_large);
  }
}

BOOST_AUTO_TEST_SUITE_END()
