// Chunks in the cells of a grid.

#include <numeric>

#include <boost/test/unit_test.hpp>

#include "fs/survey/chunk_survey.hpp"
#include "tests/fs/view/reader_fixture.hpp"

using namespace bloscfs;
using namespace bloscfs::fs;
using namespace bloscfs::frame::test;
using namespace bloscfs::test;

namespace {

frame::FrameInfo info_of(std::vector<std::int64_t> shape, std::vector<std::int32_t> chunkshape,
                         std::int64_t chunks) {
  frame::FrameInfo info;
  info.nchunks = chunks;
  info.array = frame::ArrayInfo{std::move(shape), chunkshape, chunkshape, std::nullopt, false};
  return info;
}

/// Checks that each chunk is counted in exactly one cell.
void check_cells(const ChunkGrid& grid, std::int64_t chunks) {
  std::vector<std::int64_t> found(static_cast<std::size_t>(grid.cell_count()));
  for (std::int64_t chunk = 0; chunk < chunks; chunk++)
    found[static_cast<std::size_t>(grid.cell_of(chunk))]++;
  for (std::int64_t cell = 0; cell < grid.cell_count(); cell++) {
    BOOST_TEST(grid.chunks_of(cell) == found[static_cast<std::size_t>(cell)]);
    BOOST_TEST(grid.cell_of(grid.first_chunk_of(cell)) == cell);
  }
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(survey_chunks, ReaderFixture)

BOOST_AUTO_TEST_CASE(cells_are_boxes_of_chunks) {
  const ChunkGrid grid(info_of({95, 70, 3}, {10, 7, 1}, 300), 100);
  BOOST_TEST(grid.is_of_array());
  BOOST_TEST(grid.cell_count() <= 100);
  BOOST_TEST(grid.cell_count() > 25);
  BOOST_TEST((grid.place_of(299) == std::vector<std::int64_t>{9, 9, 2}));
  check_cells(grid, 300);
}

BOOST_AUTO_TEST_CASE(others_follow_each_other) {
  frame::FrameInfo flat;
  flat.nchunks = 1000;
  check_cells(ChunkGrid(flat, 64), 1000);
  flat.nchunks = std::int64_t{1} << 61;
  const ChunkGrid huge(flat, 2048);
  BOOST_TEST(huge.cell_count() == 2048);
  BOOST_TEST(huge.cell_of(flat.nchunks - 1) == 2047);
  const ChunkGrid four(info_of({2, 2, 2, 2}, {1, 1, 1, 1}, 16), 100);
  BOOST_TEST(!four.is_of_array());
  BOOST_TEST(four.cell_count() == 16);
}

BOOST_AUTO_TEST_CASE(shapes_that_contradict_the_count_are_none) {
  for (const auto& info : {info_of({0, 1 << 30, 1 << 30}, {1, 1, 1}, 7), info_of({6}, {2}, 7),
                           info_of({6}, {0}, 7), info_of({7, 7}, {1}, 7)}) {
    const ChunkGrid grid(info, 100);
    BOOST_TEST(!grid.is_of_array());
    BOOST_TEST(grid.cell_count() == 7);
  }
  BOOST_TEST(ChunkGrid(info_of({0}, {1}, 0), 100).cell_count() == 0);
}

BOOST_AUTO_TEST_CASE(chunks_are_counted_by_what_they_are) {
  FrameBuilder frame = simple_frame(pattern(4000, 1), 1000, 500);
  frame.entries.push_back(special_entry(0x81));
  frame.entries.push_back(std::int64_t{1} << 40);
  frame.nbytes += 2000;
  const FileView opened = view(frame);
  const ChunkSurvey survey = fs::survey_chunks(request, opened.reader(), {});
  BOOST_TEST(!survey.is_sample);
  BOOST_TEST(survey.all.seen == 6);
  BOOST_TEST(survey.all.stored == 4);
  BOOST_TEST(survey.all.special_count() == 1);
  BOOST_TEST(survey.all.damaged == 1);
  BOOST_TEST(survey.all.nbytes == 4000);
  BOOST_TEST(survey.ratios.size() == 4u);
  BOOST_TEST_REQUIRE(survey.faults.size() == 1u);
  BOOST_TEST(survey.faults[0].chunk == 5);
  BOOST_TEST(!survey.faults[0].reason.empty());
  BOOST_TEST(survey.cells[4].special_count() == 1);
  BOOST_TEST(survey.cells[5].damaged == 1);
}

BOOST_AUTO_TEST_CASE(a_sample_meets_all_cells) {
  FrameBuilder frame = repeated(make_memcpy_chunk({9}, 1), 1, 10'000);
  frame.metalayers = {{"b2nd", array_layer({100, 100}, {1, 1}, {1, 1})}};
  const FileView opened = view(frame);
  SurveyLimits limits;
  limits.chunks = 1000;
  limits.cells = 100;
  const ChunkSurvey survey = fs::survey_chunks(request, opened.reader(), limits);
  BOOST_TEST(survey.is_sample);
  BOOST_TEST(survey.all.seen <= 1000);
  BOOST_TEST(survey.all.seen > 500);
  BOOST_TEST(survey.cells.size() <= 100u);
  for (const ChunkCounts& cell : survey.cells) BOOST_TEST(cell.seen > 0);
}

BOOST_AUTO_TEST_SUITE_END()
