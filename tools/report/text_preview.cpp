#include "tools/report/text_preview.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <system_error>

#include "frame/python/utf8.hpp"
#include "fs/view/file_view.hpp"
#include "tools/report/words.hpp"
#include "tools/view_output.hpp"

namespace bloscfs::tools {
namespace {

constexpr int kPreviewLines = 30;
/// Most bytes that can be missing from a character if a text is cut.
constexpr std::size_t kCutCharacter = 3;

/// Returns the first bytes; none on an error.
std::string first_bytes(const Input& input) {
  try {
    const auto bytes = contents_at(input, 0, kTextStart);
    return {bytes.begin(), bytes.end()};
  } catch (const std::system_error&) {
    return {};
  }
}

bool is_printable(char32_t c) {
  if (c < 0x20) return c == '\t' || c == '\n' || c == '\r';
  return c < 0x7f || c > 0x9f;
}

/// Returns the characters at the beginning of `bytes`; none if one of them is not printable. If
/// `is_cut` is true, more bytes follow, so the last character may be incomplete.
std::string_view printable_part(std::string_view bytes, bool is_cut) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const auto c = frame::take_code_point(rest);
    if (!c)
      return is_cut && rest.size() <= kCutCharacter ? bytes.substr(0, bytes.size() - rest.size())
                                                    : std::string_view();
    if (!is_printable(*c)) return {};
  }
  return bytes;
}

/// Returns the first lines. Each ends with a newline, without a carriage return.
std::string first_lines(std::string_view text) {
  std::string lines;
  for (int i = 0; i < kPreviewLines && !text.empty(); i++) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    lines += line.substr(0, line.find_last_not_of('\r') + 1);
    lines += '\n';
  }
  return lines;
}

}  // namespace

Markup text_preview(const Input& input) {
  if (input.info().array) return {};
  const std::int64_t all = fs::view_shape(input.info(), true).content_size;
  const std::string bytes = first_bytes(input);
  const std::string_view text = printable_part(bytes, all > kTextStart);
  if (text.empty()) return {};
  const bool is_whole =
      all <= kTextStart && std::count(text.begin(), text.end(), '\n') <= kPreviewLines;
  return markup(
      "<h3>The text</h3>\n<p>{}:</p>\n<pre class=\"scroll text\" tabindex=\"0\" role=\"region\" "
      "aria-label=\"The text\"><code>{}{}</code></pre>\n",
      is_whole ? "All of it" : "It begins with", first_lines(text), is_whole ? "" : "\u2026");
}

}  // namespace bloscfs::tools
