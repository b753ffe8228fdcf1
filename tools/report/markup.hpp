#pragma once
// XHTML that is put together safely: what stands in files comes in as arguments, which are escaped,
// and elements come in as literals.

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

namespace bloscfs::tools {

/// `text` for contents of elements and of attributes in double quotes: what is no UTF-8, or no
/// character of XML, is U+FFFD.
std::string escaped(std::string_view text);

class Markup {
 public:
  /// A format, which can only be a literal, with arguments: Markup is taken as it is, numbers, too,
  /// and texts are escaped.
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

/// One piece, as Markup::add() makes it.
template <std::size_t kSize, typename... Parts>
Markup markup(const char (&format)[kSize], const Parts&... parts) {
  Markup made;
  made.add(format, parts...);
  return made;
}

}  // namespace bloscfs::tools
