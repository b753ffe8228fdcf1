#include "tools/item_text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include <fmt/format.h>

#include "codec/error.hpp"
#include "frame/python/utf8.hpp"
#include "tools/date_text.hpp"
#include "tools/item_value.hpp"

namespace bloscfs::tools {
namespace {

using codec::Bytes;

/// Adds ".0" to a number without a fraction, so that it still reads as a floating-point number.
void append_float(std::string_view digits, std::string& line) {
  line += digits;
  if (digits.find_first_not_of("-0123456789") == std::string_view::npos) line += ".0";
}

/// A 16-bit floating-point number.
struct Half {
  std::uint16_t bits;
};

double value_of(Half half) {
  const int exponent = (half.bits >> 10) & 31;
  const double fraction = half.bits & 1023;
  const double size = exponent == 0    ? std::ldexp(fraction, -24)
                      : exponent == 31 ? (fraction == 0 ? INFINITY : NAN)
                                       : std::ldexp(fraction + 1024, exponent - 25);
  return (half.bits & 0x8000U) != 0 ? -size : size;
}

/// True if `parsed` is nearer to `half` than to the neighbours of `half`.
bool reads_back(double parsed, Half half) {
  const auto neighbour = [&](int step) {
    const auto bits = static_cast<std::uint16_t>(half.bits + step);
    return value_of({bits});
  };
  const double value = value_of(half);
  const double distance = std::fabs(parsed - value);
  const double outer = std::fabs(neighbour(1) - value);
  const double inner = (half.bits & 0x7fffU) == 0 ? outer : std::fabs(neighbour(-1) - value);
  return distance < std::min(outer, inner) / 2;
}

/// Appends the shortest text that reads back to the same number. Five digits are always enough.
void append(Half half, std::string& line) {
  const double value = value_of(half);
  if (!std::isfinite(value)) return append_float(fmt::format("{}", value), line);
  constexpr int kMostDigits = 5;
  for (int digits = 1;; digits++) {
    const std::string text = fmt::format("{:.{}g}", value, digits);
    double parsed = 0;
    std::from_chars(text.data(), text.data() + text.size(), parsed);
    if (digits == kMostDigits || reads_back(parsed, half)) return append_float(text, line);
  }
}

template <typename Value>
void append(Value value, std::string& line) {
  if constexpr (std::is_floating_point_v<Value>) {
    std::array<char, 64> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    append_float({digits.data(), static_cast<std::size_t>(end - digits.data())}, line);
  } else {
    fmt::format_to(std::back_inserter(line), "{}", value);
  }
}

template <typename Value>
ItemText number(bool is_big) {
  return [is_big](Bytes item, std::string& line) { append(load_value<Value>(item, is_big), line); };
}

template <typename Part>
ItemText complex_number(bool is_big) {
  return [is_big](Bytes item, std::string& line) {
    append(load_value<Part>(item, is_big), line);
    const std::size_t sign = line.size();
    append(load_value<Part>(item.subspan(sizeof(Part)), is_big), line);
    if (line[sign] != '-') line.insert(sign, 1, '+');
    line += 'j';
  };
}

/// Adds quotes if other programs would otherwise not read the text as one field.
void append_quoted(std::string_view text, TextStyle style, std::string& line) {
  const char* const special = style == TextStyle::csv ? ",\"\r\n" : "\" \t\r\n\v\f#";
  // An empty text between spaces would not be a field.
  const bool is_lost = style == TextStyle::columns && text.empty();
  if (!is_lost && text.find_first_of(special) == std::string_view::npos) {
    line += text;
    return;
  }
  line += '"';
  for (const char c : text) {
    if (c == '"') line += '"';
    line += c;
  }
  line += '"';
}

/// The items are code points of four bytes each. NULs at the end do not belong to the text.
ItemText unicode(bool is_big, TextStyle style) {
  return [is_big, style](Bytes item, std::string& line) {
    std::string text;
    std::size_t size = item.size();
    while (size > 0 && load_value<std::uint32_t>(item.subspan(size - 4), is_big) == 0) size -= 4;
    for (std::size_t at = 0; at < size; at += 4)
      if (!frame::append_utf8(text, load_value<std::uint32_t>(item.subspan(at), is_big)))
        codec::throw_malformed("a text has an invalid character");
    append_quoted(text, style, line);
  };
}

ItemText bytes(TextStyle style) {
  return [style](Bytes item, std::string& line) {
    std::string_view text(reinterpret_cast<const char*>(item.data()), item.size());
    while (text.ends_with('\0')) text.remove_suffix(1);
    append_quoted(text, style, line);
  };
}

ItemText boolean(TextStyle style) {
  const std::array<const char*, 2> words =
      style == TextStyle::csv ? std::array{"False", "True"} : std::array{"0", "1"};
  return [words](Bytes item, std::string& line) { line += words.at(item[0] != 0 ? 1 : 0); };
}

using Make = ItemText (*)(bool is_big);
struct NumberRow {
  std::string_view type;
  Make make;
};
static_assert(sizeof(long double) == 16);
constexpr std::array<NumberRow, 15> kNumbers{{{"i1", number<std::int8_t>},
                                              {"i2", number<std::int16_t>},
                                              {"i4", number<std::int32_t>},
                                              {"i8", number<std::int64_t>},
                                              {"u1", number<std::uint8_t>},
                                              {"u2", number<std::uint16_t>},
                                              {"u4", number<std::uint32_t>},
                                              {"u8", number<std::uint64_t>},
                                              {"f2", number<Half>},
                                              {"f4", number<float>},
                                              {"f8", number<double>},
                                              {"f16", number<long double>},
                                              {"c8", complex_number<float>},
                                              {"c16", complex_number<double>},
                                              {"c32", complex_number<long double>}}};

ItemText date(std::string_view type, bool is_big) {
  const bool is_span = type.front() == 'm';
  if (is_span)
    return [is_big](Bytes item, std::string& line) {
      const auto value = load_value<std::int64_t>(item, is_big);
      line += value == kNoTime ? "NaT" : std::to_string(value);
    };
  const auto unit = parse_date_unit(type.substr(2));
  if (!unit) return nullptr;
  return [is_big, unit = *unit](Bytes item, std::string& line) {
    line += date_text(load_value<std::int64_t>(item, is_big), unit);
  };
}

}  // namespace

ItemText item_text(const std::string& dtype, TextStyle style) {
  if (dtype.size() < 2 || dtype.front() == '[' || dtype.front() == '{') return nullptr;
  const bool is_big = dtype.front() == '>';
  const std::string_view type = std::string_view(dtype).substr(1);
  for (const NumberRow& row : kNumbers)
    if (row.type == type) return row.make(is_big);
  if (type == "b1") return boolean(style);
  if (type.starts_with("M8") || type.starts_with("m8")) return date(type, is_big);
  if (type.starts_with('U')) return unicode(is_big, style);
  if (type.starts_with('S')) return bytes(style);
  return nullptr;
}

void append_csv(std::string_view text, std::string& line) {
  append_quoted(text, TextStyle::csv, line);
}

void append_columns(std::string_view text, std::string& line) {
  append_quoted(text, TextStyle::columns, line);
}

}  // namespace bloscfs::tools
