#include "fs/numpy/numpy_dtype.hpp"

#include <tuple>

#include <boost/test/unit_test.hpp>

using namespace bloscfs::fs;

namespace {

/// Returns "itemsize descr", or "none" if the dtype cannot be parsed.
std::string parsed(std::string_view stored) {
  const std::optional<NumpyDtype> dtype = parse_numpy_dtype(stored);
  return dtype ? std::to_string(dtype->itemsize) + " " + dtype->descr : "none";
}

void check(std::initializer_list<std::pair<const char*, const char*>> cases) {
  for (const auto& [stored, expected] : cases)
    BOOST_TEST_CONTEXT(stored) BOOST_TEST(parsed(stored) == expected);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(numpy_dtype)

// All expected values are from np.dtype() and dtype.descr of NumPy 1.24.2 on x86-64.

BOOST_AUTO_TEST_CASE(parses_type_strings) {
  check({{"<f8", "8 '<f8'"},
         {">f8", "8 '>f8'"},
         {"=f4", "4 '<f4'"},
         {"|i4", "4 '<i4'"},
         {"f8", "8 '<f8'"},
         {"<f2", "2 '<f2'"},
         {"<f16", "16 '<f16'"},
         {"<c8", "8 '<c8'"},
         {">c16", "16 '>c16'"},
         {"<c32", "32 '<c32'"},
         {"|u1", "1 '|u1'"},
         {">i1", "1 '|i1'"},
         {"i1", "1 '|i1'"},
         {">i4", "4 '>i4'"},
         {"i04", "4 '<i4'"},
         {"<u8", "8 '<u8'"},
         {"|b1", "1 '|b1'"},
         {"<b1", "1 '|b1'"}});
}

BOOST_AUTO_TEST_CASE(parses_strings_and_void) {
  check({{"<U5", "20 '<U5'"},
         {">U1", "4 '>U1'"},
         {"|U5", "20 '<U5'"},
         {"|S10", "10 '|S10'"},
         {">S5", "5 '|S5'"},
         {"S05", "5 '|S5'"},
         {"a5", "5 '|S5'"},
         {"|V300", "300 '|V300'"},
         {"S", "0 '|S0'"},
         {"U0", "0 '<U0'"},
         {"c", "1 '|S1'"},
         {"S2147483647", "2147483647 '|S2147483647'"},
         {"U536870911", "2147483644 '<U536870911'"}});
}

BOOST_AUTO_TEST_CASE(parses_dates) {
  check({{"<M8[ns]", "8 '<M8[ns]'"},
         {">M8[us]", "8 '>M8[us]'"},
         {"|M8[s]", "8 '<M8[s]'"},
         {"<m8[25us]", "8 '<m8[25us]'"},
         {"M8[1s]", "8 '<M8[s]'"},
         {"M8[007ns]", "8 '<M8[7ns]'"},
         {"M8[0s]", "8 '<M8[0s]'"},
         {"M8[2147483647s]", "8 '<M8[2147483647s]'"},
         {"M8", "8 '<M8'"},
         {"M8[generic]", "8 '<M8'"},
         {"m", "8 '<m8'"},
         {"datetime64[ns]", "8 '<M8[ns]'"},
         {"timedelta64[25us]", "8 '<m8[25us]'"},
         {"M8[Y]", "8 '<M8[Y]'"},
         {"M8[W]", "8 '<M8[W]'"},
         {"M8[as]", "8 '<M8[as]'"}});
}

BOOST_AUTO_TEST_CASE(parses_codes_and_names) {
  check({{"?", "1 '|b1'"},         {">?", "1 '|b1'"},
         {"b", "1 '|i1'"},         {"B", "1 '|u1'"},
         {"h", "2 '<i2'"},         {"l", "8 '<i8'"},
         {"=l", "8 '<i8'"},        {"Q", "8 '<u8'"},
         {"e", "2 '<f2'"},         {">d", "8 '>f8'"},
         {"g", "16 '<f16'"},       {"F", "8 '<c8'"},
         {"G", "32 '<c32'"},       {"bool", "1 '|b1'"},
         {"int8", "1 '|i1'"},      {"uint16", "2 '<u2'"},
         {"int", "8 '<i8'"},       {"float", "8 '<f8'"},
         {"float16", "2 '<f2'"},   {"float32", "4 '<f4'"},
         {"float64", "8 '<f8'"},   {"longdouble", "16 '<f16'"},
         {"complex64", "8 '<c8'"}, {"complex256", "32 '<c32'"}});
}

BOOST_AUTO_TEST_CASE(refuses_what_numpy_refuses) {
  for (const char* text : {"",
                           "<",
                           "x",
                           "my-own-type",
                           "f3",
                           "f10",
                           "f32",
                           "i16",
                           "c4",
                           "b4",
                           "I4",
                           "d8",
                           "?1",
                           "i4 ",
                           " i4",
                           "<float64",
                           "Float64",
                           "string",
                           "!f4",
                           "@f4",
                           "S5 ",
                           "S-5",
                           "S2147483648",
                           "U536870912",
                           "S99999999999999999999",
                           "M4",
                           "M8[",
                           "M8[]",
                           "M8[us",
                           "M8[us]x",
                           "M8[B]",
                           "M8[-1s]",
                           "M8[ s]",
                           "M8[2147483648s]",
                           "M8[minute]",
                           "'<f8'",
                           "('<f8', (2,))"})
    BOOST_TEST_CONTEXT(text) BOOST_TEST(parsed(text) == "none");
}

BOOST_AUTO_TEST_CASE(refuses_objects_wherever_they_are) {
  for (const char* text :
       {"|O", "O", "O8", "object", "[('a', 'O')]", "[('n', [('a', '|O')], (2,))]"})
    BOOST_TEST_CONTEXT(text) BOOST_TEST(parsed(text) == "none");
}

BOOST_AUTO_TEST_CASE(parses_structures) {
  check({{"[('a', '<i4'), ('b', '<f8')]", "12 [('a', '<i4'), ('b', '<f8')]"},
         {"[('x', '<f4'), ('y', '<f4'), ('id', '<u2'), ('ok', '?')]",
          "11 [('x', '<f4'), ('y', '<f4'), ('id', '<u2'), ('ok', '|b1')]"},
         {"[('name', 'S6'), ('val', '>f8')]", "14 [('name', '|S6'), ('val', '>f8')]"},
         {"[('m', '<f4', (2, 3)), ('k', 'i1')]", "25 [('m', '<f4', (2, 3)), ('k', '|i1')]"},
         {"[('p', [('q', '<i2'), ('r', '<f8')]), ('s', 'u1')]",
          "11 [('p', [('q', '<i2'), ('r', '<f8')]), ('s', '|u1')]"},
         {"[('n', [('q', '<i2')], (2,))]", "4 [('n', [('q', '<i2')], (2,))]"},
         {"[('', '<i4'), ('b', '<f8'), ('', 'i1')]",
          "13 [('f0', '<i4'), ('b', '<f8'), ('f2', '|i1')]"},
         {"[(('t', 'a'), '<i4')]", "4 [(('t', 'a'), '<i4')]"},
         {"[(\"it's\", '<i4')]", "4 [(\"it's\", '<i4')]"},
         {"[]", "0 []"}});
}

BOOST_AUTO_TEST_CASE(parses_sub_arrays) {
  check({{"[('m', '<f4', 2)]", "8 [('m', '<f4', (2,))]"},
         {"[('m', '<f4', 1)]", "4 [('m', '<f4')]"},
         {"[('m', '<f4', (1,))]", "4 [('m', '<f4', (1,))]"},
         {"[('m', '<f4', ())]", "4 [('m', '<f4')]"},
         {"[('m', '<f4', 0)]", "0 [('m', '<f4', (0,))]"},
         {"[('m', '<f4', [2, 3])]", "24 [('m', '<f4', (2, 3))]"},
         {"[('m', ('<f4', (2, 3)))]", "24 [('m', '<f4', (2, 3))]"},
         {"[('m', ('<f4', (2,)), (3,))]", "24 [('m', ('<f4', (2,)), (3,))]"},
         {"[('a', 'i1', (65536, 32767))]", "2147418112 [('a', '|i1', (65536, 32767))]"}});
}

BOOST_AUTO_TEST_CASE(shows_gaps_as_nameless_fields) {
  check({{"{'names': ['a', 'b'], 'formats': ['i1', '<f8'], 'offsets': [0, 8], 'itemsize': 20}",
          "20 [('a', '|i1'), ('', '|V7'), ('b', '<f8'), ('', '|V4')]"},
         {"{'names': ['a', 'b'], 'formats': ['i1', '<f8']}", "9 [('a', '|i1'), ('b', '<f8')]"},
         {"{'names': ['a', 'b'], 'formats': ['i1', '<f8'], 'aligned': True}",
          "16 [('a', '|i1'), ('', '|V7'), ('b', '<f8')]"},
         {"{'names': ['a'], 'formats': ['i1'], 'offsets': [3], 'titles': ['T']}",
          "4 [('', '|V3'), (('T', 'a'), '|i1')]"},
         {"{'names': ['é', 'f1'], 'formats': [[('t', 'S6'), ('c', '<c16')], '?'], 'aligned': True}",
          "32 [('é', [('t', '|S6'), ('', '|V2'), ('c', '<c16')]), ('f1', '|b1'), ('', '|V7')]"}});
}

BOOST_AUTO_TEST_CASE(refuses_structures_that_numpy_refuses) {
  for (const char* text :
       {"[('a', '<i4'), ('a', '<f8')]",
        "[('f1', '<i4'), ('', '<f8')]",
        "[(('a', 'a'), '<i4')]",
        "[(('t', ''), '<i4')]",
        "[(('t', 'a'), '<i4'), (('t', 'b'), '<i2')]",
        "[['a', '<i4']]",
        "[('a',)]",
        "[('a', '<i4', (2,), 3)]",
        "[(1, '<i4')]",
        "['i4']",
        "[('a', 'f3')]",
        "[('m', '<f4', -1)]",
        "[('m', '<f4', (2, -1))]",
        "[('m', '<f4', (True,))]",
        "[('m', '<f4', '2')]",
        "[('a', 'i1', (65536, 32768))]",
        "[('a', 'S2000000000'), ('b', 'S2000000000')]",
        "[('a', '<i4')",
        "[('a', '<i4')] x",
        "{'names': ['a', 'b'], 'formats': ['i1', '<f8'], 'offsets': [8, 0]}",
        "{'names': ['a', 'b'], 'formats': ['i1', '<f8'], 'offsets': [0, 8], 'itemsize': 15}",
        "{'names': ['a', 'b'], 'formats': ['i1', '<f8'], 'offsets': [0, -8]}",
        "{'names': ['a', 'b'], 'formats': ['i1']}",
        "{'names': ['a', 'a'], 'formats': ['i1', 'i1']}",
        "{'names': ['a', 'b'], 'formats': ['i1', '<f8'], 'offsets': [0, 4], 'aligned': True}",
        "{'names': ['a'], 'formats': ['i1'], 'itemsize': 99999999999}",
        "{'names': 'a'}",
        "{}"})
    BOOST_TEST_CONTEXT(text) BOOST_TEST(parsed(text) == "none");
}

BOOST_AUTO_TEST_CASE(refuses_more_than_32_dimensions) {
  const auto text = [](int ndim) {
    std::string shape;
    for (int i = 0; i < ndim; ++i) shape += "1, ";
    return "[('m', 'i1', (" + shape + "))]";
  };
  BOOST_TEST(parse_numpy_dtype(text(32)).has_value());
  BOOST_TEST(!parse_numpy_dtype(text(33)).has_value());
}

BOOST_AUTO_TEST_CASE(gives_the_canonical_spelling_for_frames) {
  BOOST_TEST(parse_numpy_dtype("float64")->stored == "<f8");
  BOOST_TEST(parse_numpy_dtype("[ ('a','?') ]")->stored == "[('a', '|b1')]");
}

BOOST_AUTO_TEST_SUITE_END()
