#pragma once
// Builds XHTML safely. Elements are literals. Texts from files are arguments, which are escaped.

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

namespace bloscfs::tools {

/// Escapes `text` for the contents of elements and for attributes in double quotes. Replaces by
/// U+FFFD: bytes that are not UTF-8, control characters, characters that XML does not allow, and
/// characters that reverse the direction of text.
std::string escaped(std::string_view text);

class Markup {
 public:
  /// Appends a format with arguments. The format can only be a literal. Inserts Markup and numbers
  /// unchanged, and escapes texts.
  template <std::size_t kSize, typename... Parts>
  void add(const char (&format)[kSize], const Parts&... parts) {
    append(std::string_view(format, kSize - 1), prepared(parts)...);
  }
  void add(const Markup& other) { text_ += other.text_; }

  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }

 private:
  template <typename... Prepared>
  void append(std::string_view format, const Prepared&... prepared) {
    fmt::vformat_to(std::back_inserter(text_), format, fmt::make_format_args(prepared...));
  }

  static std::string_view prepared(const Markup& part) { return part.text_; }
  template <typename Text>
  requires std::convertible_to<const Text&, std::string_view>
  static std::string prepared(const Text& part) { return escaped(part); }
  template <typename Number>
  requires std::is_arithmetic_v<Number>
  static Number prepared(Number part) { return part; }

  std::string text_;
};

/// Returns a format with its arguments, as Markup::add() appends it.
template <std::size_t kSize, typename... Parts>
Markup markup(const char (&format)[kSize], const Parts&... parts) {
  Markup made;
  made.add(format, parts...);
  return made;
}

}  // namespace bloscfs::tools
