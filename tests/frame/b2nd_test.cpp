// The b2nd metalayer: what the parser reads from it, and what it refuses.

#include "frame/header/b2nd.hpp"

#include <functional>
#include <string>

#include <boost/test/unit_test.hpp>

#include "codec/error.hpp"
#include "tests/frame/frame_builder.hpp"

using namespace bloscfs::frame;
using bloscfs::codec::Error;
using bloscfs::frame::test::Buffer;

namespace {

struct Layer {
  std::vector<std::int64_t> shape{10, 7};
  std::vector<std::int32_t> chunks{4, 5};
  std::vector<std::int32_t> blocks{3, 2};
  std::string dtype = "<i4";
  bool with_dtype = true;

  Buffer bytes() const {
    Buffer out = {0x97, 0, static_cast<std::uint8_t>(shape.size())};
    const auto marker = static_cast<std::uint8_t>(0x90 + shape.size());
    out.push_back(marker);
    for (const std::int64_t s : shape) {
      out.push_back(0xd3);
      bloscfs::frame::test::put_big(out, static_cast<std::uint64_t>(s), 8);
    }
    for (const auto* extents : {&chunks, &blocks}) {
      out.push_back(marker);
      for (const std::int32_t extent : *extents) {
        out.push_back(0xd2);
        bloscfs::frame::test::put_big(out, static_cast<std::uint32_t>(extent), 4);
      }
    }
    if (!with_dtype) return out;
    out.push_back(0);
    out.push_back(0xdb);
    bloscfs::frame::test::put_big(out, dtype.size(), 4);
    out.insert(out.end(), dtype.begin(), dtype.end());
    return out;
  }
};

/// The frame of the example in frame/formats/b2nd.md, "Geometry".
FrameInfo sample_frame() {
  FrameInfo info;
  info.typesize = 4;
  info.chunksize = 144;
  info.blocksize = 24;
  info.nbytes = 864;
  info.nchunks = 6;
  return info;
}

void check_refused(const Layer& layer, const FrameInfo& frame = sample_frame()) {
  BOOST_CHECK_THROW(parse_b2nd(layer.bytes(), frame), Error);
}

Layer changed(const std::function<void(Layer&)>& change) {
  Layer layer;
  change(layer);
  return layer;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(b2nd)

BOOST_AUTO_TEST_CASE(reads_the_sample_of_the_format) {
  const ArrayInfo array = parse_b2nd(Layer().bytes(), sample_frame());
  BOOST_TEST(array.shape == (std::vector<std::int64_t>{10, 7}));
  BOOST_TEST(array.chunkshape == (std::vector<std::int32_t>{4, 5}));
  BOOST_TEST(array.blockshape == (std::vector<std::int32_t>{3, 2}));
  BOOST_TEST(array.dtype.value() == "<i4");
}

BOOST_AUTO_TEST_CASE(reads_a_metalayer_without_dtype) {
  const auto layer = changed([](Layer& l) { l.with_dtype = false; });
  BOOST_CHECK(!parse_b2nd(layer.bytes(), sample_frame()).dtype);
}

BOOST_AUTO_TEST_CASE(reads_sixteen_dimensions_and_none) {
  FrameInfo frame;
  frame.typesize = frame.chunksize = frame.blocksize = 8;
  frame.nbytes = 8;
  const auto sixteen = changed([](Layer& l) {
    l.shape.assign(16, 1);
    l.chunks.assign(16, 1);
    l.blocks.assign(16, 1);
  });
  BOOST_CHECK_EQUAL(parse_b2nd(sixteen.bytes(), frame).shape.size(), 16);
  const auto none = changed([](Layer& l) {
    l.shape.clear();
    l.chunks.clear();
    l.blocks.clear();
  });
  BOOST_CHECK(parse_b2nd(none.bytes(), frame).shape.empty());
  frame.nbytes = 16;
  BOOST_CHECK_THROW(parse_b2nd(none.bytes(), frame), Error);
}

BOOST_AUTO_TEST_CASE(refuses_a_metalayer_cut_short_anywhere) {
  const Buffer whole = Layer().bytes();
  const std::size_t without_dtype = changed([](Layer& l) { l.with_dtype = false; }).bytes().size();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    if (size == without_dtype) continue;
    const Buffer cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    BOOST_CHECK_THROW(parse_b2nd(cut, sample_frame()), Error);
  }
}

BOOST_AUTO_TEST_CASE(refuses_a_wrong_marker) {
  const Buffer whole = Layer().bytes();
  for (const std::size_t at : {3U, 4U, 13U, 22U, 23U, 33U, 34U, 45U}) {
    Buffer damaged = whole;
    damaged[at] ^= 0x40;
    BOOST_CHECK_THROW(parse_b2nd(damaged, sample_frame()), Error);
  }
}

BOOST_AUTO_TEST_CASE(refuses_extents_that_cannot_be) {
  check_refused(changed([](Layer& l) { l.shape[0] = -1; }));
  check_refused(changed([](Layer& l) { l.chunks[1] = -1; }));
  check_refused(changed([](Layer& l) { l.blocks[1] = -1; }));
  check_refused(changed([](Layer& l) { l.blocks[0] = 0; }));
  check_refused(changed([](Layer& l) { l.chunks[0] = l.blocks[0] = 0; }));
  check_refused(changed([](Layer& l) { l.shape = {INT64_MAX, INT64_MAX}; }));
  check_refused(changed([](Layer& l) { l.chunks = {65536, 65536}; }));
  check_refused(changed([](Layer& l) { l.blocks = {65536, 65536}; }));
  check_refused(changed([](Layer& l) { l.chunks[0] = l.blocks[0] = INT32_MAX; }));
}

BOOST_AUTO_TEST_CASE(refuses_seventeen_dimensions) {
  check_refused(changed([](Layer& l) {
    l.shape.assign(17, 1);
    l.chunks.assign(17, 1);
    l.blocks.assign(17, 1);
  }));
}

BOOST_AUTO_TEST_CASE(refuses_a_frame_that_the_shapes_do_not_fit) {
  const auto frame_with = [](const std::function<void(FrameInfo&)>& change) {
    FrameInfo frame = sample_frame();
    change(frame);
    return frame;
  };
  check_refused({}, frame_with([](FrameInfo& f) { f.typesize = 8; }));
  check_refused({}, frame_with([](FrameInfo& f) { f.chunksize = 148; }));
  check_refused({}, frame_with([](FrameInfo& f) { f.blocksize = 28; }));
  check_refused({}, frame_with([](FrameInfo& f) { f.nbytes = 720; }));
  check_refused(changed([](Layer& l) { l.shape[0] = 13; }));
}

BOOST_AUTO_TEST_CASE(accepts_an_empty_array_only_without_contents) {
  const auto empty = changed([](Layer& l) { l.shape[1] = 0; });
  FrameInfo frame = sample_frame();
  BOOST_CHECK_THROW(parse_b2nd(empty.bytes(), frame), Error);
  frame.nbytes = 0;
  BOOST_CHECK_EQUAL(parse_b2nd(empty.bytes(), frame).shape[1], 0);
}

BOOST_AUTO_TEST_CASE(reads_an_array_through_its_frame) {
  // A 1-d array of 10 items in chunks of 4 and blocks of 3. Chunks are padded to 6 items.
  const auto layer = changed([](Layer& l) {
    l.shape = {10};
    l.chunks = {4};
    l.blocks = {3};
    l.dtype = "|u1";
  });
  Buffer stored;
  Buffer expected;
  for (int chunk = 0; chunk < 3; ++chunk)
    for (int i = 0; i < 6; ++i) {
      const bool real = i < 4 && chunk * 4 + i < 10;
      stored.push_back(real ? static_cast<std::uint8_t>(chunk * 4 + i + 1) : 0xff);
      if (real) expected.push_back(stored.back());
    }
  auto frame = bloscfs::frame::test::simple_frame(stored, 6, 3);
  frame.metalayers = {{"b2nd", layer.bytes()}};
  const auto snapshot = bloscfs::frame::test::open_bytes(frame.build());
  BOOST_REQUIRE(snapshot->info().array);
  BOOST_TEST(bloscfs::frame::test::read_all(*snapshot) == expected);
}

BOOST_AUTO_TEST_SUITE_END()
