#pragma once
// Code points of UTF-8 text, strictly checked.

#include <optional>
#include <string>
#include <string_view>

namespace bloscfs::frame::inline python {

/// Removes the first code point from `rest`, which must not be empty, and returns it. If the bytes
/// are not well-formed UTF-8, returns nullopt and does not change `rest`. Overlong forms and
/// surrogates are not well-formed.
std::optional<char32_t> take_code_point(std::string_view& rest);

bool is_utf8(std::string_view text);

/// Appends `code_point` to `text`. For surrogates and beyond U+10FFFF, returns false and does not
/// change `text`.
bool append_utf8(std::string& text, char32_t code_point);

}  // namespace bloscfs::frame::inline python
