#include "tools/tables/cell_text.hpp"

#include <algorithm>

#include "codec/error.hpp"
#include "frame/python/utf8.hpp"
#include "tools/item_text.hpp"
#include "tools/tables/json_text.hpp"

namespace bloscfs::tools {
namespace {

/// An absent value in the styles `json` and `text`. In the style `text`, a text with these letters
/// gets quotes.
constexpr std::string_view kNull = "null";
constexpr std::string_view kAbsentMark = "\\N", kEmptyMark = "\\E";

void require_utf8(std::string_view text) {
  const auto is_ascii = [](char c) { return (static_cast<unsigned char>(c) & 0x80U) == 0; };
  if (std::all_of(text.begin(), text.end(), is_ascii)) return;
  if (!frame::is_utf8(text)) codec::throw_malformed("a text is not valid UTF-8");
}

}  // namespace

void append_text_cell(std::string_view text, CellStyle style, std::string& line) {
  switch (style) {
    case CellStyle::csv:
      require_utf8(text);
      append_csv(text, line);
      break;
    case CellStyle::json:
      append_json_text(text, line);
      break;
    case CellStyle::text:
      require_utf8(text);
      if (text == kNull)
        line += "\"null\"";
      else
        append_columns(text, line);
      break;
  }
}

void append_absent_cell(CellStyle style, std::string& line, bool is_marked) {
  line += style != CellStyle::csv ? kNull : is_marked ? kAbsentMark : "";
}

void append_marked_text(std::string_view text, std::string& line) {
  if (text.empty()) {
    line += kEmptyMark;
  } else if (looks_marked(text)) {
    line += '\\';
    line += text;
  } else {
    append_text_cell(text, CellStyle::csv, line);
  }
}

bool looks_marked(std::string_view text) {
  const std::size_t letter = text.find_first_not_of('\\');
  if (letter == 0 || letter == std::string_view::npos) return false;
  const std::string_view rest = text.substr(letter);
  return rest == "N" || rest == "E";
}

std::optional<std::string_view> unmarked_text(std::string_view field) {
  if (field.empty() || field == kAbsentMark) return std::nullopt;
  if (field == kEmptyMark) return "";
  return looks_marked(field) ? field.substr(1) : field;
}

}  // namespace bloscfs::tools
