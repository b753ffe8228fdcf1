// Opening chunks that take much memory, and their checksums.

#include "fs/view/chunk_opener.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/frame/blp_builder.hpp"
#include "tests/fs/view/reader_fixture.hpp"

using namespace bloscfs;
using namespace bloscfs::fs;
using namespace bloscfs::frame::test;
using namespace bloscfs::test;

BOOST_FIXTURE_TEST_SUITE(chunk_opener, ReaderFixture)

BOOST_AUTO_TEST_CASE(large_openings_wait_for_each_other) {
  // Each opening takes more than a third of the budget.
  constexpr std::int32_t kChunk = 256 << 10;
  FrameBuilder frame = repeated(make_block_chunk(pattern(kChunk, 1), 1, 1), kChunk, 4);
  const auto source = std::make_shared<BusySource>(frame.build());
  Stats own_stats;
  BlockCache small(8 << 20, pages, own_stats);
  const SharedSnapshot snapshot = frame::open_cframe(source, {});
  const FrameReader reader(snapshot, 1, 2, small, own_stats);
  std::vector<std::jthread> threads;
  for (int chunk = 0; chunk < 4; ++chunk)
    threads.emplace_back([&, chunk] {
      Request own;
      reader.open_chunk(own, chunk);
    });
  for (std::jthread& thread : threads) thread.join();
  BOOST_TEST(own_stats.chunks_opened.load() >= 4);
  BOOST_TEST(source->most_at_once() == 1);
}

BOOST_AUTO_TEST_CASE(counts_wrong_checksums) {
  auto frame = simple_frame(pattern(10'000, 1), 5000, 5000);
  Buffer sums;
  for (const unsigned seed : {1u, 2u}) {
    const Buffer sum = pattern(8, seed);
    sums.insert(sums.end(), sum.begin(), sum.end());
  }
  frame.vlmetalayers = {{"bloscfs.xxh3", make_memcpy_chunk(sums, 8)}};
  settings.verify_checksums = true;
  BOOST_CHECK_EXCEPTION(read(view(frame), 0, 10), codec::Error, is_malformed_frame);
  BOOST_TEST(stats.checksum_failures.load() == 1);

  BlpFile packed = simple_blp(pattern(10'000, 1), 5000);
  Buffer bytes = packed.build();
  bytes[packed.position(1) + 100] ^= 1;
  const FileView file = view(SharedSnapshot(open_blp(bytes)));
  BOOST_TEST((read(file, 0, 5000) == pattern(5000, 1)));
  BOOST_CHECK_EXCEPTION(read(file, 5000, 10), codec::Error, is_malformed_frame);
  BOOST_TEST(stats.checksum_failures.load() == 2);
}

BOOST_AUTO_TEST_SUITE_END()
