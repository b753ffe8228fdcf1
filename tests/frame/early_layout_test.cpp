// The frame layout that Blosc2 used before version 2.0.

#include <boost/test/unit_test.hpp>

#include "codec/error.hpp"
#include "tests/frame/frame_builder.hpp"

using namespace bloscfs::frame;
using bloscfs::frame::test::Buffer;

BOOST_AUTO_TEST_SUITE(early_layout)

BOOST_AUTO_TEST_CASE(reads_offsets_of_every_width) {
  const Buffer content = bloscfs::frame::test::pattern(9000, 4);
  for (const int width : {2, 4, 8}) {
    const auto snapshot = bloscfs::frame::test::open_bytes(
        bloscfs::frame::test::early_frame(content, 1000, width, {}, {}));
    BOOST_TEST(bloscfs::frame::test::read_all(*snapshot) == content);
    BOOST_CHECK_EQUAL(snapshot->info().header_len, 0x52);
    BOOST_CHECK(snapshot->info().codec == bloscfs::codec::CodecId::zstd);
    BOOST_CHECK(snapshot->info().filters[7].id == bloscfs::codec::FilterId::shuffle);
    BOOST_CHECK(snapshot->vlmetalayers().empty());
  }
}

BOOST_AUTO_TEST_CASE(shows_usermeta_as_a_vlmetalayer) {
  const Buffer value = bloscfs::frame::test::pattern(100, 5);
  const auto snapshot = bloscfs::frame::test::open_bytes(bloscfs::frame::test::early_frame(
      bloscfs::frame::test::pattern(500, 4), 1000, 4,
      bloscfs::frame::test::make_memcpy_chunk(value, 1), {1, 2, 3, 4}));
  BOOST_REQUIRE_EQUAL(snapshot->vlmetalayers().size(), 1);
  BOOST_CHECK_EQUAL(snapshot->vlmetalayers()[0].name, "usermeta");
  bloscfs::codec::BlockDecoder decoder;
  BOOST_TEST(snapshot->read_vlmetalayer(snapshot->vlmetalayers()[0], 100, decoder) == value);
  BOOST_REQUIRE_EQUAL(snapshot->metalayers().size(), 1);
  BOOST_TEST(snapshot->read_metalayer(snapshot->metalayers()[0]) == (Buffer{1, 2, 3, 4}));
}

BOOST_AUTO_TEST_CASE(refuses_an_early_frame_cut_short_at_any_byte) {
  const Buffer bytes = bloscfs::frame::test::early_frame(
      bloscfs::frame::test::pattern(500, 4), 1000, 4,
      bloscfs::frame::test::make_memcpy_chunk({1}, 1), {1, 2, 3, 4});
  for (std::size_t size = 0; size < bytes.size(); ++size)
    BOOST_CHECK_THROW(bloscfs::frame::test::open_bytes(
                          {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}),
                      bloscfs::codec::Error);
}

BOOST_AUTO_TEST_CASE(refuses_the_reserved_offset_width) {
  Buffer bytes =
      bloscfs::frame::test::early_frame(bloscfs::frame::test::pattern(500, 4), 1000, 4, {}, {});
  bytes[0x19] |= 0x30;
  BOOST_CHECK_THROW(bloscfs::frame::test::open_bytes(bytes), bloscfs::codec::Error);
}

BOOST_AUTO_TEST_SUITE_END()
