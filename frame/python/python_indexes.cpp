#include "frame/python/python_indexes.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "codec/error.hpp"
#include "frame/python/msgpack_cursor.hpp"

namespace bloscfs::frame::inline python {
namespace {

using codec::throw_malformed;
using nlohmann::ordered_json;

constexpr std::size_t kMaxDepth = 64;
constexpr std::uint8_t kFalse = 0xc2, kTrue = 0xc3;

void check_size(codec::Bytes contents, const char* layer) {
  if (contents.size() > kMaxIndexMetadata)
    throw_malformed(fmt::format("{}: {} bytes > {}", layer, contents.size(), kMaxIndexMetadata));
}

/// Appends the positions of the `stale` flags in a map of descriptors. Each descriptor must be a
/// map with such a flag.
void find_flags(MsgpackCursor& cursor, std::vector<std::size_t>& flags) {
  for (std::size_t left = cursor.read_map(); left > 0; --left) {
    cursor.skip();
    bool has_flag = false;
    for (std::size_t fields = cursor.read_map(); fields > 0; --fields) {
      if (cursor.read_if_text() != "stale") {
        cursor.skip();
        continue;
      }
      flags.push_back(cursor.position());
      if (cursor.take().type != MsgpackValue::Type::boolean)
        throw_malformed("stale is not a boolean");
      has_flag = true;
    }
    if (!has_flag) throw_malformed("a descriptor without the flag stale");
  }
}

void require_end(const MsgpackCursor& cursor, const char* layer) {
  if (!cursor.at_end()) throw_malformed(fmt::format("{}: not one msgpack value", layer));
}

/// Returns the text in `contents`; nullopt if they are another single value.
std::optional<std::string_view> text_value(codec::Bytes contents, const char* layer) {
  check_size(contents, layer);
  MsgpackCursor cursor(contents);
  const MsgpackValue value = cursor.take();
  require_end(cursor, layer);
  if (value.type != MsgpackValue::Type::text && value.type != MsgpackValue::Type::binary)
    return std::nullopt;
  return value.text();
}

// --- the schema of a table

/// Encodes a character of a column's name as python-blosc2 does in the name of a file.
void add_encoded(std::string& key, char c) {
  switch (c) {
    case '%':
      key += "%25";
      break;
    case '/':
      key += "%2F";
      break;
    case '.':
      key += "%2E";
      break;
    case '\\':
      key += "%5C";
      break;
    default:
      key += c;
  }
}

/// Returns the key of a column. Dots divide its name into parts, unless a backslash precedes them.
std::string key_of_column(std::string_view name) {
  std::string key;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '\\' && i + 1 < name.size())
      add_encoded(key, name[++i]);
    else if (name[i] == '.')
      key += '/';
    else
      add_encoded(key, name[i]);
  }
  return key;
}

/// Bounds the cost of parsing a schema, because the parser compares each key with all other keys of
/// its object.
class SchemaBounds {
 public:
  void check(int depth, ordered_json::parse_event_t event) {
    using Event = ordered_json::parse_event_t;
    if (depth > static_cast<int>(kMaxDepth)) throw_malformed("schema: nested too deeply");
    if (event == Event::object_start) keys_.push_back(0);
    if (event == Event::object_end) keys_.pop_back();
    if (event == Event::key) comparisons_ += keys_.back()++;
    if (++events_ > kMaxEvents || comparisons_ > kMaxComparisons)
      throw_malformed("schema: too many values");
  }

 private:
  static constexpr std::uint64_t kMaxEvents = 1 << 18, kMaxComparisons = 1 << 24;

  std::vector<std::uint64_t> keys_;  ///< number of keys in each open object
  std::uint64_t events_ = 0, comparisons_ = 0;
};

ordered_json parse_schema(std::string_view text) {
  SchemaBounds bounds;
  const auto check = [&bounds](int depth, ordered_json::parse_event_t event, ordered_json&) {
    bounds.check(depth, event);
    return true;
  };
  try {
    return ordered_json::parse(text, check);
  } catch (const ordered_json::exception&) {
    throw_malformed("schema: is not JSON");
  }
}

void add_sources(const ordered_json& column, std::vector<std::string>& names) {
  const auto sources = column.find("col_deps");
  if (sources == column.end() || sources->is_null()) return;
  if (!sources->is_array()) throw_malformed("schema: col_deps is not a list");
  for (const ordered_json& source : *sources) {
    if (!source.is_string()) throw_malformed("schema: col_deps is not a list of names");
    names.push_back(source.get<std::string>());
  }
}

}  // namespace

ChangedContents stale_array_indexes(codec::Bytes indexes) {
  check_size(indexes, kArrayIndexesLayer);
  MsgpackCursor cursor(indexes);
  std::vector<std::size_t> flags;
  for (std::size_t left = cursor.read_map(); left > 0; --left) {
    if (cursor.read_if_text() == "indexes")
      find_flags(cursor, flags);
    else
      cursor.skip();
  }
  require_end(cursor, kArrayIndexesLayer);
  ChangedContents changed;
  for (const std::size_t flag : flags) {
    if (indexes[flag] != kFalse) continue;
    if (!changed) changed.emplace(indexes.begin(), indexes.end());
    (*changed)[flag] = kTrue;
  }
  return changed;
}

std::vector<std::string> indexed_columns(codec::Bytes catalog) {
  check_size(catalog, kIndexCatalogLayer);
  MsgpackCursor cursor(catalog);
  std::vector<std::string> columns;
  for (std::size_t left = cursor.read_map(); left > 0; --left) {
    if (const auto column = cursor.read_if_text()) columns.emplace_back(*column);
    cursor.skip();
  }
  require_end(cursor, kIndexCatalogLayer);
  return columns;
}

std::vector<std::string> generating_columns(codec::Bytes schema) {
  const auto text = text_value(schema, kSchemaLayer);
  if (!text) throw_malformed("schema: is not text");
  std::vector<std::string> names;
  // Most tables have no such columns. A schema without them need not even be valid JSON.
  if (text->find("\"col_deps\"") == std::string_view::npos) return names;
  const ordered_json parsed = parse_schema(*text);
  std::vector<const ordered_json*> open{&parsed};
  while (!open.empty()) {
    const ordered_json& value = *open.back();
    open.pop_back();
    if (value.is_object()) add_sources(value, names);
    if (!value.is_structured()) continue;
    for (const ordered_json& item : value) open.push_back(&item);
  }
  return names;
}

bool holds_values_of(std::string_view key, std::string_view column) {
  const std::string own = key_of_column(column);
  if (!key.starts_with(own)) return false;
  const std::string_view rest = key.substr(own.size());
  return rest.empty() || rest == ".utf8" || rest == ".notnull" || rest == "_dict";
}

bool is_table_kind(codec::Bytes kind) { return text_value(kind, kKindLayer) == "ctable"; }

}  // namespace bloscfs::frame::inline python
