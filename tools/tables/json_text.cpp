#include "tools/tables/json_text.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "codec/error.hpp"
#include "frame/header/base64.hpp"
#include "frame/python/utf8.hpp"
#include "tools/tables/python_text.hpp"

namespace bloscfs::tools {
namespace {

/// Characters that have a short escape, and the letters of these escapes.
constexpr std::string_view kJsonEscaped = "\"\\\b\f\n\r\t", kJsonEscapes = "\"\\bfnrt";

bool is_plain(char c) {
  const auto code = static_cast<unsigned char>(c);
  return code >= 0x20 && code < 0x80 && c != '"' && c != '\\';
}

void append_unit(std::uint32_t unit, std::string& line) {
  fmt::format_to(std::back_inserter(line), "\\u{:04x}", unit);
}

void append_escaped(char32_t c, std::string& line) {
  if (const std::size_t at = c < 0x80 ? kJsonEscaped.find(static_cast<char>(c)) : kJsonEscaped.npos;
      at != kJsonEscaped.npos) {
    line += '\\';
    line += kJsonEscapes[at];
    return;
  }
  const auto code = static_cast<std::uint32_t>(c);
  if (code < 0x10000) return append_unit(code, line);
  append_unit(0xd800 + ((code - 0x10000) >> 10), line);
  append_unit(0xdc00 + ((code - 0x10000) & 0x3ff), line);
}

template <typename Value>
void append_finite(Value value, std::string& line) {
  if (std::isfinite(value))
    append_python_float(value, line);
  else
    line += "null";
}

}  // namespace

void append_json_text(std::string_view text, std::string& line) {
  line += '"';
  while (!text.empty()) {
    const auto plain = static_cast<std::size_t>(
        std::find_if_not(text.begin(), text.end(), is_plain) - text.begin());
    line += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto c = frame::take_code_point(text);
    if (!c) codec::throw_malformed("a text is not valid UTF-8");
    append_escaped(*c, line);
  }
  line += '"';
}

void append_json_float(float value, std::string& line) { append_finite(value, line); }
void append_json_float(double value, std::string& line) { append_finite(value, line); }

void append_json_binary(codec::Bytes bytes, std::string& line, std::string_view mark) {
  fmt::format_to(std::back_inserter(line), "{{\"{}\":\"{}\"}}", mark, frame::base64(bytes));
}

}  // namespace bloscfs::tools
