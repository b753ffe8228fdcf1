// Headers, metalayers and trailers as bytes. They are compared with examples in the descriptions of
// the formats, and with frames that the parsers accept.

#include <boost/test/unit_test.hpp>

#include "frame/editing/frame_tail.hpp"
#include "frame/editing/new_frame.hpp"
#include "frame/header/b2nd.hpp"
#include "frame/header/cframe_format.hpp"
#include "frame/header/frame_header.hpp"
#include "frame/header/frame_header_writer.hpp"
#include "frame/header/metalayer_writer.hpp"
#include "tests/frame/frame_builder.hpp"

using namespace bloscfs;
using namespace bloscfs::frame;
using namespace bloscfs::frame::test;

BOOST_AUTO_TEST_SUITE(serialization)

BOOST_AUTO_TEST_CASE(writes_the_metalayer_section_of_the_description) {
  // frame/formats/metalayers.md, "The map": m1 and metalayer_two.
  FrameInfo info;
  info.codec = codec::CodecId::lz4;
  info.splitmode = 4;
  const Buffer header = serialize_frame_header(
      info, {{"m1", {'h', 'e', 'l', 'l', 'o'}}, {"metalayer_two", {0x93, 1, 2, 3}}});
  const std::string expected(
      "\x93\xcd\x00\x22\xde\x00\x02\xa2m1\xd2\x00\x00\x00\x7c\xadmetalayer_two\xd2\x00\x00\x00\x86"
      "\xdc\x00\x02\xc6\x00\x00\x00\x05hello\xc6\x00\x00\x00\x04\x93\x01\x02\x03",
      0x8f - 0x57);
  BOOST_TEST(header.size() == 0x8fu);
  BOOST_TEST(
      Buffer(header.begin() + 0x57, header.end()) == Buffer(expected.begin(), expected.end()),
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(writes_the_empty_trailer_of_the_description) {
  Buffer expected{0x94, 1, 0x93, 0xcd, 0, 6, 0xde, 0, 0, 0xdc, 0, 0, 0xce, 0, 0, 0, 0x23, 0xd8};
  expected.resize(35);
  BOOST_TEST(plain_trailer(false) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(writes_headers_byte_by_byte_as_an_independent_writer) {
  FrameBuilder builder;
  builder.typesize = 4;
  builder.blocksize = 2000;
  builder.chunksize = 8000;
  builder.metalayers = {{"a", pattern(7, 1)}, {"bb", {}}};
  builder.add(make_block_chunk(pattern(8000, 1), 4, 2000), 8000);
  FrameSettings settings;
  settings.typesize = 4;
  settings.blocksize = 2000;
  settings.chunksize = 8000;
  settings.codec = codec::CodecId::lz4;
  settings.filters.back().id = codec::FilterId::shuffle;
  settings.metalayers = {{"a", pattern(7, 1)}, {"bb", {}}};
  const NewFrame planned = plan_frame(settings, ContainerKind::cframe);
  FrameInfo info = planned.info;
  info.nbytes = 8000;
  info.cbytes = std::ssize(builder.chunk_area);
  info.frame_len = std::ssize(builder.build());
  Buffer expected = builder.header();
  expected[0x1c] = 3;  // forward-compatible splitting
  BOOST_TEST(first_header(planned, info, false) == expected, boost::test_tools::per_element());
  expected[0x44] = 0xc3;
  BOOST_TEST(first_header(planned, info, true) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(writes_headers_that_parse_to_the_same_values) {
  FrameSettings settings;
  settings.typesize = 300;
  settings.chunksize = 30000;
  settings.blocksize = 3000;
  settings.codec = codec::CodecId::zstd;
  settings.clevel = 9;
  settings.splitmode = 2;
  settings.use_dict = true;
  settings.filters[0] = {codec::FilterId::delta, 0};
  settings.filters[5] = {codec::FilterId::bytedelta, 8};
  const NewFrame planned = plan_frame(settings, ContainerKind::sframe);
  FrameInfo info = planned.info;
  info.frame_len = 5000;
  const FrameHeader parsed = parse_frame_header(first_header(planned, info, false));
  BOOST_TEST(parsed.frame_type == 1);
  BOOST_TEST(parsed.info.typesize == 300);
  BOOST_TEST(parsed.info.chunksize == 30000);
  BOOST_TEST(parsed.info.blocksize == 3000);
  BOOST_CHECK(parsed.info.codec == codec::CodecId::zstd);
  BOOST_TEST(parsed.info.clevel == 9);
  BOOST_TEST(parsed.info.splitmode == 2);
  BOOST_TEST(parsed.info.use_dict);
  BOOST_CHECK(
      std::equal(settings.filters.begin(), settings.filters.end(), parsed.info.filters.begin()));
}

BOOST_AUTO_TEST_CASE(writes_the_b2nd_metalayer_of_the_description) {
  // frame/formats/b2nd.md, "Metalayer": int32 10x7 in chunks of 4x5 and blocks of 3x2.
  ArrayInfo array;
  array.shape = {10, 7};
  array.chunkshape = {4, 5};
  array.blockshape = {3, 2};
  array.dtype = "<i4";
  const std::string expected(
      "\x97\x00\x02\x92\xd3\0\0\0\0\0\0\0\x0a\xd3\0\0\0\0\0\0\0\x07\x92\xd2\0\0\0\x04\xd2\0\0\0\x05"
      "\x92\xd2\0\0\0\x03\xd2\0\0\0\x02\x00\xdb\0\0\0\x03<i4",
      53);
  const Buffer bytes = serialize_b2nd(array);
  BOOST_TEST(bytes == Buffer(expected.begin(), expected.end()), boost::test_tools::per_element());
  Buffer changed = bytes;
  update_shape(changed, 0, {11, 7});
  array.shape[0] = 11;
  BOOST_TEST(changed == serialize_b2nd(array), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(writes_b2nd_metalayers_that_parse_to_the_same_values) {
  for (const std::size_t dimensions : {0u, 1u, 3u, 16u}) {
    ArrayInfo array;
    array.shape.assign(dimensions, 3);
    array.chunkshape.assign(dimensions, 2);
    array.blockshape.assign(dimensions, 1);
    if (dimensions != 3) array.dtype = "[('a', '<i4')]";
    FrameInfo info;
    info.typesize = 4;
    const ArraySizes sizes = array_sizes(array, info.typesize);
    info.chunksize = static_cast<std::int32_t>(sizes.chunksize);
    info.blocksize = static_cast<std::int32_t>(sizes.blocksize);
    info.nbytes = sizes.nbytes;
    const ArrayInfo parsed = parse_b2nd(serialize_b2nd(array), info);
    BOOST_CHECK(parsed.shape == array.shape);
    BOOST_CHECK(parsed.chunkshape == array.chunkshape);
    BOOST_CHECK(parsed.blockshape == array.blockshape);
    BOOST_CHECK(parsed.dtype == array.dtype);
  }
}

BOOST_AUTO_TEST_CASE(refuses_metalayers_that_no_header_holds) {
  FrameSettings settings;
  settings.metalayers.assign(17, {"a", {}});
  BOOST_CHECK_THROW(plan_frame(settings, ContainerKind::cframe), std::system_error);
  settings.metalayers = {{std::string(32, 'a'), {}}};
  BOOST_CHECK_THROW(plan_frame(settings, ContainerKind::cframe), std::system_error);
}

BOOST_AUTO_TEST_SUITE_END()
