#include "fs/numpy/numpy_scalar.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>

namespace bloscfs::fs {
namespace {

struct Spelling {
  std::string_view name;
  std::string_view type;  ///< kind and size
};

/// One-letter codes, which may follow a byte order.
constexpr Spelling kLetters[] = {
    {"?", "b1"}, {"b", "i1"}, {"B", "u1"},  {"h", "i2"}, {"H", "u2"},  {"i", "i4"},  {"I", "u4"},
    {"l", "i8"}, {"L", "u8"}, {"q", "i8"},  {"Q", "u8"}, {"p", "i8"},  {"P", "u8"},  {"e", "f2"},
    {"f", "f4"}, {"d", "f8"}, {"g", "f16"}, {"F", "c8"}, {"D", "c16"}, {"G", "c32"}, {"c", "S1"},
    {"S", "S0"}, {"a", "S0"}, {"U", "U0"},  {"V", "V0"}, {"M", "M8"},  {"m", "m8"},
};

/// Names. They always mean the machine's byte order.
constexpr Spelling kNames[] = {
    {"bool", "b1"},         {"bool_", "b1"},         {"bool8", "b1"},        {"int8", "i1"},
    {"int16", "i2"},        {"int32", "i4"},         {"int64", "i8"},        {"uint8", "u1"},
    {"uint16", "u2"},       {"uint32", "u4"},        {"uint64", "u8"},       {"float16", "f2"},
    {"float32", "f4"},      {"float64", "f8"},       {"float128", "f16"},    {"complex64", "c8"},
    {"complex128", "c16"},  {"complex256", "c32"},   {"byte", "i1"},         {"ubyte", "u1"},
    {"short", "i2"},        {"ushort", "u2"},        {"intc", "i4"},         {"uintc", "u4"},
    {"int", "i8"},          {"int_", "i8"},          {"uint", "u8"},         {"long", "i8"},
    {"ulong", "u8"},        {"longlong", "i8"},      {"ulonglong", "u8"},    {"intp", "i8"},
    {"uintp", "u8"},        {"half", "f2"},          {"single", "f4"},       {"double", "f8"},
    {"float", "f8"},        {"float_", "f8"},        {"longdouble", "f16"},  {"longfloat", "f16"},
    {"csingle", "c8"},      {"singlecomplex", "c8"}, {"cdouble", "c16"},     {"cfloat", "c16"},
    {"complex", "c16"},     {"complex_", "c16"},     {"clongdouble", "c32"}, {"clongfloat", "c32"},
    {"longcomplex", "c32"}, {"str", "U0"},           {"str_", "U0"},         {"unicode", "U0"},
    {"unicode_", "U0"},     {"bytes", "S0"},         {"bytes_", "S0"},       {"string_", "S0"},
    {"void", "V0"},
};

/// Kinds with their smallest and largest sizes. All powers of two between these exist.
struct NumberKind {
  char kind;
  int smallest, largest;
};
constexpr NumberKind kNumbers[] = {
    {'b', 1, 1}, {'i', 1, 8}, {'u', 1, 8}, {'f', 2, 16}, {'c', 8, 32}};

constexpr std::string_view kDateUnits[] = {"Y",  "M",  "W",  "D",  "h",  "m",  "s",
                                           "ms", "us", "ns", "ps", "fs", "as", "generic"};

template <std::size_t N>
std::string_view find_spelling(const Spelling (&table)[N], std::string_view name) {
  const auto* found = std::find_if(std::begin(table), std::end(table),
                                   [&](const Spelling& entry) { return entry.name == name; });
  return found != std::end(table) ? found->type : std::string_view();
}

/// Accepts decimal digits only, and values of at most 2^31 - 1.
std::optional<std::int64_t> parse_count(std::string_view digits) {
  std::uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  const std::from_chars_result result = std::from_chars(digits.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || value > std::uint64_t{kNumpyMaxItemsize})
    return std::nullopt;
  return static_cast<std::int64_t>(value);
}

/// Returns the canonical spelling of the unit behind M8 or m8, such as "[25us]".
std::optional<std::string> parse_date_unit(std::string_view text) {
  if (text.empty()) return std::string();
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view unit = text.substr(digits);
  if (std::find(std::begin(kDateUnits), std::end(kDateUnits), unit) == std::end(kDateUnits))
    return std::nullopt;
  std::int64_t count = 1;
  if (digits > 0) {
    const std::optional<std::int64_t> parsed = parse_count(text.substr(0, digits));
    if (!parsed) return std::nullopt;
    count = *parsed;
  }
  if (unit == "generic") return count == 1 ? std::optional<std::string>("") : std::nullopt;
  return '[' + (count == 1 ? std::string() : std::to_string(count)) + std::string(unit) + ']';
}

std::optional<NumpyScalar> parse_date(char order, std::string_view type) {
  if (!type.substr(1).starts_with('8')) return std::nullopt;
  const std::optional<std::string> unit = parse_date_unit(type.substr(2));
  if (!unit) return std::nullopt;
  return NumpyScalar{8, 8, std::string{order, type[0], '8'} + *unit};
}

/// Parses a text (S, U) or plain bytes (V), and the count behind it. A character of U has 4 bytes.
std::optional<NumpyScalar> parse_flexible(char order, char kind, std::string_view digits) {
  const std::optional<std::int64_t> count = parse_count(digits);
  const std::int64_t width = kind == 'U' ? 4 : 1;
  if (!count || *count > kNumpyMaxItemsize / width) return std::nullopt;
  const std::string text = std::string{kind == 'U' ? order : '|', kind} + std::to_string(*count);
  return NumpyScalar{*count * width, width, text};
}

/// Parses a number or bool, and its size in bytes.
std::optional<NumpyScalar> parse_sized(char order, char kind, std::string_view digits) {
  const auto* number = std::find_if(std::begin(kNumbers), std::end(kNumbers),
                                    [&](const NumberKind& entry) { return entry.kind == kind; });
  const std::optional<std::int64_t> size = parse_count(digits);
  if (number == std::end(kNumbers) || !size || *size < number->smallest ||
      *size > number->largest || (*size & (*size - 1)) != 0)
    return std::nullopt;
  const std::int64_t alignment = kind == 'c' ? *size / 2 : *size;
  const std::string text = std::string{*size == 1 ? '|' : order, kind} + std::to_string(*size);
  return NumpyScalar{*size, alignment, text};
}

/// Parses a kind and the size or unit behind it: "f8", "S5", "M8[ns]".
std::optional<NumpyScalar> parse_type(char order, std::string_view type) {
  if (type.size() < 2) return std::nullopt;
  switch (type[0]) {
    case 'M':
    case 'm':
      return parse_date(order, type);
    case 'S':
    case 'U':
    case 'V':
      return parse_flexible(order, type[0], type.substr(1));
    case 'a':
      return parse_flexible(order, 'S', type.substr(1));
    default:
      return parse_sized(order, type[0], type.substr(1));
  }
}

}  // namespace

std::optional<NumpyScalar> parse_numpy_scalar(std::string_view text) {
  if (const std::string_view type = find_spelling(kNames, text); !type.empty())
    return parse_type('<', type);
  char order = '<';
  if (!text.empty() && std::string_view("<>=|").find(text[0]) != std::string_view::npos) {
    if (text[0] == '>') order = '>';
    text.remove_prefix(1);
  }
  for (const std::string_view date : {"datetime64", "timedelta64"}) {
    if (!text.starts_with(date)) continue;
    const std::optional<std::string> unit = parse_date_unit(text.substr(date.size()));
    if (!unit) return std::nullopt;
    return NumpyScalar{8, 8, std::string{order, date[0] == 'd' ? 'M' : 'm', '8'} + *unit};
  }
  const std::string_view letter = find_spelling(kLetters, text);
  return parse_type(order, letter.empty() ? text : letter);
}

}  // namespace bloscfs::fs
