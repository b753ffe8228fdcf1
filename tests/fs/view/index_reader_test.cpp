// Indexes that are large, or wrong.

#include "fs/view/index_reader.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/fs/view/reader_fixture.hpp"

using namespace bloscfs;
using namespace bloscfs::fs;
using namespace bloscfs::frame::test;
using namespace bloscfs::test;

namespace {

/// A snapshot whose index has pages of two chunks. The test places the chunks.
class PlacedChunks final : public frame::Snapshot {
 public:
  explicit PlacedChunks(std::vector<frame::ChunkPlace> places)
      : Snapshot({}, nullptr, {}), places_(std::move(places)) {}

  bool unchanged() const override { return true; }
  bool needs_chunk_map() const override { return false; }
  std::unique_ptr<const frame::ChunkMap> read_chunk_map(std::size_t,
                                                        codec::BlockDecoder&) const override {
    return nullptr;
  }
  std::int64_t page_of_chunk(std::int64_t chunk, const frame::ChunkMap*) const override {
    return chunk / 2;
  }
  std::int64_t page_at(std::int64_t content_offset, const frame::ChunkMap*) const override {
    return content_offset / 20;
  }
  std::int64_t page_memory(std::int64_t, const frame::ChunkMap*) const override { return 100; }
  std::unique_ptr<const frame::IndexPage> read_page(std::int64_t page, const frame::ChunkMap*,
                                                    codec::BlockDecoder&) const override {
    return std::make_unique<Page>(*this, page);
  }
  frame::OpenedChunk open_chunk(const frame::ChunkPlace&, std::size_t) const override {
    throw std::logic_error("no chunks");
  }
  void read_stored(const frame::OpenedChunk&, const codec::ByteRange&,
                   frame::MutableBytes) const override {}

 private:
  class Page final : public frame::IndexPage {
   public:
    Page(const PlacedChunks& snapshot, std::int64_t number)
        : snapshot_(snapshot), number_(number) {}
    std::int64_t first_chunk() const override { return 2 * number_; }
    std::int64_t chunk_count() const override { return 2; }
    frame::ChunkPlace place(std::int64_t chunk) const override {
      return snapshot_.places_.at(static_cast<std::size_t>(chunk));
    }
    std::int64_t chunk_at(std::int64_t content_offset) const override {
      return content_offset / 10;
    }
    bool uniform_special() const override { return false; }
    std::size_t memory() const override { return 100; }

   private:
    const PlacedChunks& snapshot_;
    std::int64_t number_;
  };

  std::vector<frame::ChunkPlace> places_;
};

/// Makes chunks of ten bytes, one after the other.
std::vector<frame::ChunkPlace> chunks_in_a_row(std::int64_t count) {
  std::vector<frame::ChunkPlace> places;
  for (std::int64_t i = 0; i < count; ++i) {
    frame::ChunkPlace place;
    place.number = i;
    place.content_offset = 10 * i;
    place.nbytes = 10;
    places.push_back(place);
  }
  return places;
}

struct IndexFixture : ReaderFixture {
  FrameReader reader(std::vector<frame::ChunkPlace> places) {
    ids_ += 2;
    return {std::make_shared<PlacedChunks>(std::move(places)), ids_, ids_ + 1, cache, stats};
  }

 private:
  std::uint64_t ids_ = 100;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(index_reader, IndexFixture)

BOOST_AUTO_TEST_CASE(large_index_pages_wait_for_each_other) {
  constexpr std::int32_t kPage = 1 << 20;
  FrameBuilder frame = repeated(make_memcpy_chunk(pattern(5000, 1), 1), 5000, 4 * (kPage / 8));
  frame.index_chunk = make_block_chunk(Buffer(4 * kPage), 8, kPage);
  const auto source = std::make_shared<BusySource>(frame.build());
  Stats own_stats;
  BlockCache small(8 << 20, pages, own_stats);
  const SharedSnapshot snapshot = frame::open_cframe(source, {});
  const FrameReader reader(snapshot, 1, 2, small, own_stats);
  std::vector<std::jthread> threads;
  for (int page = 0; page < 4; ++page)
    threads.emplace_back([&, page] {
      Request own;
      ReadRequest reading = reader.begin_request(own);
      reader.index().page_of_chunk(page * (kPage / 8), reading);
    });
  for (std::jthread& thread : threads) thread.join();
  BOOST_TEST(own_stats.index_blocks_decoded.load() >= 4);
  BOOST_TEST(source->most_at_once() == 1);
}

BOOST_AUTO_TEST_CASE(snapshots_keep_neither_index_nor_vlmetalayers) {
  FrameBuilder frame = repeated(make_memcpy_chunk({9}, 1), 1, 50'000);
  frame.index_chunk = make_block_chunk(Buffer(8 * 50'000), 8, 8);  // one block for every chunk
  for (int i = 0; i < 1000; ++i)
    frame.vlmetalayers.emplace_back("name of a layer " + std::to_string(i), Buffer());
  const SharedSnapshot snapshot(open_bytes(frame.build()));
  const FileView file = view(snapshot);
  BOOST_TEST((read(file, 49'999, 1) == Buffer{9}));
  BOOST_TEST(snapshot->vlmetalayers().size() == 1000);
  BOOST_TEST(snapshot->memory() < 10'000);
  BOOST_TEST(stats.cache_bytes.load() > 200'000);  // where the blocks of the index start
}

BOOST_AUTO_TEST_CASE(books_the_pass_over_chunks_of_different_sizes) {
  FrameBuilder frame = repeated(make_memcpy_chunk({9}, 1), 1, 3 << 20);
  frame.chunksize = 0;
  frame.general_flags = 0x53;
  frame.index_chunk = make_block_chunk(Buffer(8 * (3 << 20)), 8, 8 * (3 << 20));
  const FileView file = view(frame);
  BOOST_CHECK_EXCEPTION(read(file, 0, 1), codec::Error, is_too_large);
}

BOOST_AUTO_TEST_CASE(looks_for_data_page_by_page) {
  constexpr std::int32_t kChunks = 1 << 20;
  FrameBuilder frame = repeated(make_memcpy_chunk({9}, 1), 1, kChunks);
  for (std::size_t i = 0; i < kChunks; ++i)
    frame.entries[i] = special_entry(i % 2 == 0 ? 0x81 : 0x84);
  frame.entries.back() = 0;
  for (const bool in_slabs : {false, true}) {
    if (in_slabs) frame.metalayers = {{"b2nd", array_layer({1, kChunks}, {1, 1}, {1, 1})}};
    const FileView file = view(frame);
    const auto hits = stats.cache_hits.load();
    BOOST_TEST(file.seek_data(request, 5).value() == kChunks - 1);
    BOOST_TEST(file.seek_hole(request, 0).value() == 0);
    BOOST_TEST(stats.cache_hits.load() - hits < 3000);
  }
}

BOOST_AUTO_TEST_CASE(finds_chunks_by_number_and_by_content) {
  const FrameReader frame = reader(chunks_in_a_row(6));
  ReadRequest reading = frame.begin_request(request);
  BOOST_TEST(frame.index().place_of_chunk(3, reading).content_offset == 30);
  const frame::ChunkPlace found = frame.index().place_at(19, reading);
  BOOST_TEST(found.number == 1);
  BOOST_TEST(frame.index().place_after(found, reading).number == 2);
}

BOOST_AUTO_TEST_CASE(has_the_last_page_at_hand) {
  const FrameReader frame = reader(chunks_in_a_row(6));
  ReadRequest reading = frame.begin_request(request);
  frame.index().place_at(20, reading);
  cache.shrink(0);
  for (const std::int64_t chunk : {2, 3, 2}) frame.index().place_of_chunk(chunk, reading);
  BOOST_TEST(stats.index_blocks_decoded.load() == 1);
  frame.index().place_of_chunk(4, reading);
  BOOST_TEST(stats.index_blocks_decoded.load() == 2);
  BOOST_TEST(stats.cache_misses.load() == 2);
}

BOOST_AUTO_TEST_CASE(refuses_a_chunk_that_does_not_hold_what_it_was_found_for) {
  std::vector<frame::ChunkPlace> places = chunks_in_a_row(2);
  places[1].content_offset = 12;
  const FrameReader frame = reader(places);
  ReadRequest reading = frame.begin_request(request);
  BOOST_TEST(frame.index().place_at(12, reading).number == 1);
  for (const std::int64_t offset : {10, 11})
    BOOST_CHECK_EXCEPTION(frame.index().place_at(offset, reading), codec::Error,
                          is_malformed_frame);
  places[1] = chunks_in_a_row(2)[1];
  places[1].nbytes = 9;
  const FrameReader shorter = reader(places);
  ReadRequest another = shorter.begin_request(request);
  BOOST_CHECK_EXCEPTION(shorter.index().place_at(19, another), codec::Error, is_malformed_frame);
}

BOOST_AUTO_TEST_CASE(refuses_a_chunk_that_does_not_follow_the_one_before) {
  std::vector<frame::ChunkPlace> places = chunks_in_a_row(3);
  places[2].content_offset++;
  const FrameReader frame = reader(places);
  ReadRequest reading = frame.begin_request(request);
  const frame::ChunkPlace first = frame.index().place_of_chunk(0, reading);
  const frame::ChunkPlace second = frame.index().place_after(first, reading);
  BOOST_CHECK_EXCEPTION(frame.index().place_after(second, reading), codec::Error,
                        is_malformed_frame);
}

BOOST_AUTO_TEST_SUITE_END()
