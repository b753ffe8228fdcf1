#include "tests/tools/table_maker.hpp"

namespace bloscfs::test {
namespace {

using nlohmann::json;

const fs_std::path kStoreData = BLOSCFS_TEST_SOURCE_ROOT "/tests/data/stores";

ByteVector packed(const json& value) { return json::to_msgpack(value); }

}  // namespace

TableMaker::TableMaker() {
  fs_std::create_directories(dir_ / "t.b2d/_cols");
  fs_std::copy(kStoreData / "dict0.b2d/embed.b2e", dir_ / "t.b2d");
}

void TableMaker::declare(const json& column) { columns_.push_back(column); }

void TableMaker::array(const std::string& key, const std::string& items,
                       const std::vector<std::int64_t>& shape, const std::string& dtype,
                       std::size_t itemsize) {
  write_file(dir_ / ("t.b2d/" + key + ".b2nd"),
             array_frame(bytes_of(items), shape, dtype, itemsize));
}

void TableMaker::objects(const std::string& key, const json& values) {
  document(key, packed(values));
}

void TableMaker::document(const std::string& key, const ByteVector& document) {
  Cut cut;
  cut.metalayers = {{"batcharray", packed({{"version", 1}, {"serializer", "msgpack"}})}};
  write_file(dir_ / ("t.b2d/" + key + ".b2f"), flat_frame(document, cut));
}

void TableMaker::finish(const std::string& is_live) {
  finish(is_live, json({{"version", 1}, {"columns", columns_}}).dump());
}

void TableMaker::finish(const std::string& is_live, const std::string& schema) {
  Cut cut;
  cut.vlmetalayers = {{"kind", packed("ctable")}, {"schema", packed(schema)}};
  write_file(dir_ / "t.b2d/_meta.b2f", flat_frame(std::string(), cut));
  array("_valid_rows", is_live, {static_cast<std::int64_t>(is_live.size())}, "|b1", 1);
}

}  // namespace bloscfs::test
