#include "fs/support/printable.hpp"

#include <boost/test/unit_test.hpp>

using namespace bloscfs::fs;

BOOST_AUTO_TEST_SUITE(printable_text)

BOOST_AUTO_TEST_CASE(leaves_text_as_it_is) {
  for (const char* text : {"", "plain", "a\\b \"c\"", "Gr\u00fc\u00dfe \u65e5\u672c \U0001f600"})
    BOOST_TEST(printable(text) == text);
}

BOOST_AUTO_TEST_CASE(writes_control_characters_as_escapes) {
  BOOST_TEST(printable("a\nb") == "a\\nb");
  BOOST_TEST(printable("\x1b[31mred\r\t\x7f") == "\\x1b[31mred\\x0d\\x09\\x7f");
  BOOST_TEST(printable(std::string("nul\0", 4)) == "nul\\x00");
  BOOST_TEST(printable("\xc2\x9b") == "\\x9b");  // U+009B begins control sequences
  BOOST_TEST(printable("\u202Etxt.exe\u2066") == "\\x202etxt.exe\\x2066");
}

BOOST_AUTO_TEST_CASE(writes_bytes_that_are_no_utf8_as_escapes) {
  BOOST_TEST(printable("a\x9b\xff\xc3") == "a\\x9b\\xff\\xc3");
}

BOOST_AUTO_TEST_SUITE_END()
