// Frames of variable-size chunks, and chunks of variable-size blocks.

#include <algorithm>

#include <boost/test/unit_test.hpp>

#include "codec/error.hpp"
#include "tests/frame/frame_builder.hpp"

using namespace bloscfs::frame;
using bloscfs::codec::Error;
using bloscfs::frame::test::Buffer;
using bloscfs::frame::test::FrameBuilder;

namespace {

struct VariableSample {
  FrameBuilder frame;
  Buffer content;

  void add(std::size_t size) {
    const Buffer part = bloscfs::frame::test::pattern(size, static_cast<unsigned>(size));
    content.insert(content.end(), part.begin(), part.end());
    frame.add(size == 0 ? Buffer(bloscfs::frame::test::make_memcpy_chunk({}, 1))
                        : bloscfs::frame::test::make_block_chunk(part, 1, 100),
              size);
  }
};

VariableSample sample(int chunks) {
  VariableSample result;
  result.frame.chunksize = 0;
  result.frame.general_flags = 0x53;
  for (int i = 0; i < chunks; ++i) result.add(static_cast<std::size_t>(i * 37 % 301));
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(variable_frame)

BOOST_AUTO_TEST_CASE(reads_chunks_of_different_sizes) {
  for (const int chunks : {1, 2, 63, 64, 65, 1000}) {
    VariableSample s = sample(chunks);
    if (s.content.empty()) s.add(5);
    const auto snapshot = bloscfs::frame::test::open_bytes(s.frame.build());
    BOOST_CHECK(snapshot->needs_chunk_map());
    BOOST_CHECK_EQUAL(snapshot->info().nchunks, static_cast<std::int64_t>(s.frame.entries.size()));
    BOOST_TEST(bloscfs::frame::test::read_all(*snapshot) == s.content);
  }
}

BOOST_AUTO_TEST_CASE(bounds_its_map_by_wider_strides) {
  const VariableSample s = sample(5000);
  const auto snapshot = bloscfs::frame::test::open_bytes(s.frame.build());
  bloscfs::codec::BlockDecoder decoder;
  const auto map = snapshot->read_chunk_map(64, decoder);
  BOOST_CHECK_LE(map->memory(), 1000);
  std::int64_t content_offset = 0;
  for (std::int64_t chunk = 0; chunk < 5000; chunk += 499) {
    const std::int64_t number = snapshot->page_of_chunk(chunk, map.get());
    const auto page = snapshot->read_page(number, map.get(), decoder);
    const ChunkPlace place = page->place(chunk);
    content_offset = place.content_offset;
    BOOST_CHECK_EQUAL(place.nbytes, chunk * 37 % 301);
    if (place.nbytes > 0) {
      BOOST_CHECK_EQUAL(snapshot->page_at(content_offset, map.get()), number);
      BOOST_CHECK_EQUAL(page->chunk_at(content_offset), chunk);
    }
  }
  BOOST_CHECK_GT(content_offset, 0);
}

BOOST_AUTO_TEST_CASE(deduces_the_size_of_the_one_special_chunk) {
  VariableSample s = sample(200);
  s.frame.entries[100] = bloscfs::frame::test::special_entry(0x81);
  std::size_t at = 0;
  for (int i = 0; i < 100; ++i) at += static_cast<std::size_t>(i * 37 % 301);
  std::fill_n(s.content.begin() + static_cast<std::ptrdiff_t>(at), 100 * 37 % 301, std::uint8_t{0});
  BOOST_TEST(bloscfs::frame::test::read_all(*bloscfs::frame::test::open_bytes(s.frame.build())) ==
             s.content);
}

BOOST_AUTO_TEST_CASE(refuses_two_special_chunks) {
  VariableSample s = sample(200);
  s.frame.entries[100] = s.frame.entries[50] = bloscfs::frame::test::special_entry(0x81);
  BOOST_CHECK_THROW(
      bloscfs::frame::test::read_all(*bloscfs::frame::test::open_bytes(s.frame.build())), Error);
}

BOOST_AUTO_TEST_CASE(refuses_sizes_that_do_not_add_up) {
  for (const int difference : {-1, 1}) {
    VariableSample s = sample(100);
    s.frame.nbytes += difference;
    BOOST_CHECK_THROW(
        bloscfs::frame::test::read_all(*bloscfs::frame::test::open_bytes(s.frame.build())), Error);
  }
}

BOOST_AUTO_TEST_CASE(refuses_more_chunks_than_the_chunk_area_can_hold) {
  FrameBuilder frame;
  frame.chunksize = 0;
  frame.general_flags = 0x53;
  frame.add(bloscfs::frame::test::make_memcpy_chunk({1, 2, 3}, 1), 3);
  frame.entries.assign(70'000, 0);
  frame.nbytes = 3 * 70'000;
  bloscfs::codec::BlockDecoder decoder;
  const auto snapshot = bloscfs::frame::test::open_bytes(frame.build());
  BOOST_CHECK_THROW(snapshot->read_chunk_map(1 << 20, decoder), Error);
}

BOOST_AUTO_TEST_CASE(refuses_to_open_too_many_chunk_files) {
  FrameBuilder frame;
  frame.chunksize = 0;
  frame.general_flags = 0x53;
  frame.frame_type = 1;
  frame.entries.assign((256 << 10) + 1, 0);
  frame.nbytes = 3 * std::ssize(frame.entries);
  const auto files = std::make_shared<bloscfs::frame::test::MemoryFiles>(frame.build());
  files->chunks[0] = std::make_shared<bloscfs::frame::test::MemorySource>(
      bloscfs::frame::test::make_memcpy_chunk({1, 2, 3}, 1));
  bloscfs::codec::BlockDecoder decoder;
  const auto snapshot = open_sframe(files);
  BOOST_CHECK_EXCEPTION(snapshot->read_chunk_map(1 << 20, decoder), Error, [](const Error& error) {
    return error.code() == bloscfs::codec::FormatErrc::too_large;
  });
}

BOOST_AUTO_TEST_CASE(reads_blocks_of_different_sizes) {
  FrameBuilder frame;
  frame.chunksize = 20'000;
  frame.general_flags = 0x93;
  Buffer content;
  for (unsigned chunk = 0; chunk < 3; ++chunk) {
    std::vector<Buffer> blocks;
    std::size_t left = 20'000;
    for (unsigned i = 1; left > 0; ++i) {
      const std::size_t size = std::min<std::size_t>(left, i % 9 == 0 ? 6000 : 11 * i);
      blocks.push_back(bloscfs::frame::test::pattern(size, chunk * 100 + i));
      content.insert(content.end(), blocks.back().begin(), blocks.back().end());
      left -= size;
    }
    frame.add(bloscfs::frame::test::make_vl_chunk(blocks), 20'000);
  }
  const auto snapshot = bloscfs::frame::test::open_bytes(frame.build());
  BOOST_CHECK(snapshot->info().vl_blocks);
  BOOST_TEST(bloscfs::frame::test::read_all(*snapshot) == content);
}

BOOST_AUTO_TEST_SUITE_END()
