#include "fs/options/option_values.hpp"

#include <boost/test/unit_test.hpp>

using namespace bloscfs;
using codec::FilterId;

BOOST_AUTO_TEST_SUITE(option_values)

BOOST_AUTO_TEST_CASE(parses_sizes_with_units) {
  BOOST_TEST(fs::parse_size("0").value() == 0);
  BOOST_TEST(fs::parse_size("1000").value() == 1000);
  BOOST_TEST(fs::parse_size("3K").value() == 3 << 10);
  BOOST_TEST(fs::parse_size("64M").value() == 64 << 20);
  BOOST_TEST(fs::parse_size("2G").value() == std::int64_t{2} << 30);
  BOOST_TEST(fs::parse_size("3T").value() == std::int64_t{3} << 40);
  BOOST_TEST(fs::parse_size("8589934591G").value() == std::int64_t{8589934591} << 30);
}

BOOST_AUTO_TEST_CASE(refuses_what_is_not_quite_a_size) {
  for (const char* text : {"", "K", "-1", "+1", "1k", "1 K", " 1", "0x10", "1.5M", "1MB", "1P",
                           "-0", "9223372036854775808", "8589934592G"})
    BOOST_TEST(!fs::parse_size(text), text);
}

BOOST_AUTO_TEST_CASE(knows_the_codecs_that_can_write) {
  BOOST_TEST((fs::parse_codec("lz4hc") == fs::CodecChoice{codec::CodecId::lz4hc, 0}));
  BOOST_TEST((fs::parse_codec("ndlz") == fs::CodecChoice{codec::CodecId::ndlz, 4}));
  BOOST_TEST((fs::parse_codec("ndlz:8") == fs::CodecChoice{codec::CodecId::ndlz, 8}));
  for (const char* text : {"", "snappy", "grok", "LZ4", "codec5", "lz4:1",
                           "lz4:", "ndlz:", "ndlz:x", "ndlz:256", "zfp_accuracy"})
    BOOST_TEST(!fs::parse_codec(text), text);
}

BOOST_AUTO_TEST_CASE(puts_filters_into_the_last_slots) {
  const fs::FilterSteps steps = fs::parse_filters("trunc_prec:10,shuffle").value();
  BOOST_TEST((steps[4] == codec::FilterStep{FilterId::trunc_prec, 10}));
  BOOST_TEST((steps[5] == codec::FilterStep{FilterId::shuffle, 0}));
  BOOST_TEST((steps[3] == codec::FilterStep{}));
  BOOST_TEST((fs::parse_filters("trunc_prec:-4")->at(5).meta == 252));
  BOOST_TEST((fs::parse_filters("delta,trunc_prec:3+shuffle")->at(4).meta == 3));
  BOOST_TEST((fs::parse_filters("shuffle+delta")->at(5).id == FilterId::delta));
  BOOST_TEST((fs::parse_filters("none") == fs::FilterSteps{}));
}

BOOST_AUTO_TEST_CASE(refuses_filters_that_do_not_exist) {
  for (const char* text : {"", ",", "shuffle,", "none,shuffle", "shuffle:", "shuffle:256",
                           "shuffle:-129", "shuffle:--1", "shuffle:x", "sharpen", "shuffle+",
                           "shuffle+,delta", "delta,delta,delta,delta,delta,delta,delta"})
    BOOST_TEST(!fs::parse_filters(text), text);
}

BOOST_AUTO_TEST_SUITE_END()
