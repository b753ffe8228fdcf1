#include "tools/report/markup.hpp"

#include "frame/python/utf8.hpp"

namespace bloscfs::tools {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

/// True for the characters of XML 1.0, production 2, except control characters and those that
/// reverse the direction of text. The latter could make one name look like another.
bool is_shown(char32_t point) {
  if (point == U'\t' || point == U'\n') return true;
  if (point < 0x20 || (point >= 0x7f && point < 0xa0)) return false;
  if ((point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069)) return false;
  return point != 0xfffe && point != 0xffff;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::string_view before = text;
    const auto point = frame::take_code_point(text);
    if (!point) {
      text.remove_prefix(1);
      out += kReplacement;
    } else if (*point == U'<') {
      out += "&lt;";
    } else if (*point == U'>') {
      out += "&gt;";
    } else if (*point == U'&') {
      out += "&amp;";
    } else if (*point == U'"') {
      out += "&quot;";
    } else if (*point == U'\'') {
      out += "&#39;";
    } else if (is_shown(*point)) {
      out += before.substr(0, before.size() - text.size());
    } else {
      out += kReplacement;
    }
  }
  return out;
}

}  // namespace bloscfs::tools
