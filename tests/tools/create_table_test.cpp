// Runs `b2frame create` on comma-separated values. Compares the tables with those of python-blosc2
// 4.11: tests/data/tables has its tables, and the CSV files that its to_csv() wrote.

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "frame/pystore/column_names.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/other_filesystem.hpp"
#include "tests/tools/program.hpp"

namespace bloscfs::test {
namespace {

using nlohmann::json;

const fs_std::path kData = BLOSCFS_TEST_SOURCE_ROOT "/tests/data";

/// A directory in which tables are made from texts.
class TablePlace {
 public:
  fs_std::path path(const std::string& name) const { return directory_ / name; }
  std::string output() const { return path("t.b2z"); }

  ProcessResult create(const std::string& csv, const Arguments& options = {},
                       const std::string& input = "t.csv", const std::string& out = "t.b2z") const {
    write_file(path(input), csv);
    return b2frame(Arguments{"create"} + options + Arguments{path(input), "-o", path(out)});
  }

  /// Like create(), but the command must succeed.
  void make(const std::string& csv, const Arguments& options = {}) const {
    const ProcessResult result = create(csv, options);
    BOOST_TEST_REQUIRE(result.ok(), result.description());
    const ProcessResult verified = b2frame({"verify", output()});
    BOOST_TEST(verified.ok(), verified.description());
  }

  std::string leaf(const std::string& key) const { return extracted(output() + ":/" + key); }
  std::string csv() const {
    const ProcessResult result = b2frame({"extract", output() + ":/", "-o", path("back.csv")});
    BOOST_TEST_REQUIRE(result.ok(), result.description());
    const ByteVector bytes = read_file(path("back.csv"));
    return {bytes.begin(), bytes.end()};
  }
  json schema() const {
    return json::parse(info_of(output() + ":/_meta")
                           .at("vlmetalayers")
                           .at("schema")
                           .get_ref<const std::string&>());
  }
  /// Returns the types of the columns, such as "int64 utf8?".
  std::string types() const {
    const json schema = this->schema();
    std::string types;
    for (const json& column : schema.at("columns")) {
      if (!types.empty()) types += ' ';
      types += column.at("kind").get<std::string>();
      if (column.contains("max_length"))
        types += "[" + std::to_string(column.at("max_length").get<int>()) + "]";
      if (column.value("unit", "us") != "us")
        types += "[" + column.at("unit").get<std::string>() + "]";
      if (column.value("nullable", false)) types += '?';
    }
    return types;
  }

  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& entry : fs_std::directory_iterator(directory_.path()))
      names.insert(entry.path().filename());
    return names;
  }

 private:
  TempDir directory_;
};

template <typename Number>
std::vector<Number> numbers(const std::string& bytes) {
  std::vector<Number> numbers(bytes.size() / sizeof(Number));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(Number));
  return numbers;
}

/// Returns the texts of a utf8 column.
std::vector<std::string> texts(const std::string& table, const std::string& column) {
  const std::string bytes = extracted(table + ":/_cols/" + column + ".utf8");
  const auto ends = numbers<std::int64_t>(extracted(table + ":/_cols/" + column));
  std::vector<std::string> texts;
  for (std::size_t i = 0; i + 1 < ends.size(); ++i)
    texts.push_back(bytes.substr(static_cast<std::size_t>(ends[i]),
                                 static_cast<std::size_t>(ends[i + 1] - ends[i])));
  return texts;
}

/// Returns the items of a column with one item in each row, without those of deleted rows.
std::vector<std::string> items(const std::string& table, const std::string& key) {
  const std::string valid = extracted(table + ":/_valid_rows");
  const std::string bytes = extracted(table + ":/" + key);
  const std::size_t size = bytes.size() / valid.size();
  std::vector<std::string> items;
  for (std::size_t row = 0; row < valid.size(); ++row)
    if (valid[row] != 0) items.push_back(bytes.substr(row * size, size));
  return items;
}

std::vector<std::string> valid_texts(const std::string& table, const std::string& column) {
  const std::string valid = extracted(table + ":/_valid_rows");
  const auto all = texts(table, column);
  std::vector<std::string> texts;
  for (std::size_t row = 0; row < valid.size(); ++row)
    if (valid[row] != 0) texts.push_back(all.at(row));
  return texts;
}

/// Returns the leaves of the table in a directory. Leaves out what python-blosc2 adds: indexes, and
/// attributes of the table's user.
std::set<std::string> leaves(const fs_std::path& directory) {
  std::set<std::string> leaves;
  for (const auto& entry : fs_std::recursive_directory_iterator(directory)) {
    const std::string path = fs_std::relative(entry.path(), directory);
    if (entry.is_regular_file() && !path.starts_with("_indexes/") && path != "_vlmeta.b2f")
      leaves.insert(path);
  }
  return leaves;
}

/// Describes a frame, without the values that depend on its compressed bytes and on deleted rows.
json structure(const fs_std::path& frame) {
  json info = info_of(frame);
  json found;
  for (const char* field : {"dtype", "typesize", "chunkshape", "blockshape", "chunksize",
                            "blocksize", "codec", "clevel", "format_version", "kind"})
    if (info.contains(field)) found[field] = info.at(field);
  found["metalayers"] = info.at("metalayers");
  if (found["metalayers"].contains("b2nd")) found["metalayers"]["b2nd"]["shape"] = "any";
  found["vlmetalayers"] = info.at("vlmetalayers");
  return found;
}

/// Removes from `_meta` what depends on how often python-blosc2 changed the table.
json without_history(json meta) {
  json& layers = meta.at("vlmetalayers");
  for (const char* name : {"index_catalog", "value_epoch", "visibility_epoch"}) layers.erase(name);
  json schema = json::parse(layers.at("schema").get_ref<const std::string&>());
  schema.erase("summary_indexes_built");
  layers["schema"] = schema;
  return meta;
}

void check_same_structure(const std::string& ours, const std::string& theirs) {
  const TempDir dir;
  BOOST_TEST_REQUIRE(b2frame({"unpack", ours, "-o", dir / "ours"}).ok());
  BOOST_TEST_REQUIRE(b2frame({"unpack", theirs, "-o", dir / "theirs"}).ok());
  BOOST_TEST(leaves(dir / "ours") == leaves(dir / "theirs"), boost::test_tools::per_element());
  for (const std::string& leaf : leaves(dir / "theirs")) {
    json a = structure(dir / "ours" / leaf), b = structure(dir / "theirs" / leaf);
    if (leaf == "_meta.b2f") {
      a = without_history(a);
      b = without_history(b);
    }
    BOOST_TEST(a == b, leaf << ": " << a << "\ninstead of\n" << b);
  }
}

struct PythonTable {
  std::string name;
  Arguments options;
};
/// Tables with the columns `id` and `v`, and 64 rows in a chunk.
const std::vector<PythonTable> kPythonTables{
    {"utf8", {"--schema", "v:utf8"}},       {"timestamp", {}}, {"null_int64", {}},
    {"null_int8", {"--schema", "v:int8?"}}, {"null_bool", {}}, {"null_timestamp", {}}};

std::string in_quotes(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += c;
    result += c;
  }
  return result + "\"";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(b2frame_create_table)

BOOST_AUTO_TEST_CASE(makes_what_python_blosc2_makes_of_the_same_values) {
  for (const PythonTable& table : kPythonTables) {
    BOOST_TEST_CONTEXT(table.name) {
      const TempDir dir;
      const std::string ours = dir / "t.b2z", theirs = kData / "tables" / (table.name + ".b2z");
      const Arguments layout{"--clevel", "5", "--chunk-shape", "64", "--block-shape", "64"};
      const ProcessResult result =
          b2frame(Arguments{"create"} + layout + table.options +
                  Arguments{kData / "tables" / (table.name + ".csv"), "-o", ours});
      BOOST_TEST_REQUIRE(result.ok(), result.description());
      check_same_structure(ours, theirs);
      BOOST_CHECK(items(ours, "_cols/id") == items(theirs, "_cols/id"));
      if (table.name == "utf8")
        BOOST_CHECK(valid_texts(ours, "v") == valid_texts(theirs, "v"));
      else
        BOOST_CHECK(items(ours, "_cols/v") == items(theirs, "_cols/v"));
      if (table.name.starts_with("null_"))
        BOOST_CHECK(items(ours, "_cols/v.notnull") == items(theirs, "_cols/v.notnull"));
    }
  }
}

BOOST_AUTO_TEST_CASE(has_the_usual_chunks_of_python_blosc2) {
  const TempDir dir;
  const std::string theirs = kData / "stores/ctz1.b2z", csv = dir / "t.csv", ours = dir / "t.b2z";
  BOOST_TEST_REQUIRE(b2frame({"extract", theirs + ":/", "-o", csv}).ok());
  const ProcessResult result =
      b2frame({"create", "--clevel", "5", "--schema", "s:string[10]", csv, "-o", ours});
  BOOST_TEST_REQUIRE(result.ok(), result.description());
  check_same_structure(ours, theirs);
  BOOST_TEST(info_of(ours + ":/_cols/s").at("filters") ==
             info_of(theirs + ":/_cols/s").at("filters"));
  BOOST_TEST(info_of(ours).at("object") == "ctable");
  BOOST_TEST_REQUIRE(b2frame({"extract", ours + ":/", "-o", dir / "back.csv"}).ok());
  BOOST_CHECK(read_file(dir / "back.csv") == read_file(csv));
}

BOOST_AUTO_TEST_CASE(infers_the_types_of_columns) {
  const TablePlace place;
  const std::map<std::string, std::string> types{
      {"1\n-2\n0\n", "int64"},
      {"9223372036854775807\n-9223372036854775808\n", "int64"},
      {"1\n\"2\"\n", "int64"},
      {"1\n2.5\n", "float64"},
      {"1e3\n-.5\n7.\n", "float64"},
      {"nan\ninf\n-inf\n1\n", "float64"},
      {"9223372036854775808\n1.5\n", "float64"},
      {"-0\n1\n", "float64"},
      {"True\nfalse\nFalse\ntrue\n", "bool"},
      {"2024-02-29\n1969-12-31T23:59:59.999999\n2024-01-01 10:20\n", "timestamp"},
      {"2024-01-01T00:00:00Z\n2024-01-01T00:00:00+02:00\n", "timestamp"},
      {"2024-01-01T00:00:00.123456789\n", "timestamp[ns]"},
      {"2024-01-01T00:00:00.123456000\n", "timestamp"},
      // A column is text if another type would not give a value back as it was written, or if a
      // value is ambiguous.
      {"007\n1\n", "utf8"},
      {"+1\n1\n", "utf8"},
      {"9223372036854775808\n", "utf8"},
      {"1e999\n", "utf8"},
      {std::string(400, '1') + "\n1.5\n", "utf8"},
      {"1_000\n", "utf8"},
      {" 1\n", "utf8"},
      {"0x1\n", "utf8"},
      {"TRUE\n", "utf8"},
      {"True\n1\n", "utf8"},
      {"2023-02-29\n", "utf8"},
      {"2024-01-01T24:00\n", "utf8"},
      {"2024-01-01T00:00:00Z\n2024-01-01T00:00:00\n", "utf8"},
      {"1600-01-01\n2024-01-01T00:00:00.123456789\n", "utf8"},
      {"2024-1-1\n", "utf8"},
      {"", "utf8"},
      // Texts for which CSV needs quotes or a mark.
      {"a\n\"\"\n", "utf8?"},
      {"1\n\\N\n", "utf8?"},
      {"1\n\\E\n", "utf8?"},
      {"\"\\N\"\n", "utf8?"},
  };
  for (const auto& [csv, type] : types) {
    place.make("v\n" + csv);
    BOOST_TEST(place.types() == type, in_quotes(csv) << " is " << place.types());
  }
}

BOOST_AUTO_TEST_CASE(times_with_a_zone_are_kept_in_utc) {
  const TablePlace place;
  place.make("v,w\n2024-01-01T01:00:00+01:00,2024-01-01\n2023-12-31T19:30:00-0430,1970-01-01\n");
  BOOST_TEST(place.schema().at("columns")[0].at("timezone") == "UTC");
  BOOST_TEST(!place.schema().at("columns")[1].contains("timezone"));
  constexpr std::int64_t kDay = std::int64_t{1704067200} * 1000000;
  BOOST_CHECK(numbers<std::int64_t>(place.leaf("_cols/v")) ==
              (std::vector<std::int64_t>{kDay, kDay}));
  BOOST_CHECK(numbers<std::int64_t>(place.leaf("_cols/w")) == (std::vector<std::int64_t>{kDay, 0}));
}

BOOST_AUTO_TEST_CASE(empty_fields_make_columns_nullable) {
  const TablePlace place;
  place.make(
      "i,f,b,t,s,q,n\n1,1.5,True,2024-01-01,x,\"\",\n,,,,,y,\n\"\",\"\",\"\",\"\",\"\",z,\n");
  BOOST_TEST(place.types() == "int64? float64? bool? timestamp? utf8? utf8? utf8?");
  const std::map<std::string, std::string> masks{{"i", {1, 0, 0}}, {"f", {1, 0, 0}},
                                                 {"b", {1, 0, 0}}, {"t", {1, 0, 0}},
                                                 {"s", {1, 0, 1}}, {"n", {0, 0, 0}}};
  for (const auto& [name, mask] : masks)
    BOOST_TEST(place.leaf("_cols/" + name + ".notnull") == mask, name);
  BOOST_TEST(place.schema().at("version") == 3);
  place.make("v\n1\n\n2\n");
  BOOST_TEST(place.types() == "int64?");
  BOOST_TEST(place.schema().at("n_rows") == 3);
}

BOOST_AUTO_TEST_CASE(a_schema_overrides_what_is_inferred) {
  const TablePlace place;
  place.make("i,s,t,f,u,z,x\n1,ab,2024-01-01,0.1,255,007,3\n,,,nan,0,1,4\n",
             {"--schema", "i:int32?,s:string[2],t:timestamp[s]?,f:float32,u:uint8,z:int16"});
  BOOST_TEST(place.types() == "int32? string[2] timestamp[s]? float32 uint8 int16 int64");
  BOOST_CHECK(numbers<std::int32_t>(place.leaf("_cols/i")) == (std::vector<std::int32_t>{1, 0}));
  BOOST_CHECK(numbers<std::int64_t>(place.leaf("_cols/t")).front() == 1704067200);
  BOOST_CHECK(numbers<float>(place.leaf("_cols/f")).front() == 0.1F);
  // The filters suit the frame's typesize, although items of several types have the same size.
  const auto filters_of = [&](const std::string& key) {
    return info_of(place.output() + ":/" + key).at("filters");
  };
  BOOST_TEST(filters_of("_cols/s") == json({"shuffle:4"}));
  BOOST_TEST(filters_of("_cols/t") == json({"shuffle"}));
  BOOST_TEST(place.leaf("_cols/s") == std::string("a\0\0\0b\0\0\0\0\0\0\0\0\0\0\0", 16));
  BOOST_CHECK(numbers<std::int16_t>(place.leaf("_cols/z")) == (std::vector<std::int16_t>{7, 1}));

  write_file(place.path("types"), "# of the columns\n\"a,b:utf8\"\nc:float64\n");
  place.make("\"a,b\",c\n1,2\n", {"--schema", place.path("types")});
  BOOST_TEST(place.types() == "utf8 float64");
  place.make("a b, c\n1,2\n", {"--schema", "a b : int8 ,\" c:utf8\""});
  BOOST_TEST(place.types() == "int8 utf8");

  // A nullable column without absent values has no `notnull` array, as in python-blosc2.
  place.make("a\n1\n", {"--schema", "a:int8?"});
  BOOST_TEST(!b2frame({"info", place.output() + ":/_cols/a.notnull"}).ok());
}

BOOST_AUTO_TEST_CASE(reads_quotes_line_ends_and_byte_order_marks) {
  const TablePlace place;
  const std::vector<std::string> expected{"a,b",      "line\r\nend", "say \"x\"",
                                          "in\"side", "\u00e9",      ""};
  for (const std::string end : {"\n", "\r\n"}) {
    std::string csv = "\xEF\xBB\xBFk,v" + end + "1,\"a,b\"" + end + end + "2,\"line\r\nend\"" +
                      end + "3,\"say \"\"x\"\"\"" + end + "4,in\"side" + end + "5,\u00e9" + end +
                      "6,\"\"";
    place.make(csv);
    BOOST_TEST(texts(place.output(), "v") == expected, boost::test_tools::per_element());
    BOOST_TEST(place.types() == "int64 utf8?");
  }
  BOOST_TEST_REQUIRE(place.create("a\tb\n1\t\"x\ty\"\n", {}, "t.TSV").ok());
  BOOST_TEST(texts(place.output(), "b") == std::vector<std::string>{"x\ty"},
             boost::test_tools::per_element());
  place.make("a;b\n1;2,5\n", {"--delimiter", ";"});
  BOOST_TEST(place.types() == "int64 utf8");
  BOOST_TEST_REQUIRE(place.create("a b\n1 2\n", {"--delimiter", " "}, "t.txt").status == 2);
  BOOST_TEST_REQUIRE(place.create("a|b\n1|x,y\n", {"--delimiter", "|"}, "t.txt").ok());
  BOOST_TEST(place.types() == "int64 utf8");
  place.make("1,2\n3,4\n", {"--no-header"});
  BOOST_TEST(place.csv() == "c0,c1\n1,2\n3,4\n");
}

BOOST_AUTO_TEST_CASE(gives_numbers_and_booleans_back_as_they_were) {
  const TablePlace place;
  const std::string csv = "i,f,b\n1,0.1,True\n-5,1e+300,False\n9007199254740993,nan,True\n";
  place.make(csv);
  BOOST_TEST(place.csv() == csv);
  place.make("i,s\n");
  BOOST_TEST(place.schema().at("n_rows") == 0);
  place.make("i,s\n", {"--schema", "i:int64,s:string[3]"});
  BOOST_TEST(place.csv() == "i,s\n");
}

BOOST_AUTO_TEST_CASE(reads_what_extract_writes) {
  const TablePlace place;
  const std::vector<std::string> texts_of_v{"", "", "\\N", "\\E", "\\\\N", "N", "\\", "a,b"};
  place.make("k,v\n1,\n2,\"\"\n3,\"\\N\"\n4,\\\\E\n5,\"\\\\N\"\n6,N\n7,\\\n8,\"a,b\"\n");
  for (int round = 0; round < 3; ++round) {
    BOOST_TEST(place.types() == "int64 utf8?");
    BOOST_TEST(texts(place.output(), "v") == texts_of_v, boost::test_tools::per_element());
    BOOST_TEST(place.leaf("_cols/v.notnull") == std::string("\0\1\1\1\1\1\1\1", 8));
    const std::string csv = place.csv();
    BOOST_TEST(csv == "k,v\n1,\\N\n2,\\E\n3,\\\\N\n4,\\\\E\n5,\\\\\\N\n6,N\n7,\\\n8,\"a,b\"\n");
    place.make(csv);
  }
  // A column whose only text is empty or looks like a mark keeps its type in the second round.
  for (const std::string csv : {"v\n\"\"\n", "v\n\"\"\nx\n", "v\n\"\\N\"\n", "v\n\n\"\"\n"}) {
    place.make(csv);
    const std::string types = place.types(), first = place.csv();
    const auto values = texts(place.output(), "v");
    place.make(first);
    BOOST_TEST(place.types() == types);
    BOOST_TEST(place.csv() == first);
    BOOST_CHECK(texts(place.output(), "v") == values);
  }
  // In columns of other types too, marks have a meaning only if the column is nullable.
  place.make("i,s,t\n1,\\N,\\N\n\\N,\\E,\n", {"--schema", "i:int8?,s:string[2]?,t:utf8"});
  BOOST_TEST(place.leaf("_cols/i.notnull") == std::string("\1\0", 2));
  BOOST_TEST(place.leaf("_cols/s.notnull") == std::string("\0\1", 2));
  BOOST_TEST(texts(place.output(), "t") == (std::vector<std::string>{"\\N", ""}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(goes_through_a_tsv_file_unchanged) {
  const TablePlace place;
  place.make("k,\"a,b\"\n1,\"x\ty\"\n2,\"x,y\"\n3,\"\"\"x\t\"\"\"\n");
  const std::string tsv = place.path("back.tsv");
  const ProcessResult written = b2frame({"extract", place.output(), "-o", tsv});
  BOOST_TEST_REQUIRE(written.ok(), written.description());
  BOOST_TEST(
      (read_file(tsv) == bytes_of("k\t\"a,b\"\n1\t\"x\ty\"\n2\t\"x,y\"\n3\t\"\"\"x\t\"\"\"\n")));
}

BOOST_AUTO_TEST_CASE(suggests_the_key_of_a_column) {
  const TempDir home;
  write_file(home / "t.csv", std::string_view("id\n1\n"));
  const std::string table = home / "t.b2z";
  BOOST_TEST_REQUIRE(b2frame({"create", home / "t.csv", "-o", table}).ok());
  for (const std::string command : {"info", "verify"}) {
    const ProcessResult wrong = b2frame({command, table + ":/id"});
    BOOST_TEST(wrong.err.find("no key /id (did you mean /_cols/id?); ") != std::string::npos,
               wrong.err);
  }
  BOOST_TEST(b2frame({"info", table + ":/other"}).err.find("did you mean") == std::string::npos);
  const ProcessResult plain = b2frame({"extract", table + ":/_cols/id", "-o", home / "id.npy"});
  BOOST_TEST(plain.ok(), plain.description());
}

BOOST_AUTO_TEST_CASE(hints_at_a_delimiter_that_is_another) {
  const TablePlace place;
  const std::map<std::string, std::string> hints{
      {"a;b\n1;2\n", "has one column, 'a;b'; --delimiter ';' would split it\n"},
      {"a|b\n1|2\n", "has one column, 'a|b'; --delimiter '|' would split it\n"},
      {"a, b\n1, 2\n", "column ' b': blanks beside the delimiter belong to the fields\n"}};
  for (const auto& [csv, hint] : hints) {
    const ProcessResult made = place.create(csv);
    BOOST_TEST(made.ok(), made.description());
    BOOST_TEST(made.err == "b2frame: " + place.path("t.csv").string() + ": " + hint);
  }
  BOOST_TEST(place.create("a\tb\n1\t2\n").err.find("--delimiter tab") != std::string::npos);
  BOOST_TEST(place.create("a;b\n1;2\n", {"--delimiter", ","}).err.empty());
}

BOOST_AUTO_TEST_CASE(keeps_texts_of_all_lengths_across_chunks) {
  const TablePlace place;
  std::mt19937 random(1);
  std::vector<std::string> expected;
  std::string csv = "n,text\n";
  const std::vector<std::string> letters{"a", "\u00e9", "\U0001f600", ",", "\"", "\n", "\r\n", " "};
  // More offsets, and more bytes of text, than fit into one chunk.
  for (int row = 0; row < 140000; ++row) {
    std::string text;
    const auto length = row % 1000 == 0 ? random() % 30000 : random() % 8;
    for (unsigned i = 0; i < length; ++i) text += letters[random() % letters.size()];
    csv += std::to_string(row) + "," + in_quotes(text) + "\n";
    expected.push_back(std::move(text));
  }
  place.make(csv, {"--chunk-shape", "1000", "--block-shape", "300"});
  BOOST_CHECK(texts(place.output(), "text") == expected);
  const auto rows = numbers<std::int64_t>(place.leaf("_cols/n"));
  BOOST_TEST_REQUIRE(rows.size() == expected.size());
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (rows[row] != static_cast<std::int64_t>(row)) BOOST_FAIL("row " << row);
}

BOOST_AUTO_TEST_CASE(writes_more_columns_than_files_may_be_open) {
  const TablePlace place;
  constexpr int kColumns = 1500;
  std::string csv;
  for (int row = 0; row < 4; ++row)
    for (int i = 0; i < kColumns; ++i)
      csv += (row == 0     ? "c"
              : i % 2 == 0 ? ""
                           : "t") +
             std::to_string(i + row) + (i + 1 < kColumns ? "," : "\n");
  place.make(csv);
  BOOST_TEST(place.schema().at("columns").size() == kColumns);
  BOOST_CHECK(numbers<std::int64_t>(place.leaf("_cols/c1498")) ==
              (std::vector<std::int64_t>{1499, 1500, 1501}));
  BOOST_TEST(texts(place.output(), "c1499").back() == "t1502");
}

BOOST_AUTO_TEST_CASE(names_the_column_whose_integers_float64_rounds) {
  const TablePlace place;
  const auto warning = [&](const std::string& values, const Arguments& options = {}) {
    const ProcessResult result = place.create("v,w\n" + values, options);
    BOOST_TEST(result.ok(), result.description());
    return result.err;
  };
  const std::string begin = "b2frame: " + place.path("t.csv").string() + ": column v: ",
                    end =
                        ", since float64 holds no more digits; --schema v:utf8 keeps all numbers "
                        "as texts\n";
  BOOST_TEST(warning("1.5,1\n9007199254740993,1\n9007199254740995,1\n") ==
             begin + "9007199254740993 becomes 9007199254740992" + end);
  BOOST_TEST(warning("-9007199254740993,1\n1.5,1\n") ==
             begin + "-9007199254740993 becomes -9007199254740992" + end);
  BOOST_TEST(warning("18446744073709551615,1\n1.5,1\n") ==
             begin + "18446744073709551615 becomes 18446744073709551616" + end);
  BOOST_TEST(warning("9007199254740992,1\n+0018446744073709551616,1\n1.5,1\n") == "");
  BOOST_TEST(warning("9007199254740993,1\n2,1\n") == "");
  BOOST_TEST(warning("9007199254740993,1\n1.5,1\n", {"--schema", "v:utf8"}) == "");
}

BOOST_AUTO_TEST_CASE(names_the_line_of_what_is_wrong) {
  const TablePlace place;
  write_file(place.output(), std::string("before"));
  const std::map<std::string, std::string> messages{
      {"", "is empty, a table needs a line with names"},
      {"a,b\n1,2\n3\n", "line 3: wanted 2 fields as in the first line, found 1"},
      {"a,b\n1,\"x\ny\"\n3,4,5\n", "line 4: wanted 2 fields as in the first line, found 3"},
      {"a,b\r\n1,\xff\r\n", "line 2: invalid UTF-8"},
      {"a,b\n1,\"x\n\xc3\"\n", "line 3: invalid UTF-8"},
      {"a,b\n\xc3,\xa9\n", "line 2: invalid UTF-8"},
      {"a\n1\n\"2\n3\n", "line 3: a quote is not closed"},
      {"a\n1\n\"2\"3\n", "line 3: text behind a closing quote"},
      {"a,a\n1,2\n", "column a: there are two of that name; rename one in the first line"},
      {"a,\n1,2\n", "column 2: the name is empty; rename it in the first line"},
      {"_a\n1\n",
       "column _a: names that begin with _ are those of a table's own leaves; rename it in the "
       "first line"},
      {"a.\n1\n",
       "column a.: a point in a name stands between two parts; rename it in the first line"},
      {"a,a.b\n1,2\n",
       "column a.b: column a has the key of the group that it is in; rename one in the first line, "
       "such as a_b"},
      {"a\\b\n1\n",
       "column a\\b: no name of a column has a backslash; rename it in the first line"},
      {"\"a\nb\"\n1\n", "no key has control characters; rename it in the first line"},
      {std::string(300, 'x') + "\n1\n",
       "a part has more than 242 bytes; rename it in the first line"},
      {"a\n\"" + std::string(std::size_t{33} << 20, 'x') + "\"\n",
       "line 2: a record of more than 32 MiB, is a quote not closed?"},
      {std::string(1000000, ','), "line 1: a record of more than 65536 fields"},
  };
  for (const auto& [csv, message] : messages) {
    const ProcessResult result = place.create(csv);
    BOOST_TEST(result.status == 1, result.description());
    BOOST_TEST(result.err.ends_with(message + "\n"), result.err);
    BOOST_TEST(result.err.starts_with("b2frame: " + place.path("t.csv").string() + ": "));
  }
  // The output is unchanged, and no other file is left.
  BOOST_CHECK(read_file(place.output()) == (ByteVector{'b', 'e', 'f', 'o', 'r', 'e'}));
  BOOST_CHECK(place.names() == (std::set<std::string>{"t.csv", "t.b2z"}));
}

BOOST_AUTO_TEST_CASE(names_values_that_a_schema_does_not_allow) {
  const TablePlace place;
  const std::vector<std::array<std::string, 3>> cases{
      {"int8", "128", "line 3: column v: '128' is not of the type int8"},
      {"uint64", "-1", "line 3: column v: '-1' is not of the type uint64"},
      {"int64", "1.5", "line 3: column v: '1.5' is not of the type int64"},
      {"int64", "\"\"", "line 3: column v: is empty; the type int64? allows that"},
      {"float32", "1e39", "line 3: column v: '1e39' is not of the type float32"},
      {"bool", "yes", "line 3: column v: 'yes' is not of the type bool"},
      {"timestamp[s]", "2024-01-01T00:00:00.5",
       "line 3: column v: '2024-01-01T00:00:00.5' is not of the type timestamp[s]"},
      {"timestamp[ns]", "1600-01-01",
       "line 3: column v: '1600-01-01' is not of the type timestamp[ns]"},
      {"string[2]", "abc", "line 3: column v: 'abc' is not of the type string[2]"},
      {"int8", std::string(39, 'x') + "\u00e9y",
       "line 3: column v: '" + std::string(39, 'x') + "...' is not of the type int8"},
  };
  for (const auto& [type, value, message] : cases) {
    const ProcessResult result =
        place.create("k,v\n\n1," + value + "\n", {"--schema", "v:" + type});
    BOOST_TEST(result.status == 1, result.description());
    BOOST_TEST(result.err.ends_with(message + "\n"), result.err);
    BOOST_CHECK(place.names() == std::set<std::string>{"t.csv"});
  }
}

BOOST_AUTO_TEST_CASE(refuses_options_that_suit_no_table) {
  const TablePlace place;
  const std::vector<Arguments> options{{"--schema", "b:int8"},
                                       {"--schema", "a:int7"},
                                       {"--schema", "a:string[0]"},
                                       {"--schema", "a:string"},
                                       {"--schema", "a:int8,a:int8"},
                                       {"--schema", "there-is-no-such-file"},
                                       {"--delimiter", "ab"},
                                       {"--typesize", "4"},
                                       {"--sparse"},
                                       {"--codec", "auto"},
                                       {"--chunk-size", "1M"},
                                       {"--chunk-shape", "10,10"},
                                       {"--block-shape", "20", "--chunk-shape", "10"},
                                       {"--filters", "trunc_prec:10"},
                                       {"--meta", "a=b"}};
  for (const Arguments& given : options) {
    const ProcessResult result = place.create("a\n1\n", given);
    BOOST_TEST(result.status == 2, given[0] << " " << given.back() << result.description());
    BOOST_CHECK(place.names() == std::set<std::string>{"t.csv"});
  }
  const ProcessResult frame = place.create("a\n1\n", {"--no-header"}, "t.csv", "t.b2frame");
  BOOST_TEST(frame.status == 2, frame.description());
  // With --flat the bytes of the file become an ordinary frame.
  BOOST_TEST(place.create("a\n1\n", {"--flat"}).ok());
  BOOST_TEST(extracted(place.output()) == "a\n1\n");
  BOOST_TEST(place.create("a\n1\n", {}, "T.CSV", "T.b2z").ok());
  BOOST_TEST(info_of(place.path("T.b2z").string() + ":/").at("object") == "ctable");
  BOOST_TEST(place.create("a\n1\n", {}, "T.CSV", "T.B2Z").status == 2);
}

BOOST_AUTO_TEST_CASE(makes_directories_too) {
  const TablePlace place;
  const ProcessResult made = place.create("a.x,a.y\n1,2\n", {}, "t.csv", "t.b2d");
  BOOST_TEST_REQUIRE(made.ok(), made.description());
  BOOST_TEST(fs_std::exists(place.path("t.b2d/_cols/a/x.b2nd")));
  const std::string csv = place.path("back.csv");
  BOOST_TEST_REQUIRE(b2frame({"extract", place.path("t.b2d").string() + ":/", "-o", csv}).ok());
  const ByteVector bytes = read_file(csv);
  BOOST_TEST(std::string(bytes.begin(), bytes.end()) == "a.x,a.y\n1,2\n");
  const ProcessResult again = place.create("a\n1\n", {}, "t.csv", "t.b2d");
  BOOST_TEST(again.status == 1);
  BOOST_TEST(again.err.find("t.b2d: exists, and is not replaced") != std::string::npos, again.err);
}

BOOST_AUTO_TEST_CASE(replaces_tables_and_nothing_else) {
  const TablePlace place;
  for (const char* csv : {"a\n1\n", "a\n2\n"}) BOOST_TEST(place.create(csv).ok());
  const ByteVector store =
      read_file(fs_std::path(BLOSCFS_TEST_SOURCE_ROOT) / "tests/data/stores/tree0.b2z");
  for (const ByteVector& other : {store, bytes_of("no store")}) {
    write_file(place.path("t.b2z"), other);
    const ProcessResult refused = place.create("a\n1\n", {}, "t.csv", "t.b2z");
    BOOST_TEST(refused.status == 1, refused.description());
    BOOST_TEST(refused.err.find("t.b2z: exists, and is not a table") != std::string::npos,
               refused.err);
    BOOST_TEST((read_file(place.path("t.b2z")) == other));
  }
  const ProcessResult nowhere = place.create("a\n1\n", {}, "t.csv", "none/t.b2z");
  BOOST_TEST(nowhere.err.find("none/t.b2z: No such file or directory; make the directory ") !=
                 std::string::npos,
             nowhere.err);
}

BOOST_AUTO_TEST_CASE(reads_a_pipe_that_is_no_file) {
  const TablePlace place;
  const ProcessResult result =
      run({"sh", "-c", "printf 'a,b\\n1,x\\n' | " B2FRAME " create - -o '" + place.output() + "'"});
  BOOST_TEST_REQUIRE(result.ok(), result.description());
  BOOST_TEST(place.types() == "int64 utf8");
  BOOST_CHECK(place.names() == std::set<std::string>{"t.b2z"});
}

BOOST_AUTO_TEST_CASE(leaves_nothing_behind_when_interrupted) {
  const TablePlace place;
  std::string csv = "a,b\n";
  while (csv.size() < (std::size_t{60} << 20)) csv += "1234567,some text that takes room\n";
  write_file(place.path("t.csv"), csv);
  for (const char* output : {"t.b2z", "t.b2d"})
    for (const int signal : {SIGINT, SIGTERM}) {
      Child child(
          {B2FRAME, "create", "--clevel", "9", place.path("t.csv"), "-o", place.path(output)},
          place.path("log"));
      while (place.names().size() < 3 && !child.wait(Seconds{0.001})) {
      }
      child.signal(signal);
      BOOST_TEST(child.wait(Seconds{10}));
      BOOST_TEST(child.result().signal == signal);
      BOOST_CHECK(place.names() == (std::set<std::string>{"t.csv", "log"}));
    }
}

BOOST_AUTO_TEST_CASE(leaves_what_was_there_where_the_disk_is_full,
                     *boost::unit_test::precondition(needs_root)) {
  const TablePlace place;
  std::mt19937_64 draw(1);
  std::string csv = "a,b\n";
  for (int i = 0; i < 300'000; ++i)
    csv += std::to_string(draw() >> 2) + "," + std::to_string(draw() >> 2) + "\n";
  write_file(place.path("t.csv"), csv);
  write_file(place.path("small.csv"), std::string_view("a\n1\n"));
  const OtherFilesystem disk("tmpfs");
  const auto create = [&](const char* csv_name, const char* out) {
    return b2frame({"create", place.path(csv_name), "-o", disk.path() / out});
  };
  BOOST_TEST_REQUIRE(create("small.csv", "t.b2z").ok());
  const ByteVector before = read_file(disk.path() / "t.b2z");
  // The columns take 4.8 MB, and the file into which they are packed another 4.8 MB.
  for (const std::uint64_t free : {std::uint64_t{2} << 20, std::uint64_t{7} << 20}) {
    disk.fill(free);
    for (const char* out : {"t.b2z", "new.b2z", "new.b2d"}) {
      if (free > (std::uint64_t{4} << 20) && std::string_view(out).ends_with(".b2d")) continue;
      const ProcessResult full = create("t.csv", out);
      BOOST_TEST(full.status == 1, full.description());
      BOOST_TEST(full.err.find(std::string(out) + ": No space left on device") != std::string::npos,
                 full.err);
      std::set<std::string> names;
      for (const auto& entry : fs_std::directory_iterator(disk.path()))
        names.insert(entry.path().filename());
      names.erase("filler");
      BOOST_CHECK(names == std::set<std::string>{"t.b2z"});
      BOOST_CHECK(read_file(disk.path() / "t.b2z") == before);
    }
    disk.make_space();
  }
}

BOOST_AUTO_TEST_CASE(a_killed_run_leaves_no_half_table) {
  const TablePlace place;
  std::string csv = "a,b\n";
  for (int i = 0; i < 200'000; ++i) csv += std::to_string(i) + ",some text that takes room\n";
  write_file(place.path("t.csv"), csv);
  std::mt19937 draw(3);
  for (const char* output : {"t.b2z", "t.b2d"}) {
    const Arguments command{B2FRAME, "create", place.path("t.csv"), "-o", place.path(output)};
    for (int run = 0; run < 12; ++run) {
      {
        Child child(command, place.path("log"));
        child.wait(Seconds{0.001 * static_cast<double>(draw() % 200)});
        child.signal(SIGKILL);
        BOOST_TEST_REQUIRE(child.wait(Seconds{10}));
      }
      if (!fs_std::exists(place.path(output))) continue;
      const ProcessResult verified = b2frame({"verify", place.path(output)});
      BOOST_TEST(verified.ok(), verified.description());
      BOOST_TEST(extracted(place.path(output).string() + ":/_cols/a").size() == 8u * 200'000u);
      fs_std::remove_all(place.path(output));
    }
    // The remains have other names, and do not disturb the next run.
    const ProcessResult made = b2frame({"create", place.path("t.csv"), "-o", place.path(output)});
    BOOST_TEST(made.ok(), made.description());
    BOOST_TEST(extracted(place.path(output).string() + ":/_cols/a").size() == 8u * 200'000u);
    for (const std::string& name : place.names())
      BOOST_TEST((name.starts_with('.') || name.starts_with("t.") || name == "log"), name);
  }
}

BOOST_AUTO_TEST_CASE(refuses_a_file_that_changes_between_its_readings) {
  const TablePlace place;
  std::string row = "1234567,some text that takes room\n", csv = "a,b\n";
  while (csv.size() < (std::size_t{40} << 20)) csv += row;
  struct Change {
    const char* what;
    std::function<void(const fs_std::path&)> make;
  };
  const auto with_last_row = [&](const std::string& last) {
    return [last, size = csv.size() - row.size()](const fs_std::path& path) {
      fs_std::resize_file(path, size);
      std::ofstream(path, std::ios::app) << last;
    };
  };
  const std::vector<Change> changes{
      {"a row less", with_last_row("")},
      {"a longer text", with_last_row("1234567,some text that takes more room\n")},
      {"no number", with_last_row("x234567,some text that takes room\n")},
      {"no value", with_last_row(",some text that takes more of room\n")},
      {"a field more", with_last_row("1234567,some text, that takes room\n")},
      {"half a row", with_last_row("1234567,\"some")}};
  // Returns false if the change came too late, when the command had almost read the file twice.
  const auto was_refused = [&](const Change& change, const char* output) {
    write_file(place.path("t.csv"), csv);
    Child child({B2FRAME, "create", "--clevel", "9", place.path("t.csv"), "-o", place.path(output)},
                place.path("log"));
    // The command creates the output after the first reading.
    while (place.names().size() < 3 && !child.wait(Seconds{0.001})) {
    }
    change.make(place.path("t.csv"));
    BOOST_TEST_REQUIRE(child.wait(Seconds{30}));
    const bool is_made = child.result().ok();
    if (is_made) fs_std::remove_all(place.path(output));
    BOOST_CHECK(place.names() == (std::set<std::string>{"t.csv", "log"}));
    return !is_made;
  };
  for (const Change& change : changes)
    for (const char* output : {"t.b2z", "t.b2d"}) {
      int tries = 1;
      while (!was_refused(change, output) && tries < 10) tries++;
      BOOST_TEST(tries < 10, change.what << " " << output);
    }
}

BOOST_AUTO_TEST_CASE(rows_that_are_appended_meanwhile_are_left_out) {
  const TablePlace place;
  std::string csv = "a,b\n";
  while (csv.size() < (std::size_t{20} << 20)) csv += "1234567,some text that takes room\n";
  write_file(place.path("t.csv"), csv);
  Child child({B2FRAME, "create", place.path("t.csv"), "-o", place.output()}, place.path("log"));
  while (place.names().size() < 3 && !child.wait(Seconds{0.001})) {
  }
  std::ofstream(place.path("t.csv"), std::ios::app) << "no number,no text\n";
  BOOST_TEST(child.wait(Seconds{30}));
  BOOST_TEST(child.result().ok(), child.result().description());
  BOOST_CHECK(place.csv() == csv);
}

BOOST_AUTO_TEST_CASE(refuses_rows_that_are_changed_meanwhile) {
  const TablePlace place;
  std::string csv;
  constexpr int kColumns = 250;  // more than are written at once
  for (int i = 0; i < kColumns; ++i)
    csv += "c" + std::to_string(i) + (i + 1 < kColumns ? "," : "\n");
  const std::size_t first_row = csv.size();
  for (int i = 0; i < 8000 * kColumns; ++i) csv += (i + 1) % kColumns != 0 ? "1," : "1\n";
  write_file(place.path("t.csv"), csv);
  std::string changed = csv.substr(first_row);
  std::replace(changed.begin(), changed.end(), '1', '2');
  Child child({B2FRAME, "create", place.path("t.csv"), "-o", place.output()}, place.path("log"));
  while (place.names().size() < 3 && !child.wait(Seconds{0.001})) {
  }
  std::fstream(place.path("t.csv"), std::ios::in | std::ios::out)
      .seekp(static_cast<std::streamoff>(first_row))
      .write(changed.data(), std::ssize(changed));
  BOOST_TEST(child.wait(Seconds{30}));
  BOOST_TEST(child.result().status == 1, child.result().description());
  const ByteVector log = read_file(place.path("log"));
  const std::string text(log.begin(), log.end());
  BOOST_TEST(text.find("t.csv: changed while it was read") != std::string::npos, text);
  BOOST_TEST(!place.names().contains("t.b2z"));
}

BOOST_AUTO_TEST_CASE(refuses_names_of_columns_that_are_too_long) {
  const TablePlace place;
  BOOST_TEST(place.create(std::string(242, 'n') + "\n1\n").ok());
  for (const std::string& name : {std::string(243, 'n'), std::string(100'000, 'n'), [] {
                                    std::string parts = "p";
                                    for (int i = 0; i < 600; ++i) parts += ".p";
                                    return parts;
                                  }()}) {
    const ProcessResult refused = place.create(name + "\n1\n", {}, "t.csv", "new.b2z");
    BOOST_TEST(refused.status == 1);
    BOOST_CHECK(place.names() == (std::set<std::string>{"t.csv", "t.b2z"}));
  }
}

BOOST_AUTO_TEST_CASE(uses_a_bounded_amount_of_memory,
                     *boost::unit_test::precondition(needs_plain_build)) {
  const TablePlace place;
  std::string csv;
  constexpr int kColumns = 40;
  for (int i = 0; i < kColumns; ++i)
    csv += "c" + std::to_string(i) + (i + 1 < kColumns ? "," : "\n");
  std::string row;
  for (int i = 0; i < kColumns; ++i) row += i + 1 < kColumns ? "7," : "7\n";
  for (int i = 0; i < 600000; ++i) csv += row;
  const ProcessResult result = place.create(csv, {"--threads", "2"});
  BOOST_TEST_REQUIRE(result.ok(), result.description());
  BOOST_TEST(result.usage.ru_maxrss < 256 << 10);
  BOOST_TEST(place.schema().at("n_rows") == 600000);
}

BOOST_AUTO_TEST_CASE(keys_of_columns_are_those_of_python_blosc2) {
  const std::map<std::string, std::string> paths{
      {"a", "a"},         {"a.b", "a/b"},      {"a/b", "a%2Fb"}, {"a%", "a%25"},
      {"a\\.b", "a%2Eb"}, {"a\\\\b", "a%5Cb"}, {"a\\", "a%5C"},  {"\u00e9 x", "\u00e9 x"}};
  for (const auto& [name, path] : paths) BOOST_TEST(frame::column_path(name) == path);
  for (const char* name : {"a", "a b", "a.b", "a/b", "\u00e9", "a,b", "a:b", "100%"})
    BOOST_TEST(!frame::column_name_problem(name), name);
  for (const char* name : {"", ".a", "a.", "a..b", "_a", "a._b", "a\tb", "a\\b", "\xff"})
    BOOST_TEST(frame::column_name_problem(name).has_value(), name);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
