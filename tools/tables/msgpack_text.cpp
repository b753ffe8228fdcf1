#include "tools/tables/msgpack_text.hpp"

#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "codec/error.hpp"
#include "frame/header/msgpack_json.hpp"
#include "tools/item_text.hpp"
#include "tools/tables/json_text.hpp"
#include "tools/tables/msgpack_token.hpp"
#include "tools/tables/python_text.hpp"

namespace bloscfs::tools {
namespace {

using codec::Bytes;
using Type = MsgpackToken::Type;

constexpr std::string_view kTuple = "__tuple__";

std::string_view text_of(const MsgpackToken& token) {
  return {reinterpret_cast<const char*>(token.content.data()), token.content.size()};
}

/// Appends one value and what is in it; `depth` is the number of values around it.
class ValueWriter {
 public:
  ValueWriter(Bytes bytes, std::size_t position, std::string& line)
      : bytes_(bytes), position_(position), line_(line) {}
  virtual ~ValueWriter() = default;
  ValueWriter(const ValueWriter&) = delete;
  ValueWriter& operator=(const ValueWriter&) = delete;

  void value(int depth) { value(take(), depth); }

 protected:
  MsgpackToken take() { return take_msgpack_token(bytes_, position_); }
  std::string& line() { return line_; }

  void value(const MsgpackToken& token, int depth) {
    if (depth >= frame::kMaxMsgpackDepth)
      codec::throw_malformed(fmt::format("values that nest deeper than {}", depth));
    switch (token.type) {
      case Type::integer:
        number(token.integer);
        break;
      case Type::unsigned_integer:
        number(token.unsigned_integer);
        break;
      case Type::array:
        array(token.size, depth);
        break;
      case Type::map:
        map(token.size, depth);
        break;
      default:
        scalar(token, depth);
        break;
    }
  }
  /// Takes the mark of a tuple, which is the first value of an array, if it is there.
  bool take_tuple_mark(std::size_t size) {
    if (size == 0) return false;
    const std::size_t before = position_;
    const MsgpackToken first = take();
    if (first.type == Type::text && text_of(first) == kTuple) return true;
    position_ = before;
    return false;
  }
  void values(std::size_t count, std::string_view separator, int depth) {
    for (std::size_t i = 0; i < count; i++) {
      if (i > 0) line_ += separator;
      value(depth + 1);
    }
  }
  void pairs(std::size_t count, std::string_view separator, std::string_view colon, int depth) {
    for (std::size_t i = 0; i < count; i++) {
      if (i > 0) line_ += separator;
      key(take(), depth);
      line_ += colon;
      value(depth + 1);
    }
  }

 private:
  virtual void scalar(const MsgpackToken& token, int depth) = 0;
  virtual void array(std::size_t size, int depth) = 0;
  virtual void map(std::size_t size, int depth) = 0;
  virtual void key(const MsgpackToken& token, int depth) = 0;

  template <typename Number>
  void number(Number value) {
    fmt::format_to(std::back_inserter(line_), "{}", value);
  }

  Bytes bytes_;
  std::size_t position_;
  std::string& line_;
};

class PythonWriter final : public ValueWriter {
 public:
  using ValueWriter::ValueWriter;

 private:
  void scalar(const MsgpackToken& token, int /*depth*/) override {
    switch (token.type) {
      case Type::boolean:
        line() += token.boolean ? "True" : "False";
        break;
      case Type::floating:
        append_python_float(token.floating, line());
        break;
      case Type::text:
        append_python_repr(text_of(token), line());
        break;
      case Type::binary:
        append_python_bytes(token.content, line());
        break;
      case Type::extension:
        codec::throw_unsupported(fmt::format(
            "an object of the extension type {}, which CSV cannot express", token.extension));
      default:
        line() += "None";
        break;
    }
  }
  void array(std::size_t size, int depth) override {
    const bool is_tuple = take_tuple_mark(size);
    if (is_tuple) size--;
    line() += is_tuple ? '(' : '[';
    values(size, ", ", depth);
    if (is_tuple && size == 1) line() += ',';
    line() += is_tuple ? ')' : ']';
  }
  void map(std::size_t size, int depth) override {
    line() += '{';
    pairs(size, ", ", ": ", depth);
    line() += '}';
  }
  void key(const MsgpackToken& token, int depth) override {
    if (token.type != Type::text && token.type != Type::binary)
      codec::throw_unsupported("a map whose keys are no texts");
    scalar(token, depth);
  }
};

class JsonWriter final : public ValueWriter {
 public:
  using ValueWriter::ValueWriter;

 private:
  /// Extensions of python-blosc2.
  static constexpr int kEmbeddedFrame = 42, kReference = 43;

  void scalar(const MsgpackToken& token, int depth) override {
    switch (token.type) {
      case Type::boolean:
        line() += token.boolean ? "true" : "false";
        break;
      case Type::floating:
        append_json_float(token.floating, line());
        break;
      case Type::text:
        append_json_text(text_of(token), line());
        break;
      case Type::binary:
        append_json_binary(token.content, line());
        break;
      case Type::extension:
        extension(token, depth);
        break;
      default:
        line() += "null";
        break;
    }
  }
  void extension(const MsgpackToken& token, int depth) {
    if (token.extension == kEmbeddedFrame)
      return append_json_binary(token.content, line(), "$frame");
    std::size_t begin = 0;
    if (token.extension == kReference &&
        take_msgpack_token(token.content, begin).type == Type::map) {
      line() += "{\"$ref\":";
      JsonWriter(token.content, 0, line()).value(depth + 1);
      line() += '}';
      return;
    }
    fmt::format_to(std::back_inserter(line()), "{{\"$ext\":{},", token.extension);
    std::string binary;
    append_json_binary(token.content, binary);
    line() += std::string_view(binary).substr(1);
  }
  void array(std::size_t size, int depth) override {
    if (take_tuple_mark(size)) size--;
    line() += '[';
    values(size, ",", depth);
    line() += ']';
  }
  void map(std::size_t size, int depth) override {
    line() += '{';
    pairs(size, ",", ":", depth);
    line() += '}';
  }
  void key(const MsgpackToken& token, int depth) override {
    if (token.type != Type::text)
      codec::throw_unsupported("a map whose keys are no texts, which JSON cannot express");
    scalar(token, depth);
  }
};

}  // namespace

void append_msgpack_cell(Bytes bytes, std::size_t position, CellStyle style, std::string& line) {
  std::size_t behind = position;
  const MsgpackToken token = take_msgpack_token(bytes, behind);
  if (token.type == Type::nil) return append_absent_cell(style, line);
  if (token.type == Type::text) return append_text_cell(text_of(token), style, line);
  if (style == CellStyle::json) return JsonWriter(bytes, position, line).value(0);
  std::string text;
  if (style == CellStyle::csv)
    PythonWriter(bytes, position, text).value(0);
  else
    JsonWriter(bytes, position, text).value(0);
  append_text_cell(text, style, line);
}

bool is_msgpack_nil(Bytes bytes, std::size_t position) {
  return take_msgpack_token(bytes, position).type == Type::nil;
}

}  // namespace bloscfs::tools
