#include "frame/python/python_indexes.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <msgpack.hpp>
#include <msgpack/null_visitor.hpp>
#include <nlohmann/json.hpp>

#include "codec/error.hpp"

namespace bloscfs::frame::inline python {
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
/// values of the map that the outermost one has under `indexes`. Fails, by ending the walk, where a
/// descriptor is no map or has no such flag.
class FlagFinder : public msgpack::null_visitor {
 public:
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
    return levels_.size() <= 2 && levels_.front().key == "indexes";
  }
  bool expects_descriptor() const { return expects_map() && levels_.size() == 2; }
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

  std::vector<Level> levels_;
  std::vector<const char*> flags_;
};

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

/// Collects the keys of the outermost map of a msgpack value; fails where that is no map.
class KeyFinder : public msgpack::null_visitor {
 public:
  explicit KeyFinder(std::vector<std::string>& keys) : keys_(keys) {}

  bool visit_nil() { return depth_ > 0; }
  bool visit_boolean(bool) { return depth_ > 0; }
  bool visit_positive_integer(std::uint64_t) { return depth_ > 0; }
  bool visit_negative_integer(std::int64_t) { return depth_ > 0; }
  bool visit_float32(float) { return depth_ > 0; }
  bool visit_float64(double) { return depth_ > 0; }
  bool visit_bin(const char*, std::uint32_t) { return depth_ > 0; }
  bool visit_ext(const char*, std::uint32_t) { return depth_ > 0; }
  bool visit_str(const char* text, std::uint32_t size) {
    if (is_key_ && depth_ == 1) keys_.emplace_back(text, size);
    return depth_ > 0;
  }
  bool start_array(std::uint32_t) { return depth_++ > 0 && depth_ <= kMaxDepth; }
  bool end_array() { return depth_-- > 0; }
  bool start_map(std::uint32_t) { return depth_++ < kMaxDepth; }
  bool end_map() { return depth_-- > 0; }
  bool start_map_key() {
    is_key_ = true;
    return true;
  }
  bool end_map_key() {
    is_key_ = false;
    return true;
  }

 private:
  std::vector<std::string>& keys_;
  std::size_t depth_ = 0;
  bool is_key_ = false;
};

void add_sources(const ordered_json& column, std::vector<std::string>& names) {
  const auto sources = column.find("col_deps");
  if (sources == column.end() || sources->is_null()) return;
  if (!sources->is_array()) throw_malformed("schema: col_deps is no list");
  for (const ordered_json& source : *sources) {
    if (!source.is_string()) throw_malformed("schema: col_deps is no list of names");
    names.push_back(source.get<std::string>());
  }
}

}  // namespace

ChangedContents stale_array_indexes(codec::Bytes indexes) {
  check_size(indexes, kArrayIndexesLayer);
  const std::string_view text = text_of(indexes);
  FlagFinder finder;
  std::size_t end = 0;
  if (!msgpack::parse(text.data(), text.size(), end, finder) || end != text.size())
    throw_malformed(fmt::format("{}: no descriptors of indexes", kArrayIndexesLayer));
  ChangedContents changed;
  for (const char* flag : finder.flags()) {
    if (*flag != kFalse) continue;
    if (!changed) changed.emplace(indexes.begin(), indexes.end());
    (*changed)[static_cast<std::size_t>(flag - text.data())] = static_cast<std::uint8_t>(kTrue);
  }
  return changed;
}

std::vector<std::string> indexed_columns(codec::Bytes catalog) {
  check_size(catalog, kIndexCatalogLayer);
  const std::string_view text = text_of(catalog);
  std::vector<std::string> columns;
  KeyFinder finder(columns);
  std::size_t end = 0;
  if (!msgpack::parse(text.data(), text.size(), end, finder) || end != text.size())
    throw_malformed(fmt::format("{}: no map of indexes", kIndexCatalogLayer));
  return columns;
}

std::vector<std::string> generating_columns(codec::Bytes schema) {
  const auto unpacked = unpack_scalar(schema, kSchemaLayer);
  const auto text = text_value(*unpacked);
  if (!text) throw_malformed("schema: no text");
  std::vector<std::string> names;
  // Most tables have no such columns, and a schema without them may be whatever it is.
  if (text->find("\"col_deps\"") == std::string::npos) return names;
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

bool is_table_kind(codec::Bytes kind) {
  return text_value(*unpack_scalar(kind, kKindLayer)) == "ctable";
}

}  // namespace bloscfs::frame::inline python
