#include "fs/support/printable.hpp"

#include <fmt/core.h>

#include "frame/python/utf8.hpp"

namespace bloscfs::fs {
namespace {

/// Includes the characters that change the direction of text: they can make a name look like
/// another.
bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::string_view before = text;
    const std::optional<char32_t> c = frame::take_code_point(text);
    if (c && !is_control(*c)) {
      out += before.substr(0, before.size() - text.size());
    } else if (c == U'\n') {
      out += "\\n";
    } else {
      out += fmt::format("\\x{:02x}",
                         c ? static_cast<unsigned>(*c) : static_cast<unsigned char>(before[0]));
      // take_code_point() does not remove an invalid byte.
      if (!c) text.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace bloscfs::fs
