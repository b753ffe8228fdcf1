// Contiguous frames that tests put together byte by byte, and read back.

#include "frame/cframe/cframe.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include "codec/error.hpp"
#include "frame/open/open.hpp"
#include "tests/frame/frame_builder.hpp"

using namespace bloscfs::frame;
using bloscfs::codec::Error;
using bloscfs::codec::SpecialValue;
using bloscfs::frame::test::Buffer;
using bloscfs::frame::test::FrameBuilder;

namespace {

Buffer checksum_chunk(const FrameBuilder& frame, const std::vector<std::size_t>& sizes) {
  Buffer sums;
  for (std::size_t i = 0; i < frame.entries.size(); ++i) {
    const std::uint64_t sum = XXH3_64bits(frame.chunk_area.data() + frame.entries[i], sizes[i]);
    for (int shift = 0; shift < 64; shift += 8)
      sums.push_back(static_cast<std::uint8_t>(sum >> shift));
  }
  return bloscfs::frame::test::make_memcpy_chunk(sums, 8);
}

OpenedChunk open_only_chunk(const Snapshot& snapshot, std::int64_t number) {
  bloscfs::codec::BlockDecoder decoder;
  const auto page = snapshot.read_page(snapshot.page_of_chunk(number, nullptr), nullptr, decoder);
  return snapshot.open_chunk(page->place(number), 1 << 20);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cframe)

BOOST_AUTO_TEST_CASE(reads_back_what_was_built) {
  for (const std::size_t size : {1U, 999U, 1000U, 1001U, 5000U, 20001U}) {
    const Buffer content = bloscfs::frame::test::pattern(size, 3);
    const auto snapshot = bloscfs::frame::test::open_bytes(
        bloscfs::frame::test::simple_frame(content, 1000, 256).build());
    BOOST_TEST(bloscfs::frame::test::read_all(*snapshot) == content);
    BOOST_CHECK_EQUAL(snapshot->info().nchunks, static_cast<std::int64_t>((size + 999) / 1000));
    BOOST_CHECK(!snapshot->needs_chunk_map());
  }
}

BOOST_AUTO_TEST_CASE(tells_the_fields_of_the_header) {
  const Buffer content = bloscfs::frame::test::pattern(5000, 1);
  const auto snapshot = bloscfs::frame::test::open_bytes(
      bloscfs::frame::test::simple_frame(content, 2000, 500).build());
  const FrameInfo& info = snapshot->info();
  BOOST_CHECK(info.kind == ContainerKind::cframe);
  BOOST_CHECK_EQUAL(info.format_version, 2);
  BOOST_CHECK_EQUAL(info.typesize, 1);
  BOOST_CHECK_EQUAL(info.chunksize, 2000);
  BOOST_CHECK_EQUAL(info.blocksize, 500);
  BOOST_CHECK_EQUAL(info.nbytes, 5000);
  BOOST_CHECK_EQUAL(info.clevel, 5);
  BOOST_CHECK_EQUAL(info.splitmode, 4);
  BOOST_CHECK(info.codec == bloscfs::codec::CodecId::lz4);
  BOOST_CHECK(info.filters[5].id == bloscfs::codec::FilterId::shuffle);
  BOOST_CHECK_EQUAL(info.trailer_len, 35);
}

BOOST_AUTO_TEST_CASE(opens_an_empty_frame) {
  const auto snapshot = bloscfs::frame::test::open_bytes(FrameBuilder().build());
  BOOST_CHECK_EQUAL(snapshot->info().nbytes, 0);
  BOOST_CHECK_EQUAL(snapshot->info().nchunks, 0);
  BOOST_CHECK(!snapshot->all_chunks_special());
}

BOOST_AUTO_TEST_CASE(refuses_an_emptied_frame_whose_trailer_is_not_behind_the_header) {
  FrameBuilder frame;
  frame.slack = 10;
  BOOST_CHECK_THROW(bloscfs::frame::test::open_bytes(frame.build()), Error);
}

BOOST_AUTO_TEST_CASE(reads_metalayers_and_vlmetalayers) {
  const Buffer content = bloscfs::frame::test::pattern(3000, 1);
  auto frame = bloscfs::frame::test::simple_frame(content, 1000, 500);
  const Buffer value = bloscfs::frame::test::pattern(7000, 9);
  frame.metalayers = {
      {"one", {1, 2, 3}}, {"", {}}, {std::string(31, 'n'), bloscfs::frame::test::pattern(5000, 2)}};
  frame.vlmetalayers = {{"v", bloscfs::frame::test::make_block_chunk(value, 1, 2000)},
                        {"zeros", bloscfs::frame::test::make_value_chunk({0}, 900)}};
  const auto snapshot = bloscfs::frame::test::open_bytes(frame.build());
  BOOST_REQUIRE_EQUAL(snapshot->metalayers().size(), 3);
  for (std::size_t i = 0; i < 3; ++i) {
    BOOST_CHECK_EQUAL(snapshot->metalayers()[i].name, frame.metalayers[i].first);
    BOOST_TEST(snapshot->read_metalayer(snapshot->metalayers()[i]) == frame.metalayers[i].second);
  }
  bloscfs::codec::BlockDecoder decoder;
  BOOST_REQUIRE_EQUAL(snapshot->vlmetalayers().size(), 2);
  const auto layer = snapshot->vlmetalayers()[0];
  BOOST_CHECK_EQUAL(snapshot->vlmetalayer_size(layer), 7000);
  BOOST_TEST(snapshot->read_vlmetalayer(layer, 7000, decoder) == value);
  BOOST_CHECK_THROW(snapshot->read_vlmetalayer(layer, 6999, decoder), Error);
  BOOST_TEST(snapshot->read_vlmetalayer(snapshot->vlmetalayers()[1], 1000, decoder) == Buffer(900));
  BOOST_TEST(bloscfs::frame::test::read_all(*snapshot) == content);
}

BOOST_AUTO_TEST_CASE(keeps_a_bad_vlmetalayer_to_itself) {
  auto frame = bloscfs::frame::test::simple_frame(bloscfs::frame::test::pattern(100, 1), 1000, 500);
  const Buffer good = bloscfs::frame::test::make_memcpy_chunk({1, 2, 3}, 1);
  Buffer longer = good;
  longer.push_back(0);  // stored size and length differ
  frame.vlmetalayers = {{"bad", Buffer(40, 0xff)}, {"long", longer}, {"good", good}};
  const auto snapshot = bloscfs::frame::test::open_bytes(frame.build());
  bloscfs::codec::BlockDecoder decoder;
  for (std::size_t i = 0; i < 2; ++i)
    BOOST_CHECK_THROW(snapshot->read_vlmetalayer(snapshot->vlmetalayers()[i], 1000, decoder),
                      Error);
  BOOST_TEST(snapshot->read_vlmetalayer(snapshot->vlmetalayers()[2], 1000, decoder) ==
             (Buffer{1, 2, 3}));
}

BOOST_AUTO_TEST_CASE(reads_special_entries) {
  FrameBuilder frame;
  frame.typesize = 4;
  frame.chunksize = 400;
  frame.nbytes = 1300;
  frame.entries = {
      bloscfs::frame::test::special_entry(0x81), bloscfs::frame::test::special_entry(0x82),
      bloscfs::frame::test::special_entry(0x84), bloscfs::frame::test::special_entry(0x82)};
  const auto snapshot = bloscfs::frame::test::open_bytes(frame.build());
  const Buffer content = bloscfs::frame::test::read_all(*snapshot);
  Buffer expected(1300);
  for (std::size_t i = 400; i < 1300; i += 4)
    if (i < 800 || i >= 1200) {
      expected[i + 2] = 0xc0;
      expected[i + 3] = 0x7f;
    }
  BOOST_TEST(content == expected);
  BOOST_CHECK(!snapshot->all_chunks_special());
}

BOOST_AUTO_TEST_CASE(refuses_index_entries_that_mean_nothing_for_their_chunk_alone) {
  const Buffer content = bloscfs::frame::test::pattern(3000, 1);
  for (const std::int64_t bad :
       {bloscfs::frame::test::special_entry(0x80), bloscfs::frame::test::special_entry(0x83),
        bloscfs::frame::test::special_entry(0x88), bloscfs::frame::test::special_entry(0x81) + 1,
        std::int64_t{-1}, std::int64_t{INT64_MAX}, std::int64_t{4000}}) {
    auto frame = bloscfs::frame::test::simple_frame(content, 1000, 500);
    frame.entries[1] = bad;
    const auto snapshot = bloscfs::frame::test::open_bytes(frame.build());
    BOOST_CHECK_THROW(open_only_chunk(*snapshot, 1), Error);
    BOOST_CHECK_NO_THROW(open_only_chunk(*snapshot, 0));
    BOOST_CHECK_NO_THROW(open_only_chunk(*snapshot, 2));
  }
}

BOOST_AUTO_TEST_CASE(refuses_a_chunk_of_another_size) {
  const Buffer content = bloscfs::frame::test::pattern(3000, 1);
  FrameBuilder frame;
  frame.chunksize = 1000;
  for (const std::size_t size : {1000U, 999U, 1000U}) {
    frame.add(
        bloscfs::frame::test::make_block_chunk(bloscfs::frame::test::pattern(size, 1), 1, 500),
        1000);
  }
  const auto snapshot = bloscfs::frame::test::open_bytes(frame.build());
  BOOST_CHECK_NO_THROW(open_only_chunk(*snapshot, 0));
  BOOST_CHECK_THROW(open_only_chunk(*snapshot, 1), Error);
}

BOOST_AUTO_TEST_CASE(refuses_an_index_of_another_length_or_item_size) {
  const auto built =
      bloscfs::frame::test::simple_frame(bloscfs::frame::test::pattern(5000, 1), 1000, 500);
  bloscfs::codec::BlockDecoder decoder;
  const auto check = [&](const Buffer& index) {
    auto frame = built;
    frame.index_chunk = index;
    const auto snapshot = bloscfs::frame::test::open_bytes(frame.build());
    BOOST_CHECK_THROW(snapshot->read_page(0, nullptr, decoder), Error);
  };
  check(bloscfs::frame::test::make_memcpy_chunk(Buffer(32), 8));
  check(bloscfs::frame::test::make_memcpy_chunk(Buffer(48), 8));
  check(bloscfs::frame::test::make_memcpy_chunk(Buffer(40), 4));
  check(bloscfs::frame::test::make_vl_chunk({Buffer(16), Buffer(24)}));
}

BOOST_AUTO_TEST_CASE(tolerates_slack_gaps_and_junk_behind_the_frame) {
  const Buffer content = bloscfs::frame::test::pattern(5000, 1);
  auto frame = bloscfs::frame::test::simple_frame(content, 1000, 500);
  frame.slack = 57;
  frame.chunk_area.resize(frame.chunk_area.size() + 99, 0xdd);
  Buffer bytes = frame.build();
  bytes.resize(bytes.size() + 1000, 0xcc);
  BOOST_TEST(bloscfs::frame::test::read_all(*bloscfs::frame::test::open_bytes(bytes)) == content);
}

BOOST_AUTO_TEST_CASE(checks_recorded_checksums) {
  auto frame = bloscfs::frame::test::simple_frame(bloscfs::frame::test::pattern(600'000, 1),
                                                  300'000, 300'000);
  const std::vector<std::size_t> sizes(2, frame.chunk_area.size() / 2);
  frame.vlmetalayers = {{"bloscfs.xxh3", checksum_chunk(frame, sizes)}};
  bloscfs::codec::BlockDecoder decoder;
  const auto snapshot = bloscfs::frame::test::open_bytes(frame.build());
  for (std::int64_t chunk = 0; chunk < 2; ++chunk) {
    const auto sum = bloscfs::frame::test::recorded_checksum(*snapshot, chunk, decoder);
    BOOST_REQUIRE(sum);
    BOOST_CHECK_NO_THROW(snapshot->verify_checksum(open_only_chunk(*snapshot, chunk), *sum));
    BOOST_CHECK_THROW(snapshot->verify_checksum(open_only_chunk(*snapshot, chunk), *sum ^ 1),
                      Error);
  }
  frame.chunk_area[400'000] ^= 1;  // in the second chunk
  const auto damaged = bloscfs::frame::test::open_bytes(frame.build());
  BOOST_CHECK_NO_THROW(
      damaged->verify_checksum(open_only_chunk(*damaged, 0),
                               *bloscfs::frame::test::recorded_checksum(*damaged, 0, decoder)));
  BOOST_CHECK_THROW(
      damaged->verify_checksum(open_only_chunk(*damaged, 1),
                               *bloscfs::frame::test::recorded_checksum(*damaged, 1, decoder)),
      Error);
}

BOOST_AUTO_TEST_CASE(refuses_a_checksum_list_of_another_length) {
  auto frame =
      bloscfs::frame::test::simple_frame(bloscfs::frame::test::pattern(3000, 1), 1000, 1000);
  frame.vlmetalayers = {{"bloscfs.xxh3", bloscfs::frame::test::make_memcpy_chunk(Buffer(16), 8)}};
  bloscfs::codec::BlockDecoder decoder;
  BOOST_CHECK_THROW(bloscfs::frame::test::recorded_checksum(
                        *bloscfs::frame::test::open_bytes(frame.build()), 0, decoder),
                    Error);
  frame.vlmetalayers.clear();
  BOOST_CHECK(!bloscfs::frame::test::recorded_checksum(
      *bloscfs::frame::test::open_bytes(frame.build()), 0, decoder));
}

BOOST_AUTO_TEST_CASE(notices_a_change_in_place) {
  std::shared_ptr<bloscfs::frame::test::MemorySource> source;
  const Buffer bytes =
      bloscfs::frame::test::simple_frame(bloscfs::frame::test::pattern(3000, 1), 1000, 500).build();
  const auto snapshot = bloscfs::frame::test::open_bytes(bytes, &source);
  BOOST_CHECK(snapshot->unchanged());
  source->file_stamp.mtime_ns = 1;
  BOOST_CHECK(!snapshot->unchanged());
  source->file_stamp.mtime_ns = 0;
  source->file_stamp.size += 1;
  BOOST_CHECK(!snapshot->unchanged());
}

BOOST_AUTO_TEST_CASE(compares_the_header_when_the_time_of_change_is_recent) {
  const Buffer bytes =
      bloscfs::frame::test::simple_frame(bloscfs::frame::test::pattern(3000, 1), 1000, 500).build();
  const auto source = std::make_shared<bloscfs::frame::test::MemorySource>(bytes);
  source->file_stamp.mtime_s = std::int64_t{1} << 40;  // later than now
  const auto snapshot = open_cframe(source, {});
  BOOST_CHECK(snapshot->unchanged());
  source->bytes[0x20] ^= 1;
  BOOST_CHECK(!snapshot->unchanged());
}

BOOST_AUTO_TEST_CASE(small_file_is_read_once_and_a_larger_one_as_far_as_it_is_needed) {
  char path[] = "/tmp/bloscfs-cframe-XXXXXX";
  const UniqueFd fd(::mkstemp(path));
  BOOST_REQUIRE(fd);
  for (const std::size_t size : {12'000U, 60'000U}) {
    const Buffer content = bloscfs::frame::test::pattern(size, 1);
    const Buffer bytes = bloscfs::frame::test::simple_frame(content, 3000, 500).build();
    BOOST_REQUIRE(::ftruncate(fd.get(), 0) == 0);
    BOOST_REQUIRE(::pwrite(fd.get(), bytes.data(), bytes.size(), 0) ==
                  static_cast<ssize_t>(bytes.size()));
    SourceCounters counters;
    OpenSettings settings;
    settings.counters = &counters;
    const auto snapshot = open_path(path, settings);
    BOOST_REQUIRE(snapshot);
    const auto opened = counters.bytes.load();
    BOOST_TEST(bloscfs::frame::test::read_all(*snapshot) == content);
    const bool is_small = bytes.size() <= 16 << 10;
    BOOST_TEST(is_small == (size == 12'000U));
    BOOST_TEST((counters.bytes.load() == opened) == is_small);
    if (!is_small) BOOST_TEST(opened < 10'000u);
  }
  ::unlink(path);
}

BOOST_AUTO_TEST_CASE(opens_a_path_and_counts_its_reads) {
  char path[] = "/tmp/bloscfs-cframe-XXXXXX";
  const UniqueFd fd(::mkstemp(path));
  BOOST_REQUIRE(fd);
  const Buffer content = bloscfs::frame::test::pattern(3000, 1);
  const Buffer bytes = bloscfs::frame::test::simple_frame(content, 1000, 500).build();
  BOOST_REQUIRE(::write(fd.get(), bytes.data(), bytes.size()) ==
                static_cast<ssize_t>(bytes.size()));
  SourceCounters counters;
  OpenSettings settings;
  settings.counters = &counters;
  const auto snapshot = open_path(path, settings);
  BOOST_REQUIRE(snapshot);
  BOOST_TEST(bloscfs::frame::test::read_all(*snapshot) == content);
  BOOST_TEST(counters.reads.load() == 1u);
  BOOST_CHECK_GE(counters.bytes.load(), 3000);
  BOOST_REQUIRE(::ftruncate(fd.get(), 5) == 0);
  BOOST_CHECK(!snapshot->unchanged());
  BOOST_CHECK(!open_path(path, settings));
  ::unlink(path);
  BOOST_CHECK_THROW(open_path(path, settings), std::system_error);
}

BOOST_AUTO_TEST_SUITE_END()
