// Tables of python-blosc2 as CSV, JSON lines, text and NPY.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "codec/error.hpp"
#include "frame/header/arrow_batch.hpp"
#include "tests/support/digest.hpp"
#include "tests/tools/program.hpp"
#include "tests/tools/table_maker.hpp"

namespace {

using namespace bloscfs::test;
using nlohmann::json;

const fs_std::path kTables = BLOSCFS_TEST_SOURCE_ROOT "/tests/data/tables";

std::string table(const std::string& name) { return (kTables / name).string(); }

std::string output(const std::vector<std::string>& arguments) {
  const ProcessResult result = b2frame(arguments);
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(result.err.empty(), result.err);
  return result.out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

template <typename Value>
std::string items(const std::vector<Value>& values) {
  std::string bytes(values.size() * sizeof(Value), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// Makes a table with one column `v`, which is an array.
template <typename Value>
void make_array_table(TableMaker& maker, json column, const std::vector<Value>& values,
                      const std::string& dtype) {
  column["name"] = "v";
  maker.declare(column);
  maker.array("_cols/v", items(values), {std::ssize(values)}, dtype, sizeof(Value));
  maker.finish(std::string(values.size(), '\1'));
}

template <typename Value>
std::string as_csv(const json& column, const std::vector<Value>& values, const std::string& dtype) {
  TableMaker maker;
  make_array_table(maker, column, values, dtype);
  return output({"cat", maker.path()});
}

/// Makes a table with one column `v` of objects.
void make_object_table(TableMaker& maker, const char* kind, const json& values) {
  maker.declare({{"name", "v"}, {"kind", kind}, {"nullable", true}});
  maker.objects("_cols/v", values);
  maker.finish(std::string(values.size(), '\1'));
}

/// Makes a table with one utf8 column of three texts.
void make_utf8_table(TableMaker& maker, const json& nulls) {
  json column = {{"name", "v"}, {"kind", "utf8"}};
  column.update(nulls);
  maker.declare(column);
  maker.array("_cols/v", items<std::int64_t>({0, 1, 1, 5}), {4}, "<i8", 8);
  maker.array("_cols/v.utf8", "anull", {5}, "|u1", 1);
  maker.finish("\1\1\1");
}

ByteVector arrow_to_msgpack(const ByteVector& stream) {
  return bloscfs::frame::arrow_to_msgpack(stream);
}

/// Returns a valid stream of three lists. It ends with a message without bytes.
ByteVector arrow_stream() {
  const std::string contents = output({"extract", table("listarray-arrow.b2b"), "-o", "-"});
  return bytes_of(
      contents.substr(0, contents.find(std::string("\xff\xff\xff\xff\0\0\0\0", 8)) + 8));
}

/// Returns the schema message of an Arrow stream. The schema has one column, in which lists are
/// nested `depth` levels deep.
ByteVector nested_arrow_schema(std::uint32_t depth) {
  const auto pair = [](std::uint32_t low, std::uint32_t high) { return low | high << 16; };
  std::vector<std::uint32_t> words{40};  // offset of the message
  const auto add = [&](std::initializer_list<std::uint32_t> more) {
    words.insert(words.end(), more);
  };
  add({pair(10, 12), pair(0, 8), pair(4, 0)});     // the message's fields: header type and offset
  add({pair(8, 8), pair(0, 4)});                   // a schema's fields: the columns
  add({pair(16, 12), 0, pair(8, 0), pair(0, 4)});  // a column's fields: its type, its children
  add({36, 8, 1});                                 // the message
  add({36, 4, 1, 4});                              // the schema, and its list of one column
  for (std::uint32_t level = 1; level <= depth; level++)
    add({static_cast<std::uint32_t>(4 * words.size()) - 24, 8, 12, level < depth ? 1U : 0U, 4});
  words.insert(words.begin(), {0xffffffff, static_cast<std::uint32_t>(4 * words.size())});
  return bytes_of(items(words));
}

/// Returns the error message about the column v.
std::string complaint_about_v(const TableMaker& maker, const char* format = "--text") {
  const ProcessResult result = b2frame({"cat", format, maker.path()});
  BOOST_TEST(result.status == 1, result.description());
  const std::string begin = "b2frame: " + maker.path() + ": column v: ";
  BOOST_TEST_REQUIRE(result.err.starts_with(begin), result.err);
  return result.err.substr(begin.size(), result.err.size() - begin.size() - 1);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tables)

BOOST_AUTO_TEST_CASE(give_the_csv_of_python) {
  std::ifstream file(kTables / "manifest.json");
  for (const json& entry : json::parse(file)) {
    const std::string path = table(entry.at("path"));
    BOOST_TEST_CONTEXT(path) {
      const std::string csv = output({"cat", path});
      BOOST_TEST(sha256({reinterpret_cast<const std::uint8_t*>(csv.data()), csv.size()}) ==
                 entry.at("csv_sha256").get<std::string>());
      for (const char* format : {"--json", "--text"})
        BOOST_TEST(lines_of(output({"cat", format, path})).size() == lines_of(csv).size() - 1);
    }
  }
}

BOOST_AUTO_TEST_CASE(at_the_root_are_named_by_the_plain_name) {
  const std::string path = table("null_int8.b2z");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"extract", "-o", "-"}, {"cat", "--json"}, {"cat", "--text"}}) {
    std::vector<std::string> plain = command, root = command;
    plain.push_back(path);
    root.push_back(path + ":/");
    BOOST_TEST(output(plain) == output(root));
  }
  const ProcessResult refused = b2frame({"extract", path, "-o", "/tmp/t.xls"});
  BOOST_TEST(refused.status == 2);
  BOOST_TEST(refused.err.find(".csv") != std::string::npos, refused.err);
}

BOOST_AUTO_TEST_CASE(in_frames_are_tables_by_the_plain_name) {
  const std::string path = table("cframe.b2frame");
  BOOST_TEST(output({"cat", "-n", "2", path}) == "id,x\n0,0.0\n1,0.5\n");
  BOOST_TEST(output({"cat", path}) == output({"cat", path + ":/"}));
  BOOST_TEST(output({"cat", "--columns", "x", "-n", "1", path}) == "x\n0.0\n");
  BOOST_TEST(lines_of(output({"cat", "--json", path})).at(1) == R"({"id":1,"x":0.5})");
  BOOST_TEST(output({"head", "-n", "1", path}) == "id    x\n 0  0.0\n");
  BOOST_TEST(output({"extract", "--raw", path, "-o", "-"}).size() == 6464u);
  BOOST_TEST(b2frame({"extract", path, "-o", "/tmp/t.xls"}).status == 2);
  const json info = json::parse(output({"info", "--json", path}));
  BOOST_TEST(info.at("kind") == "cframe");
  BOOST_TEST(info.at("object") == "ctable");
  BOOST_TEST(info.at("columns").at("x").at("kind") == "float64");
  BOOST_TEST(info.at("rows").get<std::size_t>() == lines_of(output({"cat", path})).size() - 1);
  BOOST_TEST(output({"diff", path, path + ":/"}).empty());
}

BOOST_AUTO_TEST_CASE(have_dates_in_npy_files) {
  const TempDir dir;
  const std::string npy = (dir / "t.npy").string();
  const auto header = [&](const std::string& unit) {
    TableMaker maker;
    json column = {{"name", "v"}, {"kind", "timestamp"}};
    if (!unit.empty()) column["unit"] = unit;
    make_array_table<std::int64_t>(maker, column, {1, std::numeric_limits<std::int64_t>::min()},
                                   "<i8");
    BOOST_TEST(output({"extract", maker.path(), "-o", npy}).empty());
    const ByteVector bytes = read_file(npy);
    return std::string(bytes.begin(), bytes.end() - 16);
  };
  BOOST_TEST(header("").find("[('v', '<M8[us]')]") != std::string::npos);
  BOOST_TEST(header("s").find("[('v', '<M8[s]')]") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(have_statistics_of_columns_without_absent_values) {
  const auto stats = [](const TableMaker& maker, const std::string& slice = "") {
    const std::string leaf = maker.path() + ":/_cols/v" + slice;
    return json::parse(output({"info", "--stats", "--json", leaf})).at("stats");
  };
  constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::min();
  TableMaker dates;
  make_array_table<std::int64_t>(dates, {{"kind", "timestamp"}, {"null_value", kNoTime}},
                                 {5, kNoTime, 7, 0}, "<i8");
  json told = stats(dates);
  BOOST_TEST(told.at("min") == 0);
  BOOST_TEST(told.at("max") == 7);
  BOOST_TEST(told.at("mean") == 4.0);
  BOOST_TEST(told.at("count") == 3);
  BOOST_TEST(told.at("zeros") == 1);
  BOOST_TEST(told.at("absent") == 1);
  BOOST_TEST(stats(dates, "[1:3]").at("count") == 1);
  TableMaker masked;
  make_array_table<double>(masked, {{"kind", "float64"}, {"null_storage", "mask"}},
                           {-1e9, 2, NAN, 4}, "<f8");
  masked.array("_cols/v.notnull", {0, 1, 1, 1}, {4}, "|b1", 1);
  told = stats(masked);
  BOOST_TEST(told.at("min") == 2.0);
  BOOST_TEST(told.at("nan") == 1);
  BOOST_TEST(told.at("absent") == 1);
  TableMaker deleted;
  deleted.declare({{"name", "v"}, {"kind", "int8"}});
  deleted.array("_cols/v", "\1\5\3", {3}, "|i1", 1);
  deleted.finish({1, 0, 1});
  told = stats(deleted);
  BOOST_TEST(told.at("max") == 3);
  BOOST_TEST(!told.contains("absent"));
}

BOOST_AUTO_TEST_CASE(integers_of_all_sizes_are_written) {
  BOOST_TEST(as_csv<std::int8_t>({{"kind", "int8"}}, {-128, 127}, "|i1") == "v\n-128\n127\n");
  BOOST_TEST(as_csv<std::int16_t>({{"kind", "int16"}}, {-32768}, "<i2") == "v\n-32768\n");
  BOOST_TEST(as_csv<std::int32_t>({{"kind", "int32"}}, {-7}, "<i4") == "v\n-7\n");
  BOOST_TEST(as_csv<std::int64_t>({{"kind", "int64"}}, {std::numeric_limits<std::int64_t>::min()},
                                  "<i8") == "v\n-9223372036854775808\n");
  BOOST_TEST(as_csv<std::uint8_t>({{"kind", "uint8"}}, {255}, "|u1") == "v\n255\n");
  BOOST_TEST(as_csv<std::uint16_t>({{"kind", "uint16"}}, {65535}, "<u2") == "v\n65535\n");
  BOOST_TEST(as_csv<std::uint32_t>({{"kind", "uint32"}}, {4294967295U}, "<u4") ==
             "v\n4294967295\n");
  BOOST_TEST(as_csv<std::uint64_t>({{"kind", "uint64"}},
                                   {std::numeric_limits<std::uint64_t>::max()},
                                   "<u8") == "v\n18446744073709551615\n");
}

BOOST_AUTO_TEST_CASE(floating_point_numbers_are_written_as_python_writes_them) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  BOOST_TEST(as_csv<double>({{"kind", "float64"}},
                            {0.0, -0.0, 100000, 1e15, 123456789012345680.0, 1e16, 0.0001, 0.00001,
                             -1.5e-7, 0.1, 1e300, kNan, kInfinity, -kInfinity},
                            "<f8") ==
             "v\n0.0\n-0.0\n100000.0\n1000000000000000.0\n1.2345678901234568e+17\n1e+16\n0.0001\n"
             "1e-05\n-1.5e-07\n0.1\n1e+300\nnan\ninf\n-inf\n");
  BOOST_TEST(as_csv<float>({{"kind", "float32"}}, {0.1F, 16777216.0F, 3.4e38F}, "<f4") ==
             "v\n0.1\n16777216.0\n3.4e+38\n");
  BOOST_TEST(
      (as_csv<std::array<float, 2>>({{"kind", "complex64"}},
                                    {{0.0F, 1.5F}, {-0.0F, 0.0F}, {1.0F, -2.5F}, {NAN, INFINITY}},
                                    "<c8")) == "v\n1.5j\n(-0+0j)\n(1-2.5j)\n(nan+infj)\n");
}

BOOST_AUTO_TEST_CASE(numbers_are_json_where_that_has_them) {
  TableMaker maker;
  make_array_table<double>(maker, {{"kind", "float64"}}, {1e16, NAN, 0.5}, "<f8");
  BOOST_TEST(output({"cat", "--json", maker.path()}) ==
             "{\"v\":1e+16}\n{\"v\":null}\n{\"v\":0.5}\n");
  BOOST_TEST(output({"cat", "--text", maker.path()}) == "1e+16\nnan\n0.5\n");
}

BOOST_AUTO_TEST_CASE(texts_and_bytes_are_quoted_as_each_style_needs) {
  TableMaker maker;
  make_object_table(maker, "vlstring", {"a,\"b\"", "", nullptr, "null", "x\ny"});
  BOOST_TEST(output({"cat", maker.path()}) == "v\n\"a,\"\"b\"\"\"\n\"\"\n\"\"\nnull\n\"x\ny\"\n");
  BOOST_TEST(output({"cat", "--json", maker.path()}) ==
             "{\"v\":\"a,\\\"b\\\"\"}\n{\"v\":\"\"}\n{\"v\":null}\n{\"v\":\"null\"}\n"
             "{\"v\":\"x\\ny\"}\n");
  BOOST_TEST(output({"cat", "--text", maker.path()}) ==
             "\"a,\"\"b\"\"\"\n\"\"\nnull\n\"null\"\n\"x\ny\"\n");
  TableMaker bytes;
  make_object_table(bytes, "vlbytes", {json::binary({'i', '\'', 0}), nullptr});
  BOOST_TEST(output({"cat", bytes.path()}) == "v\n\"b\"\"i'\\x00\"\"\"\n\"\"\n");
  BOOST_TEST(output({"cat", "--json", bytes.path()}) ==
             "{\"v\":{\"$binary\":\"aScA\"}}\n{\"v\":null}\n");
}

BOOST_AUTO_TEST_CASE(objects_are_written_as_python_shows_them) {
  TableMaker maker;
  make_object_table(maker, "object",
                    {{{"k", {1, nullptr, true}}, {"a", "it's"}},
                     {"__tuple__", 1.5},
                     {"__tuple__"},
                     nullptr,
                     "\u00e9\u200b\n\\",
                     {"\u00e9\u200b\n\\\""},
                     std::numeric_limits<std::uint64_t>::max()});
  BOOST_TEST(output({"cat", maker.path()}) ==
             "v\n\"{'a': \"\"it's\"\", 'k': [1, None, True]}\"\n\"(1.5,)\"\n()\n\"\"\n"
             "\"\u00e9\u200b\n\\\"\n\"['\u00e9\\u200b\\n\\\\\"\"']\"\n18446744073709551615\n");
  BOOST_TEST(lines_of(output({"cat", "--json", maker.path()})).at(0) ==
             R"({"v":{"a":"it's","k":[1,null,true]}})");
  BOOST_TEST(lines_of(output({"cat", "--json", maker.path()})).at(1) == R"({"v":[1.5]})");
}

BOOST_AUTO_TEST_CASE(keys_of_objects_keep_their_order) {
  TableMaker maker;
  maker.declare({{"name", "v"}, {"kind", "struct"}});
  // [{"b": 1, "a": 2}]
  maker.document("_cols/v", {0x91, 0x82, 0xa1, 'b', 1, 0xa1, 'a', 2});
  maker.finish("\1");
  BOOST_TEST(output({"cat", maker.path()}) == "v\n\"{'b': 1, 'a': 2}\"\n");
  BOOST_TEST(output({"cat", "--json", maker.path()}) == "{\"v\":{\"b\":1,\"a\":2}}\n");
}

BOOST_AUTO_TEST_CASE(sentinels_are_absent_values) {
  TableMaker numbers;
  make_array_table<std::int32_t>(numbers, {{"kind", "int32"}, {"null_value", -1}}, {-1, 5}, "<i4");
  BOOST_TEST(output({"cat", "--json", numbers.path()}) == "{\"v\":null}\n{\"v\":5}\n");
  BOOST_TEST(output({"cat", "--text", numbers.path()}) == "null\n5\n");
  BOOST_TEST(output({"cat", numbers.path()}) == "v\n-1\n5\n");
  TableMaker flags;
  make_array_table<std::uint8_t>(flags, {{"kind", "bool"}, {"null_value", 255}}, {255, 1, 0},
                                 "|u1");
  BOOST_TEST(output({"cat", "--json", flags.path()}) ==
             "{\"v\":null}\n{\"v\":true}\n{\"v\":false}\n");
  TableMaker texts;
  make_utf8_table(texts, {{"null_value", ""}});
  BOOST_TEST(output({"cat", "--json", texts.path()}) ==
             "{\"v\":\"a\"}\n{\"v\":null}\n{\"v\":\"null\"}\n");
  BOOST_TEST(output({"cat", "--text", texts.path()}) == "a\nnull\n\"null\"\n");
  TableMaker bytes;
  make_array_table<std::uint16_t>(
      bytes, {{"kind", "bytes"}, {"null_value", {{"__bytes__", true}, {"base64", "WA=="}}}},
      {'X', 'Y'}, "|S2");
  BOOST_TEST(output({"cat", "--json", bytes.path()}) ==
             "{\"v\":null}\n{\"v\":{\"$binary\":\"WQ==\"}}\n");
}

BOOST_AUTO_TEST_CASE(masks_say_what_is_absent) {
  TableMaker texts;
  make_utf8_table(texts, {{"null_storage", "mask"}});
  BOOST_TEST(output({"cat", texts.path()}) == "v\na\n\\E\nnull\n");  // no mask: none is absent
  texts.array("_cols/v.notnull", {0, 1, 1}, {3}, "|b1", 1);
  BOOST_TEST(output({"cat", texts.path()}) == "v\n\\N\n\\E\nnull\n");
  BOOST_TEST(output({"cat", "--json", texts.path()}) ==
             "{\"v\":null}\n{\"v\":\"\"}\n{\"v\":\"null\"}\n");
  TableMaker numbers;
  make_array_table<double>(numbers, {{"kind", "float64"}, {"null_storage", "mask"}}, {1, NAN},
                           "<f8");
  numbers.array("_cols/v.notnull", {0, 1}, {2}, "|b1", 1);
  BOOST_TEST(output({"cat", numbers.path()}) == "v\n\"\"\nnan\n");
  for (TableMaker* const table : {&texts, &numbers}) {
    table->array("_cols/v.notnull", {0}, {1}, "|b1", 1);
    const ProcessResult cut = b2frame({"cat", table->path()});
    BOOST_TEST(cut.status == 1);
    BOOST_TEST(cut.err.find("its mask of absent values ends behind row 0") != std::string::npos,
               cut.err);
  }
  const ProcessResult npy = b2frame({"extract", "--npy", numbers.path(), "-o", "-"});
  BOOST_TEST(npy.status == 1);
  BOOST_TEST(npy.err.find("column v: may have absent values") != std::string::npos, npy.err);
}

BOOST_AUTO_TEST_CASE(schemas_may_have_the_numbers_that_json_has_not) {
  TableMaker maker;
  maker.array("_cols/v", items<double>({-INFINITY, NAN, 1}), {3}, "<f8", 8);
  maker.array("_cols/NaN", items<std::uint32_t>({'N', 'a', 'N', 'x', 0, 0, 'y', 0, 0}), {3}, "<U3",
              12);
  maker.finish("\1\1\1", R"({"version":1,"note":"\"NaN\\","columns":[)"
                         R"({"name":"v","kind":"float64","ge":NaN,"null_value":-Infinity},)"
                         R"({"name":"NaN","kind":"string","max_length":3,"null_value":"NaN"}]})");
  BOOST_TEST(output({"cat", "--json", maker.path()}) ==
             "{\"v\":null,\"NaN\":null}\n{\"v\":null,\"NaN\":\"x\"}\n{\"v\":1.0,\"NaN\":\"y\"}\n");
}

BOOST_AUTO_TEST_CASE(lists_and_arrays_are_written) {
  TableMaker maker;
  make_object_table(maker, "list", {{1, 2}, json::array(), nullptr, {"a", "b"}});
  BOOST_TEST(output({"cat", maker.path()}) == "v\n\"[1, 2]\"\n[]\n\"\"\n\"['a', 'b']\"\n");
  BOOST_TEST(output({"cat", "--text", maker.path()}) ==
             "[1,2]\n[]\nnull\n\"[\"\"a\"\",\"\"b\"\"]\"\n");
  TableMaker arrays;
  arrays.declare({{"name", "v"},
                  {"kind", "ndarray"},
                  {"item_shape", {2, 2}},
                  {"dtype_str", "<f4"},
                  {"null_value", "NaN"}});
  arrays.array("_cols/v", items<float>({1, 0.1F, INFINITY, NAN, NAN, NAN, NAN, NAN}), {2, 2, 2},
               "<f4", 4);
  arrays.finish("\1\1");
  BOOST_TEST(output({"cat", arrays.path()}) ==
             "v\n\"[[1.0, 0.10000000149011612], [Infinity, NaN]]\"\n\"\"\n");
  BOOST_TEST(output({"cat", "--json", arrays.path()}) ==
             "{\"v\":[[1.0,0.1],[null,null]]}\n{\"v\":null}\n");
}

BOOST_AUTO_TEST_CASE(lists_may_be_batches_of_arrow) {
  const std::string frame = table("listarray-arrow.b2b");
  const std::vector<std::string> lists = lines_of(output({"cat", "--json", frame}));
  BOOST_TEST(lists.size() == 20u);
  TableMaker maker;
  maker.declare({{"name", "v"}, {"kind", "list"}, {"serializer", "arrow"}, {"nullable", true}});
  fs_std::copy(frame, maker.path() + "/_cols/v.b2b");
  maker.finish(std::string(20, '\1'));
  std::string lines;
  for (const std::string& list : lists) lines += "{\"v\":" + list + "}\n";
  BOOST_TEST(output({"cat", "--json", maker.path()}) == lines);
  BOOST_TEST(output({"cat", "--json", "--rows", "7:9", maker.path()}) ==
             "{\"v\":" + lists[7] + "}\n{\"v\":" + lists[8] + "}\n");
}

BOOST_AUTO_TEST_CASE(damaged_batches_of_arrow_are_refused) {
  const ByteVector stream = arrow_stream();
  const ByteVector expected = {0xdd, 0, 0, 0, 3,    0xdd, 0, 0, 0, 0, 0xdd, 0,
                               0,    0, 1, 0, 0xdd, 0,    0, 0, 2, 0, 1};
  BOOST_TEST(arrow_to_msgpack(stream) == expected);
  std::mt19937 draw(7);
  int refused = 0;
  for (int run = 0; run < 20'000; run++) {
    ByteVector damaged = stream;
    for (int i = 0; i < 1 + run % 3; i++) {
      const std::uint8_t value = run % 2 == 0 ? 0xff : static_cast<std::uint8_t>(draw());
      damaged[draw() % damaged.size()] = value;
    }
    if (run % 5 == 0) damaged.resize(draw() % damaged.size());
    try {
      arrow_to_msgpack(damaged);
    } catch (const bloscfs::codec::Error&) {
      refused++;
    }
  }
  BOOST_TEST(refused > 1000);
}

BOOST_AUTO_TEST_CASE(a_second_schema_and_deep_ones_of_arrow_are_refused) {
  const auto complaint = [](const ByteVector& stream) -> std::string {
    try {
      arrow_to_msgpack(stream);
    } catch (const bloscfs::codec::Error& error) {
      return error.what();
    }
    return "";
  };
  ByteVector twice = arrow_stream();
  std::uint32_t size = 0;
  std::memcpy(&size, twice.data() + 4, sizeof size);
  const ByteVector schema(twice.begin(), twice.begin() + 8 + size);
  twice.insert(twice.begin(), schema.begin(), schema.end());
  BOOST_TEST(complaint(twice) == "Arrow stream: a second schema");
  BOOST_TEST(arrow_to_msgpack(nested_arrow_schema(10)) == (ByteVector{0xdd, 0, 0, 0, 0}));
  for (const std::uint32_t depth : {100U, 100'000U})
    BOOST_TEST(complaint(nested_arrow_schema(depth)) ==
               "Arrow stream: fields that nest too deeply, or too many");
}

BOOST_AUTO_TEST_CASE(arrays_with_empty_axes_are_empty_lists) {
  const auto shown = [](const std::vector<std::int64_t>& shape) {
    TableMaker maker;
    maker.declare({{"name", "v"}, {"kind", "ndarray"}, {"item_shape", shape}});
    std::vector<std::int64_t> whole{2};
    whole.insert(whole.end(), shape.begin(), shape.end());
    maker.array("_cols/v", "", whole, "<i4", 4);
    maker.finish("\1\1");
    const ProcessResult result = b2frame({"cat", "--json", maker.path()});
    return result.ok() ? result.out : result.err.substr(11 + maker.path().size());
  };
  BOOST_TEST(shown({0}) == "{\"v\":[]}\n{\"v\":[]}\n");
  BOOST_TEST(shown({2, 0}) == "{\"v\":[[],[]]}\n{\"v\":[[],[]]}\n");
  BOOST_TEST(shown({0, 2}) == "{\"v\":[]}\n{\"v\":[]}\n");
  BOOST_TEST(shown({100'000, 0}).starts_with("column v: rows of 400000 empty lists"));
  BOOST_TEST(shown({std::int64_t{1} << 40, 0}).starts_with("column v: "));
}

BOOST_AUTO_TEST_CASE(with_long_names_of_columns_say_so) {
  TableMaker maker;
  maker.declare({{"name", std::string(300, 'n')}, {"kind", "int8"}});
  make_array_table<std::int8_t>(maker, {{"kind", "int8"}}, {1}, "|i1");
  const ProcessResult result = b2frame({"cat", maker.path()});
  BOOST_TEST(result.status == 1, result.description());
  BOOST_TEST(result.err.find("column nnn") != std::string::npos, result.err);
  BOOST_TEST(output({"cat", "--columns", "v", maker.path()}) == "v\n1\n");
}

BOOST_AUTO_TEST_CASE(rows_can_be_sliced) {
  const std::string path = table("null_int8.b2z");
  const std::vector<std::string> all = lines_of(output({"cat", path}));
  const auto rows = [&](std::ptrdiff_t first, std::ptrdiff_t end, std::ptrdiff_t step) {
    std::vector<std::string> lines{all.front()};
    for (; first < end; first += step) lines.push_back(all.at(static_cast<std::size_t>(first + 1)));
    return lines;
  };
  const std::ptrdiff_t count = std::ssize(all) - 1;
  const auto sliced = [&](const std::string& slice) {
    const std::string plain = output({"cat", path + slice});
    BOOST_TEST(output({"cat", path + ":/" + slice}) == plain);
    return lines_of(plain);
  };
  BOOST_TEST(sliced("[10:20]") == rows(10, 20, 1), boost::test_tools::per_element());
  BOOST_TEST(sliced("[-4:-1]") == rows(count - 4, count - 1, 1), boost::test_tools::per_element());
  BOOST_TEST(sliced("[3::70]") == rows(3, count, 70), boost::test_tools::per_element());
  BOOST_TEST(sliced("[5]") == rows(5, 6, 1), boost::test_tools::per_element());
  BOOST_TEST(sliced("[5:5]") == rows(5, 5, 1), boost::test_tools::per_element());
  BOOST_TEST(lines_of(output({"cat", "--json", path + "[::100]"})).size() == 3u);
  BOOST_TEST(output({"head", "-n", "1", path + "[2:]"}) == "id    v\n 4  -46\n");
  const TempDir dir;
  BOOST_TEST(b2frame({"extract", path + ":/[10:20:3]", "-o", dir / "part.csv"}).ok());
  const ByteVector csv = read_file(dir / "part.csv");
  BOOST_TEST(lines_of({csv.begin(), csv.end()}) == rows(10, 20, 3),
             boost::test_tools::per_element());
  BOOST_TEST(b2frame({"extract", "--columns", "id", path + "[::2]", "-o", dir / "id.npy"}).ok());
  BOOST_TEST(read_file(dir / "id.npy").size() == 128u + 8u * static_cast<std::size_t>(count / 2));
  for (const Arguments& wrong : {Arguments{path + "[::-1]"},
                                 {path + "[1, 2]"},
                                 {path + "[400]"},
                                 {path + "[x]"},
                                 {"--rows", "1:2", path + "[1:2]"},
                                 {"-n", "1", path + "[1:2]"}}) {
    const ProcessResult refused = b2frame(Arguments{"cat"} + wrong);
    BOOST_TEST(refused.status == 2, refused.description());
    BOOST_TEST(refused.out == "");
  }
}

/// Replaces a file by one of `files` after another, repeatedly.
class Replacer {
 public:
  Replacer(fs_std::path place, const std::vector<fs_std::path>& files)
      : thread_([this, place = std::move(place), files] {
          const fs_std::path copy = place.string() + ".new";
          for (std::size_t i = 0; !is_over_; i++) {
            fs_std::copy_file(files[i % files.size()], copy);
            fs_std::rename(copy, place);
          }
        }) {}
  ~Replacer() {
    is_over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

BOOST_AUTO_TEST_CASE(npy_files_have_as_many_rows_as_they_say_while_rows_are_deleted) {
  constexpr std::size_t kRows = 1000, kLeft = 400, kHeader = 128;
  const std::string live = "_valid_rows.b2nd";
  TableMaker whole, deleted;
  make_array_table<std::int8_t>(whole, {{"kind", "int8"}}, std::vector<std::int8_t>(kRows), "|i1");
  deleted.finish(std::string(kLeft, '\1') + std::string(kRows - kLeft, '\0'));
  const fs_std::path place = fs_std::path(whole.path()) / live;
  fs_std::copy_file(place, whole.beside(live));
  const Replacer replacer(place, {whole.beside(live), fs_std::path(deleted.path()) / live});
  for (int run = 0; run < 40; run++) {
    const std::string npy = output({"extract", "--npy", whole.path(), "-o", "-"});
    const std::size_t rows = npy.size() - kHeader;
    BOOST_TEST((rows == kRows || rows == kLeft), rows);
    BOOST_TEST(npy.find("'shape': (" + std::to_string(rows) + ",)") < kHeader, npy.substr(0, 100));
  }
}

BOOST_AUTO_TEST_CASE(rows_and_columns_can_be_chosen) {
  const std::string path = table("null_int8.b2z");
  const std::vector<std::string> all = lines_of(output({"cat", path}));
  const auto chosen = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"cat", path});
    std::vector<std::string> lines = lines_of(output(options));
    BOOST_TEST_REQUIRE(!lines.empty());
    lines.erase(lines.begin());
    return lines;
  };
  const auto rows = [&](std::ptrdiff_t first, std::ptrdiff_t end) {
    return std::vector(all.begin() + 1 + first, all.begin() + 1 + end);
  };
  const std::ptrdiff_t count = std::ssize(all) - 1;
  BOOST_TEST(chosen({"--rows", "10:20"}) == rows(10, 20), boost::test_tools::per_element());
  BOOST_TEST(chosen({"--rows", ":3"}) == rows(0, 3), boost::test_tools::per_element());
  BOOST_TEST(chosen({"--rows", "290:"}) == rows(290, count), boost::test_tools::per_element());
  BOOST_TEST(chosen({"--rows", "5:1000", "-n", "2"}) == rows(5, 7),
             boost::test_tools::per_element());
  BOOST_TEST(chosen({"-s", "-4", "-n", "3"}) == rows(count - 4, count - 1),
             boost::test_tools::per_element());
  BOOST_TEST(chosen({"--rows", "1000:"}).empty());
  BOOST_TEST(output({"cat", "-n", "2", "--columns", "v,id", path}) == "v,id\n,0\n-48,2\n");
  BOOST_TEST(output({"extract", path, "-n", "1", "-o", "-"}) == "id,v\n0,\n");
  BOOST_TEST(output({"cat", "--columns", "id", path, "-n", "1"}) == "id\n0\n");
  const ProcessResult unknown = b2frame({"cat", "--columns", "w", path});
  BOOST_TEST(unknown.status == 2);
  BOOST_TEST(unknown.err.find("has no column 'w'; the columns are ") != std::string::npos,
             unknown.err);
  for (const char* range : {"x", "1", "-1:2", "1:2:3", ":x"})
    BOOST_TEST(b2frame({"cat", "--rows=" + std::string(range), path}).status == 2, range);
}

BOOST_AUTO_TEST_CASE(their_first_rows_are_shown_and_statistics_of_them_refused) {
  const std::string path = table("utf8.b2z");
  TableMaker maker;
  make_array_table<std::int16_t>(maker, {{"kind", "int16"}, {"null_value", -1}}, {100, -1, 2},
                                 "<i2");
  BOOST_TEST(output({"head", maker.path()}) == "   v\n 100\nnull\n   2\n");
  BOOST_TEST(output({"head", "-n", "1", "--rows", "1:3", maker.path()}) == "   v\nnull\n");
  BOOST_TEST(output({"head", "--columns", "v,v", "-n", "1", maker.path() + "[2:]"}) ==
             "v  v\n2  2\n");
  BOOST_TEST(lines_of(output({"head", path})).size() == 11u);
  const ProcessResult refused = b2frame({"info", "--stats", path});
  BOOST_TEST(refused.status == 2, refused.description());
  BOOST_TEST(refused.out == "");
}

BOOST_AUTO_TEST_CASE(only_the_columns_that_are_asked_for_are_read) {
  TableMaker maker;
  maker.declare({{"name", "gone"}, {"kind", "int8"}});
  make_array_table<std::int8_t>(maker, {{"kind", "int8"}}, {1}, "|i1");
  BOOST_TEST(output({"cat", "--columns", "v", maker.path()}) == "v\n1\n");
  const ProcessResult whole = b2frame({"cat", maker.path()});
  BOOST_TEST(whole.status == 1);
  BOOST_TEST(whole.err.find("column gone: its array is missing") != std::string::npos, whole.err);
}

BOOST_AUTO_TEST_CASE(computed_columns_are_left_out_and_named) {
  TableMaker maker;
  maker.array("_cols/v", "\1\2", {2}, "|i1", 1);
  maker.finish("\1\1", R"({"version":1,"columns":[{"name":"v","kind":"int8"}],)"
                       R"("computed_columns":[{"name":"w","expression":"o0 + 1"}]})");
  const ProcessResult result = b2frame({"cat", maker.path()});
  BOOST_TEST(result.status == 0);
  BOOST_TEST(result.out == "v\n1\n2\n");
  BOOST_TEST(result.err == "b2frame: " + maker.path() + ": leaves out the computed columns w\n");
}

BOOST_AUTO_TEST_CASE(with_bad_offsets_name_the_column) {
  const auto complaint = [](const std::vector<std::int64_t>& offsets) {
    TableMaker maker;
    maker.declare({{"name", "v"}, {"kind", "utf8"}});
    maker.array("_cols/v", items(offsets), {std::ssize(offsets)}, "<i8", 8);
    maker.array("_cols/v.utf8", "abcde", {5}, "|u1", 1);
    maker.finish("\1\1\1");
    return complaint_about_v(maker);
  };
  BOOST_TEST(complaint({0, 3, 2, 5}) == "row 2 at the offset 2, behind 3 and of 5 bytes");
  BOOST_TEST(complaint({-8, 3, 4, 5}) == "row 0 at the offset -8, behind 0 and of 5 bytes");
  BOOST_TEST(complaint({0, 1, 2, std::numeric_limits<std::int64_t>::max()}) ==
             "row 3 at the offset 9223372036854775807, behind 2 and of 5 bytes");
  BOOST_TEST(complaint({0, 1, 2}) == "has 2 rows, the table has more");
}

BOOST_AUTO_TEST_CASE(with_bad_codes_name_the_column) {
  const auto make = [](TableMaker& maker, std::int32_t code) {
    maker.declare({{"name", "v"}, {"kind", "dictionary"}, {"null_code", -1}});
    maker.array("_cols/v", items<std::int32_t>({-1, 1, code}), {3}, "<i4", 4);
    maker.objects("_cols/v_dict", {"a", "b"});
    maker.finish("\1\1\1");
  };
  TableMaker good;
  make(good, 0);
  BOOST_TEST(output({"cat", good.path()}) == "v\n\"\"\nb\na\n");
  for (const std::int32_t code : {2, -2, std::numeric_limits<std::int32_t>::max()}) {
    TableMaker bad;
    make(bad, code);
    BOOST_TEST(complaint_about_v(bad) ==
               "row 2 has the code " + std::to_string(code) + ", its dictionary has 2 texts");
  }
}

BOOST_AUTO_TEST_CASE(with_bad_documents_name_the_column) {
  const auto complaint = [](const ByteVector& document, const char* format = "--json") {
    TableMaker maker;
    maker.declare({{"name", "v"}, {"kind", "object"}});
    maker.document("_cols/v", document);
    maker.finish("\1");
    return complaint_about_v(maker, format);
  };
  BOOST_TEST(complaint({0x92, 1}) == "chunk 0: msgpack at 1: ends early");
  BOOST_TEST(complaint({0xdd, 0xff, 0xff, 0xff, 0xff}) == "chunk 0: msgpack at 5: ends early");
  BOOST_TEST(complaint({0x91, 0xc1}).starts_with("chunk 0: msgpack with the marker"));
  BOOST_TEST(complaint({0x80}) == "chunk 0: a batch is not an array");
  BOOST_TEST(complaint({0x90}) == "has 0 rows, the table has more");
  BOOST_TEST(complaint({0x91, 1, 2}) == "chunk 0: a document of 3 bytes ends at 2");
  BOOST_TEST(complaint({0x91, 0x81, 1, 2}) ==
             "a map with keys that are not text, which JSON cannot express");
  BOOST_TEST(complaint({0x91, 0x81, 1, 2}, "--text") ==
             "a map with keys that are not text, which JSON cannot express");
  BOOST_TEST(complaint({0x91, 0xa1, 0xff}) == "a text is not valid UTF-8");
  ByteVector deep(100, 0x91);
  deep.push_back(0xc0);
  BOOST_TEST(complaint(deep) == "values that nest deeper than 64");
  // References that contain references, 200 levels deep.
  ByteVector nested = {0x80};
  for (int i = 0; i < 200; i++) {
    ByteVector outer = {0x81,
                        0xa1,
                        'a',
                        0xc8,
                        static_cast<std::uint8_t>(nested.size() >> 8),
                        static_cast<std::uint8_t>(nested.size()),
                        43};
    outer.insert(outer.end(), nested.begin(), nested.end());
    nested = outer;
  }
  nested.insert(nested.begin(), 0x91);
  BOOST_TEST(complaint(nested) == "values that nest deeper than 64");
}

BOOST_AUTO_TEST_CASE(with_bad_schemas_say_so) {
  const auto complaint = [](const std::string& schema) {
    TableMaker maker;
    maker.finish("\1", schema);
    const ProcessResult result = b2frame({"cat", maker.path()});
    BOOST_TEST(result.status == 1);
    return result.err.substr(std::min(result.err.size(), maker.path().size() + 11));
  };
  BOOST_TEST(complaint("[]") == "schema: is not a JSON object\n");
  BOOST_TEST(complaint("{") == "schema: is not a JSON object\n");
  for (const int depth : {100, 1'000'000})
    BOOST_TEST(complaint("{\"columns\":" + std::string(static_cast<std::size_t>(depth), '[')) ==
               "schema: is not a JSON object\n");
  BOOST_TEST(complaint(R"({"columns":[NaNa]})") == "schema: is not a JSON object\n");
  BOOST_TEST(complaint(R"({"columns":[{"name":"x"}]})") == "column x: has no kind\n");
  BOOST_TEST(complaint(R"({"columns":[{"kind":"int8"}]})") == "schema: column 0: has no name\n");
  BOOST_TEST(complaint(R"({"columns":[{"name":"x","kind":"duration"}]})") ==
             "column x: is of the kind duration\n");
  BOOST_TEST(complaint(R"({"version":9,"columns":[]})") ==
             "schema: the version 9 is not supported\n");
  BOOST_TEST(complaint(R"({"columns":[{"name":"x","kind":"int8","null_storage":"else"}]})") ==
             "column x: stores absent values as \"else\"\n");
  std::string many = R"({"columns":[)";
  for (int i = 0; i < 100'000; i++) many += R"({"name":"x","kind":"int8"},)";
  many.back() = ']';
  BOOST_TEST(
      complaint(many + "}").starts_with("100000 columns, of which 4096 can be read at once"));
  for (int i = 0; i < 1'000'000; i++) many += R"({"name":"x","kind":"int8"},)";
  BOOST_TEST(!complaint(many).empty());
}

BOOST_AUTO_TEST_CASE(with_columns_of_another_shape_name_them) {
  const auto complaint = [](const json& column, std::int64_t rows, const std::string& dtype) {
    TableMaker maker;
    maker.declare(column);
    maker.array("_cols/v", std::string(static_cast<std::size_t>(rows), 'x'), {rows}, dtype, 1);
    maker.finish("\1\1");
    return complaint_about_v(maker);
  };
  BOOST_TEST(complaint({{"name", "v"}, {"kind", "int8"}}, 3, "|i1") == "3 rows, _valid_rows has 2");
  BOOST_TEST(complaint({{"name", "v"}, {"kind", "int8"}}, 2, "|u1") ==
             "is of the kind int8, and has items of |u1");
  BOOST_TEST(complaint({{"name", "v"}, {"kind", "ndarray"}, {"item_shape", {2}}}, 2, "|i1") ==
             "has items of the shape [], its schema says [2]");
  BOOST_TEST(complaint({{"name", "v"}, {"kind", "int8"}, {"null_value", 1000}}, 2, "|i1") ==
             "its null_value is 1000");
}

BOOST_AUTO_TEST_CASE(are_told_of_by_info) {
  for (const char* suffix : {"", ":/"}) {
    const std::string path = table("null_int8.b2z") + suffix;
    const json info = json::parse(output({"info", "--json", path}));
    BOOST_TEST(info.at("object") == "ctable");
    BOOST_TEST(info.at("rows") == 296);
    BOOST_TEST(info.at("columns") ==
               json({{"id", {{"kind", "int64"}}}, {"v", {{"kind", "int8"}, {"nullable", true}}}}));
  }
}

BOOST_AUTO_TEST_CASE(tell_info_how_columns_are_stored) {
  const auto columns = [](const char* file) {
    return json::parse(output({"info", "--json", table(file)})).at("columns");
  };
  const json number = {{"kind", "int64"}, {"nullable", true}, {"null_value", -1}};
  BOOST_TEST(columns("sent_int64.b2z").at("v") == number);
  BOOST_TEST(columns("sent_float.b2z").at("v").at("null_value") == "NaN");
  BOOST_TEST(columns("timestamp.b2z").at("v") == json({{"kind", "timestamp"}, {"unit", "us"}}));
  for (const auto& [leaf, kind] : {std::pair("null_string.b2z:/_cols/v", "string"),
                                   std::pair("null_string.b2z:/_cols/v.notnull", "string"),
                                   std::pair("utf8.b2z:/_cols/v.utf8", "utf8"),
                                   std::pair("dictionary.b2z:/_cols/v_dict", "dictionary")}) {
    const json column = json::parse(output({"info", "--json", table(leaf)})).at("column");
    BOOST_TEST(column.at("name") == "v", leaf);
    BOOST_TEST(column.at("kind") == kind, leaf);
    BOOST_TEST(column.at("manual") == "bloscfs-stores(7)", leaf);
  }
  BOOST_TEST(
      !json::parse(output({"info", "--json", table("utf8.b2z:/_valid_rows")})).contains("column"));
}

BOOST_AUTO_TEST_CASE(are_compared) {
  const std::string path = table("null_int8.b2z");
  BOOST_TEST(output({"diff", path, path + ":/"}).empty());
  const auto differences = [](const TableMaker& a, const TableMaker& b,
                              std::vector<std::string> options = {}) {
    options.insert(options.begin(), {"diff", a.path(), b.path()});
    const ProcessResult result = b2frame(options);
    BOOST_TEST(result.status == 1, result.description());
    std::string shown;
    for (const std::string& line : lines_of(result.out))
      shown += line.substr(std::min(line.size(), line.find("differ"))) + "\n";
    return shown;
  };
  TableMaker a, b, c;
  make_array_table<std::int8_t>(a, {{"kind", "int8"}}, {1, 2, 3, 4}, "|i1");
  make_array_table<std::int8_t>(b, {{"kind", "int8"}}, {1, 5, 6, 4, 7}, "|i1");
  make_array_table<std::uint8_t>(c, {{"kind", "uint8"}}, {1, 2, 3, 4}, "|u1");
  BOOST_TEST(differences(a, b) == "differ: 4 rows and 5\ndiffer: row 1, column v: 2 and 5\n");
  BOOST_TEST(differences(a, b, {"--all"}) ==
             "differ: 4 rows and 5\ndiffer: row 1, column v: 2 and 5\ndiffer: 2 of 4 rows\n");
  BOOST_TEST(differences(a, b, {"-q"}) == "differ\n");
  BOOST_TEST(differences(a, c) == "differ: column v: of the kind int8 and uint8\n");
  const ProcessResult other = b2frame({"diff", path, path + ":/_cols/v"});
  BOOST_TEST(other.status == 2);
  BOOST_TEST(
      other.err.ends_with(":/_cols/v is not a table; a table can be compared with a table only\n"),
      other.err);
}

BOOST_AUTO_TEST_CASE(columns_that_do_not_fit_are_found) {
  TableMaker maker;
  for (const char* name : {"good", "short", "missing"})
    maker.declare({{"name", name}, {"kind", "int64"}});
  maker.array("_cols/good", items(std::vector<std::int64_t>{1, 2, 3}), {3}, "<i8", 8);
  maker.array("_cols/short", items(std::vector<std::int64_t>{1, 2}), {2}, "<i8", 8);
  maker.finish(std::string(3, '\1'));
  const ProcessResult verified = b2frame({"verify", maker.path()});
  BOOST_TEST(verified.status == 1);
  BOOST_TEST(verified.err.find(": /: column short: ") != std::string::npos, verified.err);
  BOOST_TEST(verified.err.find(": /: column missing: ") != std::string::npos, verified.err);
  BOOST_TEST(verified.err.find("column good") == std::string::npos, verified.err);
  const std::string packed = maker.beside("t.b2z");
  const ProcessResult refused = b2frame({"pack", maker.path(), "-o", packed});
  BOOST_TEST(refused.status == 1);
  BOOST_TEST(refused.err.ends_with("; run: b2frame verify " + maker.path() + "\n"), refused.err);
  BOOST_TEST(!fs_std::exists(packed));
}

BOOST_AUTO_TEST_CASE(values_of_any_length_that_do_not_fit_are_found) {
  TableMaker maker;
  const auto text = [&](const std::string& name, const std::vector<std::int64_t>& offsets) {
    maker.declare({{"name", name}, {"kind", "utf8"}});
    maker.array("_cols/" + name, items(offsets), {std::ssize(offsets)}, "<i8", 8);
    maker.array("_cols/" + name + ".utf8", "abcde", {5}, "|u1", 1);
  };
  const auto object = [&](const std::string& name, const json& values) {
    maker.declare({{"name", name}, {"kind", "object"}});
    maker.objects("_cols/" + name, values);
  };
  // The last row is deleted, so no column needs to have it.
  text("good", {0, 3, 4, 5});
  text("few", {0, 1, 2});
  text("far", {0, 1, 2, 9});
  text("disorder", {0, 3, 2, 5});
  object("objects", {1, 2, 3});
  object("few_objects", {1, 2});
  maker.declare({{"name", "masked"}, {"kind", "int8"}, {"null_storage", "mask"}});
  maker.array("_cols/masked", "abcd", {4}, "|i1", 1);
  maker.array("_cols/masked.notnull", "\1\1", {2}, "|b1", 1);
  maker.finish(std::string("\1\1\1\0", 4));
  const std::string begin = "b2frame: " + maker.path() + ": /: column ";
  std::vector<std::string> expected = {
      begin + "few: has 2 rows, the table has more",
      begin + "far: row 3 at the offset 9, behind 2 and of 5 bytes",
      begin + "disorder: row 2 at the offset 2, behind 3 and of 5 bytes",
      begin + "few_objects: has 2 rows, the table has more",
      begin + "masked: its mask of absent values ends behind row 1"};
  for (const Arguments& command :
       {Arguments{"verify", maker.path()}, {"verify", "-r", maker.path()}}) {
    const ProcessResult verified = b2frame(command);
    BOOST_TEST(verified.status == 1);
    BOOST_TEST(lines_of(verified.err) == expected, boost::test_tools::per_element());
  }
  const ProcessResult refused = b2frame({"pack", maker.path(), "-o", maker.beside("t.b2z")});
  BOOST_TEST(refused.status == 1);
  BOOST_TEST(refused.err.find("column few: ") != std::string::npos, refused.err);
  BOOST_TEST(!fs_std::exists(maker.beside("t.b2z")));
}

BOOST_AUTO_TEST_SUITE_END()
