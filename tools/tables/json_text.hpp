#pragma once
// Writes values as JSON, in ASCII.

#include <string>
#include <string_view>

#include "codec/bytes.hpp"

namespace bloscfs::tools {

/// Appends a text in quotes. Throws Error(malformed) if it is not UTF-8.
void append_json_text(std::string_view text, std::string& line);

/// Appends the fewest digits that read back to the same number. Appends null for NaN and
/// infinities, which JSON does not have.
void append_json_float(float value, std::string& line);
void append_json_float(double value, std::string& line);

/// Appends {"$binary": "base64"}, as in frame/formats/metalayers.md, "Objects". `mark` replaces
/// $binary.
void append_json_binary(codec::Bytes bytes, std::string& line, std::string_view mark = "$binary");

}  // namespace bloscfs::tools
