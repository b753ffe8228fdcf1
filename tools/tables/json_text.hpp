#pragma once
// Values as JSON writes them, in ASCII.

#include <string>
#include <string_view>

#include "codec/bytes.hpp"

namespace bloscfs::tools {

/// In quotes. Throws Error(malformed) for what is no UTF-8.
void append_json_text(std::string_view text, std::string& line);

/// The shortest digits that read back; null for NaN and infinities, which JSON does not have.
void append_json_float(float value, std::string& line);
void append_json_float(double value, std::string& line);

/// {"$binary": "base64"}, as frame/formats/metalayers.md, "Objects", has it. `mark` takes the place
/// of $binary.
void append_json_binary(codec::Bytes bytes, std::string& line, std::string_view mark = "$binary");

}  // namespace bloscfs::tools
