#include "tools/tables/msgpack_text.hpp"

#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "codec/error.hpp"
#include "frame/header/msgpack_json.hpp"
#include "frame/python/msgpack_cursor.hpp"
#include "tools/item_text.hpp"
#include "tools/tables/json_text.hpp"
#include "tools/tables/python_text.hpp"

namespace bloscfs::tools {
namespace {

using frame::MsgpackValue;
using Type = MsgpackValue::Type;

/// Extension types of python-blosc2.
constexpr int kEmbeddedFrame = 42, kReference = 43;

/// Appends a value, with its inner values, in the syntax of Python or JSON. `depth` is the number
/// of values around it.
class ValueWriter {
 public:
  ValueWriter(frame::MsgpackCursor cursor, bool is_json, std::string& line)
      : cursor_(cursor), is_json_(is_json), line_(line) {}

  void value(int depth) { value(cursor_.take(), depth); }

 private:
  void value(const MsgpackValue& value, int depth) {
    if (depth >= frame::kMaxMsgpackDepth)
      codec::throw_malformed(fmt::format("values that nest deeper than {}", depth));
    switch (value.type) {
      case Type::nil:
        line_ += is_json_ ? "null" : "None";
        break;
      case Type::boolean:
        line_ += is_json_ ? value.boolean ? "true" : "false" : value.boolean ? "True" : "False";
        break;
      case Type::integer:
        fmt::format_to(std::back_inserter(line_), "{}", value.integer);
        break;
      case Type::unsigned_integer:
        fmt::format_to(std::back_inserter(line_), "{}", value.unsigned_integer);
        break;
      case Type::floating:
        is_json_ ? append_json_float(value.floating, line_)
                 : append_python_float(value.floating, line_);
        break;
      case Type::text:
        is_json_ ? append_json_text(value.text(), line_) : append_python_repr(value.text(), line_);
        break;
      case Type::binary:
        is_json_ ? append_json_binary(value.content, line_)
                 : append_python_bytes(value.content, line_);
        break;
      case Type::array:
        array(value.size, depth);
        break;
      case Type::map:
        map(value.size, depth);
        break;
      case Type::extension:
        extension(value, depth);
        break;
    }
  }

  /// python-blosc2 stores a tuple as an array with "__tuple__" in front. Takes this mark, if the
  /// array begins with it.
  bool take_tuple_mark(std::size_t size) {
    frame::MsgpackCursor behind = cursor_;
    if (size == 0 || !behind.take().is_text("__tuple__")) return false;
    cursor_ = behind;
    return true;
  }
  void array(std::size_t size, int depth) {
    const bool has_mark = take_tuple_mark(size), is_tuple = has_mark && !is_json_;
    if (has_mark) size--;
    line_ += is_tuple ? '(' : '[';
    for (std::size_t i = 0; i < size; i++) {
      if (i > 0) line_ += is_json_ ? "," : ", ";
      value(depth + 1);
    }
    if (is_tuple && size == 1) line_ += ',';
    line_ += is_tuple ? ')' : ']';
  }

  void map(std::size_t size, int depth) {
    line_ += '{';
    for (std::size_t i = 0; i < size; i++) {
      if (i > 0) line_ += is_json_ ? "," : ", ";
      const MsgpackValue key = cursor_.take();
      if (key.type != Type::text && (is_json_ || key.type != Type::binary))
        codec::throw_unsupported(
            is_json_ ? "a map with keys that are not text, which JSON cannot express"
                     : "a map with keys that are not text");
      value(key, depth);
      line_ += is_json_ ? ":" : ": ";
      value(depth + 1);
    }
    line_ += '}';
  }

  void extension(const MsgpackValue& value, int depth) {
    if (!is_json_)
      codec::throw_unsupported(fmt::format(
          "an object of the extension type {}, which CSV cannot express", value.extension));
    if (value.extension == kEmbeddedFrame)
      return append_json_binary(value.content, line_, "$frame");
    const frame::MsgpackCursor inner(value.content);
    if (value.extension == kReference && frame::MsgpackCursor(inner).take().type == Type::map) {
      line_ += "{\"$ref\":";
      ValueWriter(inner, true, line_).value(depth + 1);
      line_ += '}';
      return;
    }
    fmt::format_to(std::back_inserter(line_), "{{\"$ext\":{},", value.extension);
    std::string binary;
    append_json_binary(value.content, binary);
    line_ += std::string_view(binary).substr(1);
  }

  frame::MsgpackCursor cursor_;
  const bool is_json_;
  std::string& line_;
};

}  // namespace

void append_msgpack_cell(codec::Bytes bytes, std::size_t position, CellStyle style,
                         std::string& line) {
  const frame::MsgpackCursor cursor(bytes, position);
  const MsgpackValue value = frame::MsgpackCursor(cursor).take();
  if (value.type == Type::nil) return append_absent_cell(style, line);
  if (value.type == Type::text) return append_text_cell(value.text(), style, line);
  if (style == CellStyle::json) return ValueWriter(cursor, true, line).value(0);
  std::string text;
  ValueWriter(cursor, style != CellStyle::csv, text).value(0);
  append_text_cell(text, style, line);
}

}  // namespace bloscfs::tools
