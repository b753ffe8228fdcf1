#include "tools/tables/table_schema.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "codec/error.hpp"
#include "frame/header/msgpack_json.hpp"
#include "frame/python/msgpack_cursor.hpp"
#include "fs/view/thread_decoder.hpp"
#include "tools/column_kind.hpp"

namespace bloscfs::tools {
namespace {

using codec::throw_malformed;
using codec::throw_unsupported;
using nlohmann::json;

constexpr std::size_t kMaxSchema = std::size_t{4} << 20;
/// Later versions of python-blosc2 may give other meanings to the same fields.
constexpr std::int64_t kMaxVersion = 3;

/// Turns NaN and infinities into texts. Python's json writes them as these words, which JSON does
/// not have. Leaves the inside of texts unchanged.
std::string with_texts_for_words(std::string_view schema) {
  constexpr std::array<std::string_view, 3> kWords{"NaN", "Infinity", "-Infinity"};
  std::string out;
  out.reserve(schema.size());
  bool in_text = false;
  while (!schema.empty()) {
    const auto word =
        in_text ? kWords.end()
                : std::find_if(kWords.begin(), kWords.end(),
                               [&](std::string_view known) { return schema.starts_with(known); });
    if (word != kWords.end()) {
      out += fmt::format("\"{}\"", *word);
      schema.remove_prefix(word->size());
      continue;
    }
    const bool is_escape = in_text && schema.front() == '\\' && schema.size() > 1;
    if (schema.front() == '"') in_text = !in_text;
    out += schema.substr(0, is_escape ? 2 : 1);
    schema.remove_prefix(is_escape ? 2 : 1);
  }
  return out;
}

const json* field_of(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string text_field(const json& object, const char* name, const std::string& whose) {
  const json* const field = field_of(object, name);
  if (field == nullptr) throw_malformed(fmt::format("{}: has no {}", whose, name));
  if (!field->is_string()) throw_malformed(fmt::format("{}: its {} is not text", whose, name));
  return field->get<std::string>();
}

Nulls nulls_of(const json& column, const ColumnKindRow& kind, const std::string& whose) {
  if (kind.has_native_null) return Nulls::native;
  if (const json* const storage = field_of(column, "null_storage")) {
    if (*storage == "mask") return Nulls::mask;
    if (*storage != "sentinel")
      throw_unsupported(fmt::format("{}: stores absent values as {}", whose, storage->dump()));
  }
  return field_of(column, "null_value") != nullptr ? Nulls::sentinel : Nulls::none;
}

ColumnSchema read_column(json column, std::size_t number) {
  if (!column.is_object())
    throw_malformed(fmt::format("schema: column {} is not an object", number));
  ColumnSchema schema;
  schema.name = text_field(column, "name", fmt::format("schema: column {}", number));
  const std::string whose = "column " + schema.name;
  schema.kind = text_field(column, "kind", whose);
  const ColumnKindRow* const kind = find_column_kind(schema.kind);
  if (kind == nullptr) throw_unsupported(fmt::format("{}: is of the kind {}", whose, schema.kind));
  schema.nulls = nulls_of(column, *kind, whose);
  if (const json* const value = field_of(column, "null_value")) schema.sentinel = *value;
  schema.fields = std::move(column);
  return schema;
}

/// Returns the names from a list of objects with names, or from an object whose keys are names.
std::vector<std::string> names_in(const json& listed) {
  std::vector<std::string> names;
  for (const auto& [key, value] : listed.items()) {
    if (listed.is_object()) {
      names.push_back(key);
    } else if (value.is_object()) {
      if (const json* const name = field_of(value, "name"); name != nullptr && name->is_string())
        names.push_back(name->get<std::string>());
    }
  }
  return names;
}

void check_version(const json& schema) {
  const json* const version = field_of(schema, "version");
  if (version == nullptr) return;
  if (!version->is_number_integer() || *version < 1 || *version > kMaxVersion)
    throw_unsupported(fmt::format("schema: the version {} is not supported", version->dump()));
}

}  // namespace

bool ColumnSchema::is_nullable() const {
  const json* const nullable = field_of(fields, "nullable");
  return nulls == Nulls::sentinel || nulls == Nulls::mask ||
         (nullable != nullptr && *nullable == true);
}

std::string unit_of_time(const ColumnSchema& schema) {
  const json* const unit = field_of(schema.fields, "unit");
  return unit != nullptr && unit->is_string() ? unit->get<std::string>() : "us";
}

TableSchema parse_table_schema(std::string_view text) {
  const std::string words = with_texts_for_words(text);
  auto schema =
      frame::parse_json({reinterpret_cast<const std::uint8_t*>(words.data()), words.size()});
  if (!schema || !schema->is_object()) throw_malformed("schema: is not a JSON object");
  check_version(*schema);
  const auto columns = schema->find("columns");
  if (columns == schema->end() || !columns->is_array())
    throw_malformed("schema: has no list of columns");
  TableSchema table;
  for (json& column : *columns)
    table.columns.push_back(read_column(std::move(column), table.columns.size()));
  if (const json* const computed = field_of(*schema, "computed_columns");
      computed != nullptr && computed->is_structured())
    table.computed = names_in(*computed);
  const std::set<std::string> computed(table.computed.begin(), table.computed.end());
  const auto is_computed = [&](const ColumnSchema& column) {
    return computed.contains(column.name);
  };
  std::erase_if(table.columns, is_computed);
  return table;
}

TableSchema read_table_schema(const frame::Snapshot& meta) {
  for (const frame::MetalayerEntry& layer : meta.vlmetalayers()) {
    if (layer.name != "schema") continue;
    const auto content = meta.read_vlmetalayer(layer, kMaxSchema, fs::thread_decoder());
    const frame::MsgpackValue text = frame::MsgpackCursor(content).take();
    if (text.type != frame::MsgpackValue::Type::text &&
        text.type != frame::MsgpackValue::Type::binary)
      throw_malformed("schema: is not text");
    return parse_table_schema(text.text());
  }
  throw_malformed("the table has no schema");
}

}  // namespace bloscfs::tools
