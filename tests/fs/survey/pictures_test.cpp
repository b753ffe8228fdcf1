// Elements for pictures: which are read, what reading them costs, and what damage leaves of them.

#include <cmath>

#include <boost/endian/conversion.hpp>
#include <boost/test/unit_test.hpp>

#include "fs/survey/array_line.hpp"
#include "fs/survey/array_slice.hpp"
#include "tests/fs/view/reader_fixture.hpp"

using namespace bloscfs;
using namespace bloscfs::fs;
using namespace bloscfs::frame::test;
using namespace bloscfs::test;

namespace {

constexpr std::int64_t kRows = 64, kColumns = 4096;
constexpr std::int32_t kChunk = 16 * kColumns, kBlock = 4 * kColumns;

/// Makes an array of bytes. Each block is four whole rows, so the order of the blocks is that of
/// the rows.
FrameBuilder array_frame() {
  FrameBuilder frame = simple_frame(pattern(kRows * kColumns, 3), kChunk, kBlock);
  frame.metalayers = {{"b2nd", array_layer({kRows, kColumns}, {16, kColumns}, {4, kColumns})}};
  return frame;
}

FrameBuilder line_frame(std::int64_t size) {
  FrameBuilder frame = simple_frame(pattern(static_cast<std::size_t>(size), 3), 1000, 100);
  frame.metalayers = {{"b2nd", array_layer({size}, {1000}, {100})}};
  return frame;
}

/// Gives a block of the first chunk a stream that is longer than the chunk.
void damage_block(FrameBuilder& frame, std::size_t block) {
  std::uint8_t* const starts = frame.chunk_area.data() + 32;
  const auto at = boost::endian::load_little_u32(starts + 4 * block);
  boost::endian::store_little_u32(frame.chunk_area.data() + at, 0x7fffffff);
}

struct SurveyFixture : ReaderFixture {
  ElementSampler sampler(const FrameBuilder& frame) {
    const FileView opened = view(frame);
    auto result = ElementSampler::open(request, opened.reader());
    if (const auto* refusal = std::get_if<std::string>(&result)) throw std::runtime_error(*refusal);
    return std::get<ElementSampler>(std::move(result));
  }
};

double value_of(const std::string& dtype, const Buffer& bytes) {
  const auto values = ElementValues::of(dtype);
  BOOST_REQUIRE(values);
  BOOST_TEST(values->itemsize() == std::ssize(bytes));
  return values->value(bytes.data());
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(survey_pictures, SurveyFixture)

BOOST_AUTO_TEST_CASE(a_slice_has_elements_at_even_steps) {
  PictureLimits limits;
  limits.side = 16;
  const ArraySlice slice = read_slice(request, sampler(array_frame()), 0, 1, limits);
  BOOST_TEST(slice.rows.step == 4);
  BOOST_TEST(slice.columns.step == 256);
  BOOST_TEST(!slice.is_coarse);
  const Buffer contents = pattern(kRows * kColumns, 3);
  BOOST_TEST_REQUIRE(slice.values.size() == 256u);
  for (std::size_t i = 0; i < slice.values.size(); i++)
    BOOST_TEST(slice.values[i].value() == contents[i / 16 * 4 * kColumns + i % 16 * 256]);
  BOOST_TEST(slice.range.read() == 256);
}

BOOST_AUTO_TEST_CASE(a_slice_in_colour_has_all_channels_of_a_place) {
  FrameBuilder frame = array_frame();
  frame.metalayers = {
      {"b2nd", array_layer({kRows, kColumns / 4, 4}, {16, kColumns / 4, 4}, {4, kColumns / 4, 4})}};
  PictureLimits limits;
  limits.side = 16;
  const ArraySlice slice = read_slice(request, sampler(frame), 0, 1, limits, 2);
  BOOST_TEST(slice.channels == 4);
  BOOST_TEST(slice.fixed.empty());
  const Buffer contents = pattern(kRows * kColumns, 3);
  BOOST_TEST_REQUIRE(slice.values.size() == 16u * 16 * 4);
  for (std::size_t i = 0; i < slice.values.size(); i++)
    BOOST_TEST(slice.values[i].value() ==
               contents[i / 64 * 4 * kColumns + i / 4 % 16 * 256 + i % 4]);
}

BOOST_AUTO_TEST_CASE(three_or_four_small_integers_are_colours) {
  const auto is_picture = [](const std::vector<std::int64_t>& shape, const std::string& dtype) {
    frame::ArrayInfo array;
    array.shape = shape;
    array.dtype = dtype;
    return is_in_colour(array);
  };
  BOOST_TEST(is_picture({20, 30, 3}, "|u1"));
  BOOST_TEST(is_picture({20, 30, 4}, "<u2"));
  BOOST_TEST(is_picture({5, 20, 30, 3}, ">u2"));
  BOOST_TEST(!is_picture({30, 3}, "|u1"));
  BOOST_TEST(!is_picture({20, 30, 2}, "|u1"));
  BOOST_TEST(!is_picture({20, 30, 3}, "<f4"));
}

BOOST_AUTO_TEST_CASE(a_slice_decodes_no_more_than_it_may) {
  PictureLimits limits;
  limits.decoded = 3 * kBlock;
  const ArraySlice slice = read_slice(request, sampler(array_frame()), 0, 1, limits);
  BOOST_TEST(slice.is_coarse);
  BOOST_TEST(slice.rows.count() <= 3);
  BOOST_TEST(slice.range.unreadable == 0);
  BOOST_TEST(stats.blocks_decoded.load() <= 3u);
}

BOOST_AUTO_TEST_CASE(damage_takes_its_block_alone) {
  FrameBuilder frame = array_frame();
  damage_block(frame, 1);
  const ArraySlice slice = read_slice(request, sampler(frame), 0, 1, {});
  BOOST_TEST(slice.range.unreadable == 4 * slice.columns.count());
  for (std::int64_t row = 0; row < kRows; row++)
    BOOST_TEST(slice.values[static_cast<std::size_t>(row * slice.columns.count())].has_value() ==
               (row < 4 || row >= 8));
}

BOOST_AUTO_TEST_CASE(a_line_has_what_all_elements_span) {
  PictureLimits limits;
  limits.bins = 12;
  FrameBuilder frame = line_frame(3000);
  const Buffer contents = pattern(3000, 3);
  const ArrayLine line = read_line(request, sampler(frame), limits);
  BOOST_TEST_REQUIRE(line.bins.size() == 12u);
  BOOST_TEST(!line.is_sample);
  BOOST_TEST(line.range.read() == 3000);
  const auto [least, most] = std::minmax_element(contents.begin() + 250, contents.begin() + 500);
  BOOST_TEST(line.bins[1].first == 250);
  BOOST_TEST(line.bins[1].range.min == *least);
  BOOST_TEST(line.bins[1].range.max == *most);
  double sum = 0;
  for (std::size_t i = 250; i < 500; i++) sum += contents[i];
  BOOST_TEST(std::abs(line.bins[1].mean - sum / 250) < 1e-9);
  damage_block(frame, 3);
  const ArrayLine damaged = read_line(request, sampler(frame), limits);
  // The reader decodes small neighbouring blocks together, so the whole chunk is unreadable.
  BOOST_TEST(damaged.range.unreadable == 1000);
  BOOST_TEST(damaged.bins[1].range.unreadable == 250);
  BOOST_TEST(damaged.bins[4].range.unreadable == 0);
}

BOOST_AUTO_TEST_CASE(of_a_long_line_a_sample_is_read) {
  PictureLimits limits;
  limits.decoded = 2000;
  const ArrayLine line = read_line(request, sampler(line_frame(100'000)), limits);
  BOOST_TEST(line.is_sample);
  BOOST_TEST(line.bins.size() <= 20u);
  BOOST_TEST(line.range.read() <= 2000);
  BOOST_TEST(line.bins.back().first >= 90'000);
}

BOOST_AUTO_TEST_CASE(three_cuts_show_the_last_axes) {
  using Axes = std::vector<std::array<std::size_t, 2>>;
  BOOST_TEST((slice_axes(2) == Axes{{0, 1}}));
  BOOST_TEST((slice_axes(3) == Axes{{1, 2}, {0, 2}, {0, 1}}));
  BOOST_TEST((slice_axes(5) == Axes{{3, 4}, {2, 4}, {2, 3}}));
}

BOOST_AUTO_TEST_CASE(elements_are_read_in_their_type) {
  BOOST_TEST(value_of("|u1", {200}) == 200);
  BOOST_TEST(value_of("|i1", {200}) == -56);
  BOOST_TEST(value_of("|b1", {1}) == 1);
  BOOST_TEST(value_of(">i2", {0xff, 0xfe}) == -2);
  BOOST_TEST(value_of("<u4", {1, 0, 0, 0x80}) == 2147483649.0);
  BOOST_TEST(value_of("<f2", {0x00, 0xbc}) == -1);
  BOOST_TEST(value_of("<f2", {0x01, 0x00}) == std::ldexp(1, -24));
  BOOST_TEST(std::isnan(value_of("<f2", {0x01, 0x7e})));
  BOOST_TEST(std::isinf(value_of("<f2", {0x00, 0xfc})));
  BOOST_TEST(value_of("<f4", {0, 0, 0x80, 0x3f}) == 1);
  BOOST_TEST(value_of(">f8", {0x40, 0, 0, 0, 0, 0, 0, 0}) == 2);
  BOOST_TEST(value_of("<c8", {0, 0, 0x40, 0x40, 0, 0, 0x80, 0x40}) == 5);
  for (const char* dtype : {"|S4", "<U2", "<M8[s]", "<m8[s]", "|V4", "[('a', '<i4')]", "", "x"})
    BOOST_TEST(!ElementValues::of(dtype), dtype);
}

BOOST_AUTO_TEST_SUITE_END()
