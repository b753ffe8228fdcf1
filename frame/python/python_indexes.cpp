#include "frame/python/python_indexes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <msgpack.hpp>
#include <msgpack/null_visitor.hpp>
#include <nlohmann/json.hpp>

#include "codec/error.hpp"

namespace bloscfs::frame {
namespace {

using codec::throw_malformed;
using nlohmann::ordered_json;

constexpr std::size_t kMaxDepth = 64;
constexpr char kFalse = '\xc2', kTrue = '\xc3';

std::string_view text_of(codec::Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void check_size(codec::Bytes contents, const char* layer) {
  if (contents.size() > kMaxIndexMetadata)
    throw_malformed(fmt::format("{}: {} bytes > {}", layer, contents.size(), kMaxIndexMetadata));
}

/// Walks a msgpack value and notes where the flags `stale` of the descriptors stand, which are the
/// values of a map: of the outermost one, or of the one that it has under `member`. Fails, by
/// ending the walk, where a descriptor is no map or has no such flag.
class FlagFinder : public msgpack::null_visitor {
 public:
  explicit FlagFinder(std::string_view member) : member_(member) {}

  /// Where the bytes of the flags are.
  const std::vector<const char*>& flags() const { return flags_; }

  bool visit_nil() { return scalar(); }
  bool visit_positive_integer(std::uint64_t) { return scalar(); }
  bool visit_negative_integer(std::int64_t) { return scalar(); }
  bool visit_float32(float) { return scalar(); }
  bool visit_float64(double) { return scalar(); }
  bool visit_bin(const char*, std::uint32_t) { return scalar(); }
  bool visit_ext(const char*, std::uint32_t) { return scalar(); }
  bool visit_str(const char* text, std::uint32_t size) {
    if (!in_key()) return scalar();
    levels_.back().key = {text, size};
    return true;
  }
  bool visit_boolean(bool) {
    if (!is_flag()) return scalar();
    // The value's one byte follows the key.
    flags_.push_back(levels_.back().key.data() + levels_.back().key.size());
    levels_.back().has_flag = true;
    return true;
  }
  bool start_array(std::uint32_t) { return open(false); }
  bool end_array() { return close(); }
  bool start_map(std::uint32_t) { return open(true); }
  bool start_map_key() {
    levels_.back().in_key = true;
    levels_.back().key = {};
    return true;
  }
  bool end_map_key() {
    levels_.back().in_key = false;
    return true;
  }
  bool end_map() { return close(); }

 private:
  struct Level {
    bool is_map = false;
    bool is_descriptor = false;
    bool has_flag = false;
    bool in_key = false;
    std::string_view key;  ///< of the value that is being visited, in the contents
  };

  bool in_key() const { return !levels_.empty() && levels_.back().in_key; }
  bool is_flag() const {
    return !levels_.empty() && levels_.back().is_descriptor && !in_key() &&
           levels_.back().key == "stale";
  }
  /// True if a map must come next: the outermost one, that of the descriptors, or one of these.
  bool expects_map() const {
    if (levels_.empty()) return true;
    if (in_key()) return false;
    if (member_.empty()) return levels_.size() == 1;
    return levels_.size() <= 2 && levels_.front().key == member_;
  }
  bool expects_descriptor() const {
    return expects_map() && levels_.size() == (member_.empty() ? 1U : 2U);
  }
  bool scalar() const { return in_key() || !(expects_map() || is_flag()); }
  bool open(bool is_map) {
    if (levels_.size() >= kMaxDepth || in_key() || is_flag()) return false;
    if (expects_map() && !is_map) return false;
    levels_.push_back({is_map, expects_descriptor(), false, false, {}});
    return true;
  }
  bool close() {
    const Level& level = levels_.back();
    if (level.is_descriptor && !level.has_flag) return false;
    levels_.pop_back();
    return true;
  }

  const std::string_view member_;
  std::vector<Level> levels_;
  std::vector<const char*> flags_;
};

ChangedContents with_flags_set(codec::Bytes contents, std::string_view member, const char* layer) {
  check_size(contents, layer);
  const std::string_view text = text_of(contents);
  FlagFinder finder(member);
  std::size_t end = 0;
  if (!msgpack::parse(text.data(), text.size(), end, finder) || end != text.size())
    throw_malformed(fmt::format("{}: no descriptors of indexes", layer));
  ChangedContents changed;
  for (const char* flag : finder.flags()) {
    if (*flag != kFalse) continue;
    if (!changed) changed.emplace(contents.begin(), contents.end());
    (*changed)[static_cast<std::size_t>(flag - text.data())] = static_cast<std::uint8_t>(kTrue);
  }
  return changed;
}

/// The one value, which is no container, that `contents` are.
msgpack::object_handle unpack_scalar(codec::Bytes contents, const char* layer) {
  check_size(contents, layer);
  const std::string_view text = text_of(contents);
  try {
    std::size_t end = 0;
    auto value =
        msgpack::unpack(text.data(), text.size(), end, nullptr, nullptr,
                        msgpack::unpack_limit(0, 0, kMaxIndexMetadata, kMaxIndexMetadata, 0, 1));
    if (end == text.size()) return value;
  } catch (const msgpack::unpack_error&) {
    // What it says is of no use to anybody.
  }
  throw_malformed(fmt::format("{}: not one msgpack value", layer));
}

std::optional<std::string> text_value(const msgpack::object& value) {
  if (value.type == msgpack::type::STR) return std::string(value.via.str.ptr, value.via.str.size);
  if (value.type == msgpack::type::BIN) return std::string(value.via.bin.ptr, value.via.bin.size);
  return std::nullopt;
}

std::vector<std::uint8_t> packed_text(const std::string& text) {
  msgpack::sbuffer out;
  msgpack::packer(out).pack(text);
  return {out.data(), out.data() + out.size()};
}

// --- the schema of a table

/// How python-blosc2 encodes a part of a column's name in the name of a file.
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

/// Dots divide a column's name into parts, unless a backslash stands in front of them.
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

/// True if the file with that key holds values of the column: the column itself, its strings, its
/// dictionary, or which of its rows have values.
bool holds_values_of(std::string_view key, std::string_view column) {
  const std::string own = key_of_column(column);
  if (!key.starts_with(own)) return false;
  const std::string_view rest = key.substr(own.size());
  return rest.empty() || rest == ".utf8" || rest == ".notnull" || rest == "_dict";
}

/// A column that is computed from others, and where its flag is if it is stored.
struct ComputedColumn {
  std::string name;
  std::vector<std::string> sources;
  ordered_json* flag = nullptr;
  bool has_changed = false;
};

/// `name` is what the object is called by what contains it.
std::optional<ComputedColumn> computed_column(ordered_json& object, const std::string& name) {
  if (!object.is_object() || !object.contains("col_deps")) return std::nullopt;
  ComputedColumn column{name, {}, nullptr, false};
  if (const auto own = object.find("name"); own != object.end() && own->is_string())
    column.name = own->get<std::string>();
  const ordered_json& sources = object["col_deps"];
  if (!sources.is_array() && !sources.is_null()) throw_malformed("schema: col_deps is no list");
  for (const ordered_json& source : sources) {
    if (!source.is_string()) throw_malformed("schema: col_deps is no list of names");
    column.sources.push_back(source.get<std::string>());
  }
  if (const auto flag = object.find("stale"); flag != object.end()) {
    if (!flag->is_boolean()) throw_malformed("schema: stale is no boolean");
    column.flag = &*flag;
  }
  return column;
}

std::vector<ComputedColumn> computed_columns(ordered_json& schema) {
  std::vector<ComputedColumn> columns;
  std::vector<std::pair<ordered_json*, std::string>> open{{&schema, {}}};
  while (!open.empty()) {
    const auto [value, name] = open.back();
    open.pop_back();
    if (auto column = computed_column(*value, name)) columns.push_back(std::move(*column));
    if (!value->is_structured()) continue;
    for (const auto& item : value->items()) open.emplace_back(&item.value(), item.key());
  }
  return columns;
}

/// Sets those of the columns that are computed from what the file with that key holds, and of those
/// computed from them. True if one was not set before.
bool set_flags(std::vector<ComputedColumn> columns, std::string_view key) {
  std::multimap<std::string_view, ComputedColumn*> dependents;
  std::vector<ComputedColumn*> changed;
  bool is_set = false;
  const auto change = [&](ComputedColumn& column) {
    if (std::exchange(column.has_changed, true)) return;
    changed.push_back(&column);
    if (column.flag == nullptr || column.flag->get<bool>()) return;
    *column.flag = true;
    is_set = true;
  };
  for (ComputedColumn& column : columns)
    for (const std::string& source : column.sources) {
      dependents.emplace(source, &column);
      if (holds_values_of(key, source)) change(column);
    }
  while (!changed.empty()) {
    const auto [begin, end] = dependents.equal_range(changed.back()->name);
    changed.pop_back();
    for (auto dependent = begin; dependent != end; ++dependent) change(*dependent->second);
  }
  return is_set;
}

/// Bounds what parsing a schema costs: a key is compared with all that its object has already.
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

  std::vector<std::uint64_t> keys_;  ///< of the objects around
  std::uint64_t events_ = 0, comparisons_ = 0;
};

ordered_json parse_schema(const std::string& text) {
  SchemaBounds bounds;
  const auto check = [&bounds](int depth, ordered_json::parse_event_t event, ordered_json&) {
    bounds.check(depth, event);
    return true;
  };
  try {
    return ordered_json::parse(text, check);
  } catch (const ordered_json::exception&) {
    throw_malformed("schema: no JSON");
  }
}

}  // namespace

ChangedContents stale_array_indexes(codec::Bytes indexes) {
  return with_flags_set(indexes, "indexes", kArrayIndexesLayer);
}

ChangedContents stale_index_catalog(codec::Bytes catalog) {
  return with_flags_set(catalog, {}, kIndexCatalogLayer);
}

std::vector<std::uint8_t> next_epoch(codec::Bytes epoch) {
  std::uint64_t value = 0;
  if (!epoch.empty()) {
    const auto unpacked = unpack_scalar(epoch, kValueEpochLayer);
    if (unpacked->type != msgpack::type::POSITIVE_INTEGER ||
        unpacked->via.u64 >= std::numeric_limits<std::int64_t>::max())
      throw_malformed("value_epoch: no counter");
    value = unpacked->via.u64;
  }
  msgpack::sbuffer packed;
  msgpack::packer(packed).pack(value + 1);
  std::vector<std::uint8_t> out(packed.size());
  std::memcpy(out.data(), packed.data(), out.size());
  return out;
}

ChangedContents stale_generated_columns(codec::Bytes schema, std::string_view key) {
  const auto unpacked = unpack_scalar(schema, kSchemaLayer);
  const auto text = text_value(*unpacked);
  if (!text) throw_malformed("schema: no text");
  // Most tables have no such columns, and are left as they are to the last space.
  if (text->find("\"col_deps\"") == std::string::npos) return std::nullopt;
  ordered_json parsed = parse_schema(*text);
  if (!set_flags(computed_columns(parsed), key)) return std::nullopt;
  return packed_text(parsed.dump());
}

bool is_table_kind(codec::Bytes kind) {
  return text_value(*unpack_scalar(kind, kKindLayer)) == "ctable";
}

}  // namespace bloscfs::frame
