#include "frame/python/python_indexes.hpp"

#include <string>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "codec/error.hpp"

using namespace bloscfs::frame;
using bloscfs::codec::Error;
using nlohmann::json;

namespace {

using ByteVector = std::vector<std::uint8_t>;

ByteVector packed(const json& value) { return json::to_msgpack(value); }

json descriptor(bool stale) {
  return {{"kind", "full"}, {"stale", stale}, {"shape", {"__tuple__", 5}}, {"levels", nullptr}};
}

ByteVector schema_of(const json& value) { return packed(value.dump()); }

/// Names of the columns that are stale once `key` changed.
std::string stale_after(const json& columns, const std::string& key) {
  const auto changed = stale_generated_columns(schema_of({{"columns", columns}}), key);
  if (!changed) return {};
  std::string names;
  const json schema = json::parse(json::from_msgpack(*changed).get<std::string>());
  for (const json& column : schema["columns"])
    if (column.value("stale", false)) names += column["name"].get<std::string>();
  return names;
}

json generated(const std::string& name, const std::vector<std::string>& sources) {
  return {{"name", name}, {"col_deps", sources}, {"stale", false}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(python_indexes)

BOOST_AUTO_TEST_CASE(sets_the_flags_of_all_descriptors_and_nothing_else) {
  const json before = {
      {"version", 1},
      {"stale", false},
      {"indexes",
       {{"a", descriptor(false)}, {"b", descriptor(true)}, {"stale", descriptor(false)}}},
      {"other", {{"a", {{"stale", false}}}}}};
  json after = before;
  after["indexes"]["a"]["stale"] = after["indexes"]["stale"]["stale"] = true;
  BOOST_TEST((stale_array_indexes(packed(before)) == packed(after)));
  BOOST_TEST((stale_index_catalog(packed(before["indexes"])) == packed(after["indexes"])));
}

BOOST_AUTO_TEST_CASE(changes_nothing_where_all_is_stale_or_nothing_is_there) {
  BOOST_TEST(!stale_array_indexes(packed({{"indexes", {{"a", descriptor(true)}}}})));
  BOOST_TEST(!stale_array_indexes(packed({{"indexes", json::object()}})));
  BOOST_TEST(!stale_array_indexes(packed(json::object())));
  BOOST_TEST(!stale_index_catalog(packed(json::object())));
}

BOOST_AUTO_TEST_CASE(leaves_flags_deeper_inside_a_descriptor_alone) {
  json inner = descriptor(true);
  inner["levels"] = {{"block", {{"stale", false}}}};
  BOOST_TEST(!stale_index_catalog(packed({{"a", inner}})));
}

BOOST_AUTO_TEST_CASE(refuses_what_is_no_catalog) {
  json unflagged = descriptor(false);
  unflagged.erase("stale");
  for (const json& catalog :
       {json(1), json("a"), json::array(), json{{"a", 1}}, json{{"a", {1, 2}}},
        json{{"a", unflagged}}, json{{"a", {{"stale", 0}}}}, json{{"a", {{"stale", {false}}}}}})
    BOOST_CHECK_THROW(stale_index_catalog(packed(catalog)), Error);
  BOOST_CHECK_THROW(stale_array_indexes(packed({{"indexes", 1}})), Error);
  BOOST_CHECK_THROW(stale_array_indexes(packed({{"indexes", {{"a", 1}}}})), Error);
}

BOOST_AUTO_TEST_CASE(refuses_each_truncation_and_bytes_behind_the_end) {
  ByteVector catalog = packed({{"a", descriptor(false)}});
  for (std::size_t size = 0; size < catalog.size(); size++)
    BOOST_CHECK_THROW(stale_index_catalog({catalog.data(), size}), Error);
  catalog.push_back(0);
  BOOST_CHECK_THROW(stale_index_catalog(catalog), Error);
}

BOOST_AUTO_TEST_CASE(refuses_what_is_nested_deeply_or_large) {
  const ByteVector deep(1 << 20, 0x91);
  BOOST_CHECK_THROW(stale_index_catalog(deep), Error);
  BOOST_CHECK_THROW(stale_index_catalog(ByteVector(kMaxIndexMetadata + 1, 0x80)), Error);
  BOOST_CHECK_THROW(stale_index_catalog(ByteVector{0xdf, 0xff, 0xff, 0xff, 0xff}), Error);
  BOOST_CHECK_THROW(stale_generated_columns(packed("{\"col_deps\":" + std::string(1000, '[')), "a"),
                    Error);
}

BOOST_AUTO_TEST_CASE(refuses_schemas_that_would_take_long) {
  json columns = json::object();
  for (int i = 0; i < 10000; i++) columns["column" + std::to_string(i)] = 0;
  columns["c"] = generated("c", {"a"});
  BOOST_CHECK_THROW(stale_generated_columns(schema_of(columns), "a"), Error);
  const json many = json::array_t(300000, json(0));
  BOOST_CHECK_THROW(
      stale_generated_columns(schema_of({{"x", many}, {"c", generated("c", {"a"})}}), "a"), Error);
}

BOOST_AUTO_TEST_CASE(counts_epochs_from_one_on) {
  BOOST_TEST((next_epoch({}) == packed(1)));
  BOOST_TEST((next_epoch(packed(1)) == packed(2)));
  BOOST_TEST((next_epoch(packed(255)) == packed(256)));
  for (const json& epoch :
       {json(-1), json("1"), json(1.5), json::array({1}), json(std::uint64_t{0xffffffffffffffff})})
    BOOST_CHECK_THROW(next_epoch(packed(epoch)), Error);
}

BOOST_AUTO_TEST_CASE(follows_what_generated_columns_depend_on) {
  const json columns = {generated("c", {"b"}), generated("b", {"a"}), generated("d", {"e"}),
                        json{{"name", "v"}, {"col_deps", {"d"}}}, generated("w", {"v"})};
  BOOST_TEST(stale_after(columns, "a") == "cb");
  BOOST_TEST(stale_after(columns, "b") == "c");
  BOOST_TEST(stale_after(columns, "e") == "dw");
  BOOST_TEST(stale_after(columns, "c").empty());
  BOOST_TEST(stale_after({generated("x", {"y"}), generated("y", {"x"})}, "x") == "xy");
}

BOOST_AUTO_TEST_CASE(knows_the_files_of_a_column_by_their_keys) {
  const json columns = {generated("n", {"a.b"}), generated("q", {"c\\.d"})};
  BOOST_TEST(stale_after(columns, "a/b") == "n");
  BOOST_TEST(stale_after(columns, "a/b.notnull") == "n");
  BOOST_TEST(stale_after(columns, "a/b_dict") == "n");
  BOOST_TEST(stale_after(columns, "c%2Ed") == "q");
  BOOST_TEST(stale_after(columns, "a").empty());
  BOOST_TEST(stale_after(columns, "a/bc").empty());
}

BOOST_AUTO_TEST_CASE(leaves_a_schema_without_such_columns_alone_whatever_it_is) {
  BOOST_TEST(!stale_generated_columns(packed("{ \"columns\" : [] "), "a"));
  BOOST_CHECK_THROW(stale_generated_columns(packed("{\"col_deps\": 1}"), "a"), Error);
  BOOST_CHECK_THROW(stale_generated_columns(packed(1), "a"), Error);
}

BOOST_AUTO_TEST_CASE(recognises_tables) {
  BOOST_TEST(is_table_kind(packed("ctable")));
  BOOST_TEST(!is_table_kind(packed("ntable")));
  BOOST_TEST(!is_table_kind(packed(1)));
  BOOST_CHECK_THROW(is_table_kind(packed(json::object({{"a", 1}}))), Error);
}

BOOST_AUTO_TEST_SUITE_END()
