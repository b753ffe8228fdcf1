#pragma once
// Python literals as NumPy and Bloscpack store them (dtypes, NPY headers). Parses them into a
// bounded tree, and writes them as repr() does.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bloscfs::frame::inline python {

enum class PythonKind { none, boolean, integer, string, tuple, list, dict };

struct PythonValue {
  PythonKind kind = PythonKind::none;
  std::int64_t integer = 0;        ///< booleans are 0 and 1
  std::string text;                ///< strings, as UTF-8
  std::vector<PythonValue> items;  ///< dicts: key, value, key, value

  static PythonValue make_integer(std::int64_t value);
  static PythonValue make_string(std::string value);
  static PythonValue make_sequence(PythonKind tuple_or_list, std::vector<PythonValue> items);

  bool is_string() const { return kind == PythonKind::string; }
  bool is_integer() const { return kind == PythonKind::integer; }
  bool is_sequence() const { return kind == PythonKind::tuple || kind == PythonKind::list; }
  /// Returns the value of a string key; null if this is not a dict or lacks the key. If a key
  /// occurs several times, the last one counts.
  const PythonValue* find(std::string_view key) const;
};

inline constexpr std::size_t kMaxPythonLiteral = 128U << 10;  ///< bytes of text
inline constexpr int kMaxPythonDepth = 32;
/// Most values in one literal, because each takes far more memory than its text. A structured dtype
/// that fits an NPY header has fewer.
inline constexpr std::size_t kMaxPythonValues = 20'000;

/// Parses one literal: strings with the escapes that repr() writes, decimal integers of 64 bits,
/// True, False, None, tuples, lists and dicts. Returns nullopt for anything else, for text behind
/// the literal, and beyond the bounds above.
std::optional<PythonValue> parse_python_literal(std::string_view text);

/// Returns repr() of the value. Treats characters beyond U+00FF as printable.
std::string python_repr(const PythonValue& value);

}  // namespace bloscfs::frame::inline python
