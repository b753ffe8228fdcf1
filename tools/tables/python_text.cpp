#include "tools/tables/python_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "codec/error.hpp"
#include "frame/python/utf8.hpp"

namespace bloscfs::tools {
namespace {

/// Characters that have a short escape, and the letters of these escapes.
constexpr std::string_view kPythonEscaped = "\n\r\t\\", kPythonEscapes = "nrt\\";

/// Code points that repr() escapes, because str.isprintable() is false: control and format
/// characters, spaces, surrogates, private use. Code points that Unicode has not assigned are not
/// in this list.
struct CodeRange {
  char32_t first, last;
};
constexpr std::array<CodeRange, 35> kEscaped{
    {{0x0, 0x1f},        {0x7f, 0xa0},       {0xad, 0xad},        {0x600, 0x605},
     {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},      {0x890, 0x891},
     {0x8e2, 0x8e2},     {0x1680, 0x1680},   {0x180e, 0x180e},    {0x2000, 0x200f},
     {0x2028, 0x202f},   {0x205f, 0x2064},   {0x2066, 0x206f},    {0x3000, 0x3000},
     {0xd800, 0xf8ff},   {0xfeff, 0xfeff},   {0xfff9, 0xfffb},    {0xfffe, 0xffff},
     {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f},  {0x1bca0, 0x1bca3},
     {0x1d173, 0x1d17a}, {0x1fffe, 0x1ffff}, {0x2fffe, 0x2ffff},  {0x3fffe, 0x3ffff},
     {0x4fffe, 0x4ffff}, {0xdfffe, 0xdffff}, {0xe0001, 0xe0001},  {0xe0020, 0xe007f},
     {0xefffe, 0xeffff}, {0xf0000, 0xfffff}, {0x100000, 0x10ffff}}};

bool is_escaped(char32_t c) {
  if (c >= 0x20 && c < 0x7f) return false;
  const auto range = std::lower_bound(kEscaped.begin(), kEscaped.end(), c,
                                      [](const CodeRange& r, char32_t at) { return r.last < at; });
  return range != kEscaped.end() && range->first <= c;
}

template <typename Value>
void append_part(Value value, std::string& line) {
  append_python_float(value, line);
  if (line.ends_with(".0")) line.resize(line.size() - 2);
}

template <typename Value>
void append_pair(Value real, Value imaginary, std::string& line) {
  if (real == 0 && !std::signbit(real)) {
    append_part(imaginary, line);
    line += 'j';
    return;
  }
  line += '(';
  append_part(real, line);
  if (std::isnan(imaginary) || !std::signbit(imaginary)) line += '+';
  append_part(imaginary, line);
  line += "j)";
}

/// Like Python, returns double quotes if the text has single quotes and no double ones.
char quote_for(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  return has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
}

/// If the character has a short escape or is the quote, appends the escape and returns true.
bool append_short_escape(char32_t c, char quote, std::string& line) {
  const std::size_t at = c < 0x80 ? kPythonEscaped.find(static_cast<char>(c)) : kPythonEscaped.npos;
  if (at == kPythonEscaped.npos && c != static_cast<char32_t>(quote)) return false;
  line += '\\';
  line += at == kPythonEscaped.npos ? quote : kPythonEscapes[at];
  return true;
}

}  // namespace

void append_python_float(double value, std::string& line) {
  if (std::isnan(value)) {
    line += "nan";
    return;
  }
  const std::size_t begin = line.size();
  fmt::format_to(std::back_inserter(line), "{}", value);
  if (std::isfinite(value) && line.find_first_of(".e", begin) == std::string::npos) line += ".0";
}

void append_python_float(float value, std::string& line) {
  // The double whose shortest text has the digits of the shortest text of the float.
  double same_digits = value;
  if (std::isfinite(value)) {
    std::array<char, 32> digits{};
    const char* const end = std::to_chars(digits.begin(), digits.end(), value).ptr;
    std::from_chars(digits.begin(), end, same_digits);
  }
  append_python_float(same_digits, line);
}

void append_python_complex(float real, float imaginary, std::string& line) {
  append_pair(real, imaginary, line);
}
void append_python_complex(double real, double imaginary, std::string& line) {
  append_pair(real, imaginary, line);
}

void append_python_repr(std::string_view text, std::string& line) {
  const char quote = quote_for(text);
  line += quote;
  while (!text.empty()) {
    const std::string_view before = text;
    const auto c = frame::take_code_point(text);
    if (!c) codec::throw_malformed("a text is not valid UTF-8");
    if (append_short_escape(*c, quote, line)) continue;
    const auto code = static_cast<std::uint32_t>(*c);
    if (!is_escaped(*c))
      line += before.substr(0, before.size() - text.size());
    else if (code < 0x100)
      fmt::format_to(std::back_inserter(line), "\\x{:02x}", code);
    else if (code < 0x10000)
      fmt::format_to(std::back_inserter(line), "\\u{:04x}", code);
    else
      fmt::format_to(std::back_inserter(line), "\\U{:08x}", code);
  }
  line += quote;
}

void append_python_bytes(codec::Bytes bytes, std::string& line) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const char quote = quote_for(text);
  line += 'b';
  line += quote;
  for (const std::uint8_t c : bytes) {
    if (append_short_escape(c, quote, line)) continue;
    if (c >= 0x20 && c < 0x7f)
      line += static_cast<char>(c);
    else
      fmt::format_to(std::back_inserter(line), "\\x{:02x}", c);
  }
  line += quote;
}

}  // namespace bloscfs::tools
