#include "codec/names.hpp"

#include <boost/test/unit_test.hpp>

namespace bloscfs::codec {
namespace {

BOOST_AUTO_TEST_SUITE(names)

BOOST_AUTO_TEST_CASE(names_known_codecs_and_numbers_others) {
  BOOST_TEST(codec_name(CodecId::blosclz) == "blosclz");
  BOOST_TEST(codec_name(CodecId::lz4hc) == "lz4hc");
  BOOST_TEST(codec_name(CodecId::zfp_rate) == "zfp_rate");
  BOOST_TEST(codec_name(static_cast<CodecId>(200)) == "codec200");
}

BOOST_AUTO_TEST_CASE(names_known_filters_and_numbers_others) {
  BOOST_TEST(filter_name(FilterId::shuffle) == "shuffle");
  BOOST_TEST(filter_name(FilterId::bytedelta_old) == "bytedelta_old");
  BOOST_TEST(filter_name(FilterId::int_trunc) == "int_trunc");
  BOOST_TEST(filter_name(static_cast<FilterId>(5)) == "filter5");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace bloscfs::codec
