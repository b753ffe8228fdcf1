#include "frame/python/python_literal.hpp"

#include <charconv>
#include <utility>

#include "frame/python/utf8.hpp"

namespace bloscfs::frame::inline python {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  std::optional<PythonValue> parse_all() {
    std::optional<PythonValue> value = parse_value(0);
    skip_blanks();
    if (!value || !rest_.empty()) return std::nullopt;
    return value;
  }

 private:
  std::optional<PythonValue> parse_value(int depth);
  std::optional<PythonValue> parse_string();
  bool parse_escape(std::string& out);
  std::optional<char32_t> parse_hex(std::size_t digits);
  std::optional<PythonValue> parse_integer();
  std::optional<PythonValue> parse_word();
  std::optional<PythonValue> parse_sequence(char close, PythonKind kind, int depth);
  std::optional<PythonValue> parse_dict(int depth);

  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }
  bool accept(char c) {
    skip_blanks();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string_view rest_;
  std::size_t values_ = 0;
};

std::optional<PythonValue> Parser::parse_value(int depth) {
  if (depth > kMaxPythonDepth || ++values_ > kMaxPythonValues) return std::nullopt;
  skip_blanks();
  if (rest_.empty()) return std::nullopt;
  switch (rest_[0]) {
    case '\'':
    case '"':
      return parse_string();
    case '(':
      rest_.remove_prefix(1);
      return parse_sequence(')', PythonKind::tuple, depth);
    case '[':
      rest_.remove_prefix(1);
      return parse_sequence(']', PythonKind::list, depth);
    case '{':
      rest_.remove_prefix(1);
      return parse_dict(depth);
    case 'T':
    case 'F':
    case 'N':
      return parse_word();
    default:
      return parse_integer();
  }
}

std::optional<PythonValue> Parser::parse_string() {
  const char quote = rest_[0];
  rest_.remove_prefix(1);
  std::string out;
  while (!rest_.empty()) {
    const char c = rest_[0];
    rest_.remove_prefix(1);
    if (c == quote) return PythonValue::make_string(std::move(out));
    if (c == '\n' || c == '\r') return std::nullopt;
    if (c != '\\') {
      out.push_back(c);
    } else if (!parse_escape(out)) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

bool Parser::parse_escape(std::string& out) {
  if (rest_.empty()) return false;
  const char c = rest_[0];
  rest_.remove_prefix(1);
  std::size_t digits = 0;
  switch (c) {
    case '\\':
    case '\'':
    case '"':
      out.push_back(c);
      return true;
    case 'n':
      out.push_back('\n');
      return true;
    case 'r':
      out.push_back('\r');
      return true;
    case 't':
      out.push_back('\t');
      return true;
    case 'x':
      digits = 2;
      break;
    case 'u':
      digits = 4;
      break;
    case 'U':
      digits = 8;
      break;
    default:
      return false;
  }
  const std::optional<char32_t> code_point = parse_hex(digits);
  return code_point && append_utf8(out, *code_point);
}

std::optional<char32_t> Parser::parse_hex(std::size_t digits) {
  if (rest_.size() < digits) return std::nullopt;
  std::uint32_t value = 0;
  const char* end = rest_.data() + digits;
  const std::from_chars_result result = std::from_chars(rest_.data(), end, value, 16);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  rest_.remove_prefix(digits);
  return static_cast<char32_t>(value);
}

std::optional<PythonValue> Parser::parse_integer() {
  std::int64_t value = 0;
  const char* begin = rest_.data();
  const std::from_chars_result result = std::from_chars(begin, begin + rest_.size(), value);
  if (result.ec != std::errc()) return std::nullopt;
  rest_.remove_prefix(static_cast<std::size_t>(result.ptr - begin));
  return PythonValue::make_integer(value);
}

std::optional<PythonValue> Parser::parse_word() {
  PythonValue value;
  std::size_t length = 4;
  if (rest_.starts_with("True")) {
    value.kind = PythonKind::boolean;
    value.integer = 1;
  } else if (rest_.starts_with("False")) {
    value.kind = PythonKind::boolean;
    length = 5;
  } else if (!rest_.starts_with("None")) {
    return std::nullopt;
  }
  rest_.remove_prefix(length);
  return value;
}

std::optional<PythonValue> Parser::parse_sequence(char close, PythonKind kind, int depth) {
  std::vector<PythonValue> items;
  bool comma = true;
  bool any_comma = false;
  while (!accept(close)) {
    if (!comma) return std::nullopt;
    std::optional<PythonValue> item = parse_value(depth + 1);
    if (!item) return std::nullopt;
    items.push_back(std::move(*item));
    comma = accept(',');
    any_comma = any_comma || comma;
  }
  // (x) is x in parentheses. Only a comma makes it a tuple.
  if (kind == PythonKind::tuple && items.size() == 1 && !any_comma) return std::move(items[0]);
  return PythonValue::make_sequence(kind, std::move(items));
}

std::optional<PythonValue> Parser::parse_dict(int depth) {
  PythonValue dict;
  dict.kind = PythonKind::dict;
  bool comma = true;
  while (!accept('}')) {
    if (!comma) return std::nullopt;
    std::optional<PythonValue> key = parse_value(depth + 1);
    if (!key || !accept(':')) return std::nullopt;
    std::optional<PythonValue> value = parse_value(depth + 1);
    if (!value) return std::nullopt;
    dict.items.push_back(std::move(*key));
    dict.items.push_back(std::move(*value));
    comma = accept(',');
  }
  return dict;
}

void append_escaped(std::string& out, char32_t c, char quote) {
  static constexpr char kHex[] = "0123456789abcdef";
  if (c == U'\\' || c == static_cast<char32_t>(quote)) {
    out.push_back('\\');
    out.push_back(static_cast<char>(c));
  } else if (c == U'\n') {
    out += "\\n";
  } else if (c == U'\r') {
    out += "\\r";
  } else if (c == U'\t') {
    out += "\\t";
  } else if (c < 0x20 || (c >= 0x7F && c <= 0xA0) || c == 0xAD) {
    out += "\\x";
    out.push_back(kHex[c >> 4]);
    out.push_back(kHex[c & 0xF]);
  } else {
    append_utf8(out, c);
  }
}

std::string repr_of_string(std::string_view text) {
  const bool double_quotes =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = double_quotes ? '"' : '\'';
  std::string out(1, quote);
  while (!text.empty()) {
    const std::optional<char32_t> c = take_code_point(text);
    if (!c) break;
    append_escaped(out, *c, quote);
  }
  out.push_back(quote);
  return out;
}

std::string repr_of_items(const PythonValue& value, const char* open, const char* close) {
  const bool dict = value.kind == PythonKind::dict;
  std::string out = open;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    if (i != 0) out += dict && i % 2 != 0 ? ": " : ", ";
    out += python_repr(value.items[i]);
  }
  if (value.kind == PythonKind::tuple && value.items.size() == 1) out += ",";
  return out + close;
}

}  // namespace

PythonValue PythonValue::make_integer(std::int64_t value) {
  PythonValue out;
  out.kind = PythonKind::integer;
  out.integer = value;
  return out;
}

PythonValue PythonValue::make_string(std::string value) {
  PythonValue out;
  out.kind = PythonKind::string;
  out.text = std::move(value);
  return out;
}

PythonValue PythonValue::make_sequence(PythonKind tuple_or_list, std::vector<PythonValue> items) {
  PythonValue out;
  out.kind = tuple_or_list;
  out.items = std::move(items);
  return out;
}

const PythonValue* PythonValue::find(std::string_view key) const {
  const PythonValue* found = nullptr;
  if (kind != PythonKind::dict) return found;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].is_string() && items[i].text == key) found = &items[i + 1];
  }
  return found;
}

std::optional<PythonValue> parse_python_literal(std::string_view text) {
  if (text.size() > kMaxPythonLiteral || !is_utf8(text)) return std::nullopt;
  return Parser(text).parse_all();
}

std::string python_repr(const PythonValue& value) {
  switch (value.kind) {
    case PythonKind::none:
      return "None";
    case PythonKind::boolean:
      return value.integer != 0 ? "True" : "False";
    case PythonKind::integer:
      return std::to_string(value.integer);
    case PythonKind::string:
      return repr_of_string(value.text);
    case PythonKind::tuple:
      return repr_of_items(value, "(", ")");
    case PythonKind::list:
      return repr_of_items(value, "[", "]");
    case PythonKind::dict:
      return repr_of_items(value, "{", "}");
  }
  return {};
}

}  // namespace bloscfs::frame::inline python
