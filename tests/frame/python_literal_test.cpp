#include "frame/python/python_literal.hpp"

#include <boost/test/unit_test.hpp>

using namespace bloscfs::frame;

namespace {

std::string round_trip(std::string_view text) {
  const std::optional<PythonValue> value = parse_python_literal(text);
  return value ? python_repr(*value) : "refused";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(python_literal)

BOOST_AUTO_TEST_CASE(writes_what_it_read_as_repr_does) {
  for (const char* text : {"None",
                           "True",
                           "False",
                           "0",
                           "-9223372036854775808",
                           "9223372036854775807",
                           "''",
                           "'<f8'",
                           "()",
                           "(1,)",
                           "(1, 2)",
                           "[]",
                           "[1]",
                           "{}",
                           "{'a': (1,), 'b': [None]}",
                           "[('a', '<i4'), ('b', '<f8', (2, 3)), ('n', [('q', '<i2')])]",
                           R"("it's")",
                           R"('it\'s "quoted"')",
                           R"('a\n\r\t\\\x00\x7f\xad')",
                           "'\xc3\xa9\xe6\x97\xa5'"})
    BOOST_TEST(round_trip(text) == text);
}

BOOST_AUTO_TEST_CASE(accepts_other_spellings_of_the_same) {
  BOOST_TEST(round_trip(" [ ( \"a\" ,'<i4' , ) , ]\n") == "[('a', '<i4')]");
  BOOST_TEST(round_trip("(5)") == "5");
  BOOST_TEST(round_trip("((5),)") == "(5,)");
  BOOST_TEST(round_trip("{'a':1,}") == "{'a': 1}");
  BOOST_TEST(round_trip(R"('\xe9\u00e9\U000000e9')") == "'\xc3\xa9\xc3\xa9\xc3\xa9'");
}

BOOST_AUTO_TEST_CASE(refuses_what_is_no_literal) {
  for (const char* text : {"",
                           " ",
                           "'",
                           "'a",
                           "\"a'",
                           "'a\nb'",
                           "'\\",
                           "'\\q'",
                           "'\\x1'",
                           "'\\x1",
                           "'\\xzz'",
                           "'\\ud800'",
                           "'\\U00110000'",
                           "(",
                           ")",
                           "(1",
                           "(1 2)",
                           "(,)",
                           "[,]",
                           "[1,,]",
                           "[1)",
                           "{1}",
                           "{1:}",
                           "{:1}",
                           "{'a' 1}",
                           "1 2",
                           "1x",
                           "--1",
                           "-",
                           "+1",
                           "1.5",
                           "9223372036854775808",
                           "True False",
                           "Truex",
                           "none",
                           "x",
                           "b'a'",
                           "'a'x",
                           "'\xff'",
                           "'\xed\xa0\x80'",
                           "'\xc0\x80'",
                           "'\xe6\x97'"})
    BOOST_TEST_CONTEXT(text) BOOST_TEST(round_trip(text) == "refused");
}

BOOST_AUTO_TEST_CASE(bounds_depth_and_size) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  BOOST_TEST(parse_python_literal(nested(kMaxPythonDepth + 1)).has_value());
  BOOST_TEST(!parse_python_literal(nested(kMaxPythonDepth + 2)).has_value());
  BOOST_TEST(!parse_python_literal(nested(60000)).has_value());
  BOOST_TEST(parse_python_literal(std::string(kMaxPythonLiteral - 1, ' ') + "1").has_value());
  BOOST_TEST(!parse_python_literal(std::string(kMaxPythonLiteral, ' ') + "1").has_value());
}

BOOST_AUTO_TEST_CASE(finds_values_of_dicts) {
  const PythonValue dict = parse_python_literal("{'a': 1, 2: 3, 'a': 4}").value();
  BOOST_TEST(dict.find("a")->integer == 4);
  BOOST_TEST(dict.find("b") == nullptr);
  BOOST_TEST(dict.items[0].find("a") == nullptr);
}

BOOST_AUTO_TEST_CASE(refuses_literals_of_very_many_values) {
  const auto list = [](std::size_t count) {
    std::string text = "[";
    for (std::size_t i = 0; i < count; ++i) text += "1,";
    return text + "]";
  };
  BOOST_TEST(parse_python_literal(list(kMaxPythonValues - 1)).has_value());
  BOOST_TEST(!parse_python_literal(list(kMaxPythonValues)).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
