#pragma once
// Code points of UTF-8 text, strictly checked.

#include <optional>
#include <string>
#include <string_view>

namespace bloscfs::frame::inline python {

/// Takes the first code point off `rest`, which must not be empty. nullopt, and `rest` unchanged,
/// where the bytes are no well-formed UTF-8 (overlong forms and surrogates included).
std::optional<char32_t> take_code_point(std::string_view& rest);

bool is_utf8(std::string_view text);

/// Appends `code_point` to `text`. False, and `text` unchanged, for surrogates and beyond U+10FFFF.
bool append_utf8(std::string& text, char32_t code_point);

}  // namespace bloscfs::frame::inline python
