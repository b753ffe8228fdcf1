#include "frame/header/msgpack_json.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frame/header/base64.hpp"

namespace bloscfs::frame::inline header {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

json hex_object(codec::Bytes bytes) {
  return {{"hex", fmt::format("{:02x}", fmt::join(bytes.begin(), bytes.end(), ""))}};
}

/// Builds the tree of one value and stops the parser at the limits. The parser recurses for each
/// level, and trusts the lengths in the input.
class TreeBuilder : public nlohmann::json_sax<json> {
 public:
  /// `depth` and `values` count the levels and values around the parsed value.
  explicit TreeBuilder(Marks marks, std::size_t depth = 0, int values = 0)
      : marks_(marks), depth_(depth), values_(values) {}

  json take() { return std::move(root_); }
  int values() const { return values_; }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& value) override {
    return add(marks_ == Marks::hex ? in_hex(value) : in_base64(value));
  }
  bool start_object(std::size_t /*size*/) override { return open(json::object()); }
  bool start_array(std::size_t /*size*/) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    keys_.back() = std::move(value);
    return true;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

 private:
  /// Extension types of python-blosc2.
  static constexpr int kEmbeddedFrame = 42, kReference = 43;

  static int type_of(const binary_t& value) { return static_cast<std::int8_t>(value.subtype()); }

  static json in_hex(const binary_t& value) {
    json shown = hex_object(value);
    if (value.has_subtype()) shown["ext"] = type_of(value);
    return shown;
  }
  json in_base64(const binary_t& value) {
    if (!value.has_subtype()) return {{"$binary", base64(value)}};
    const int type = type_of(value);
    if (type == kEmbeddedFrame) return {{"$frame", base64(value)}};
    if (type == kReference)
      if (auto map = inner_map(value)) return {{"$ref", *std::move(map)}};
    return {{"$ext", type}, {"$binary", base64(value)}};
  }
  /// Returns the msgpack map in an extension; nullopt if it holds none. Counts its values and
  /// levels against the same limits.
  std::optional<json> inner_map(const binary_t& value) {
    const std::size_t depth = depth_ + open_.size() + 1;
    if (depth >= kMaxMsgpackDepth) return std::nullopt;
    TreeBuilder inner(marks_, depth, values_);
    const bool is_value =
        json::sax_parse(value.begin(), value.end(), &inner, json::input_format_t::msgpack);
    values_ = inner.values();
    return is_value && inner.root_.is_object() ? std::optional(inner.take()) : std::nullopt;
  }

  /// Puts a value into the innermost open array or object. Returns where it is.
  json* place(json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& parent = *open_.back();
    if (parent.is_object()) return &(parent[keys_.back()] = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }
  bool add(json value) {
    place(std::move(value));
    return ++values_ <= kMaxMsgpackValues;
  }
  bool open(json empty) {
    if (depth_ + open_.size() >= kMaxMsgpackDepth) return false;
    open_.push_back(place(std::move(empty)));
    keys_.emplace_back();
    return ++values_ <= kMaxMsgpackValues;
  }
  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  const Marks marks_;
  const std::size_t depth_;
  json root_;
  std::vector<json*> open_;  ///< parents of the next value; pointers stay valid while children grow
  std::vector<std::string> keys_;
  int values_;
};

/// Throws std::runtime_error for an integer that has more than 64 bits. The parser would round it.
class IntegerCheck final : public TreeBuilder {
 public:
  IntegerCheck() : TreeBuilder(Marks::hex) {}
  bool number_float(number_float_t /*value*/, const string_t& text) override {
    if (text.find_first_of(".eE") == std::string::npos)
      throw std::runtime_error("integers have at most 64 bits: " + text);
    return null();
  }
};

/// True for objects that stand for a value without a JSON form: hex_object(), with or without a
/// type.
bool is_mark(const ordered_json& value) {
  const auto hex = value.find("hex");
  if (hex == value.end() || !hex->is_string()) return false;
  return value.size() == 1 || (value.size() == 2 && value.contains("ext"));
}

void check_has_no_marks(const ordered_json& value) {
  if (value.is_object() && is_mark(value))
    throw std::runtime_error("an object of hex stands for bytes, which JSON does not have");
  if (value.is_structured())
    for (const ordered_json& inner : value) check_has_no_marks(inner);
}

std::optional<json> parse(codec::Bytes bytes, json::input_format_t format, Marks marks) {
  TreeBuilder builder(marks);
  if (!json::sax_parse(bytes.begin(), bytes.end(), &builder, format)) return std::nullopt;
  return builder.take();
}

bool is_printable_text(codec::Bytes bytes) {
  const auto is_control = [](std::uint8_t c) {
    return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
  };
  if (std::any_of(bytes.begin(), bytes.end(), is_control)) return false;
  try {
    static_cast<void>(json(std::string(bytes.begin(), bytes.end())).dump());  // checks UTF-8
    return true;
  } catch (const json::type_error&) {
    return false;
  }
}

}  // namespace

std::optional<json> msgpack_to_json(codec::Bytes bytes, Marks marks) {
  return parse(bytes, json::input_format_t::msgpack, marks);
}

std::optional<json> parse_json(codec::Bytes text) {
  return parse(text, json::input_format_t::json, Marks::hex);
}

json metalayer_to_json(codec::Bytes bytes) {
  if (auto decoded = msgpack_to_json(bytes)) return *std::move(decoded);
  if (is_printable_text(bytes)) return std::string(bytes.begin(), bytes.end());
  return hex_object(bytes);
}

std::vector<std::uint8_t> json_to_msgpack(codec::Bytes text) {
  using Event = ordered_json::parse_event_t;
  const auto check_depth = [](int depth, Event event, ordered_json&) {
    const bool opens = event == Event::object_start || event == Event::array_start;
    if (opens && depth >= kMaxMsgpackDepth) throw std::runtime_error("JSON is nested too deeply");
    return true;
  };
  IntegerCheck integers;
  // Without its result: the parser below has the better message for text that is not JSON.
  static_cast<void>(json::sax_parse(text.begin(), text.end(), &integers));
  try {
    const ordered_json value = ordered_json::parse(text.begin(), text.end(), check_depth);
    check_has_no_marks(value);
    return ordered_json::to_msgpack(value);
  } catch (const ordered_json::exception& error) {
    const std::string_view message = error.what();  // "[json.exception.parse_error.101] parse ..."
    throw std::runtime_error(std::string(message.substr(message.find("] ") + 2)));
  }
}

std::string to_line(const json& value) {
  return value.dump(-1, ' ', true, json::error_handler_t::replace);
}

}  // namespace bloscfs::frame::inline header
