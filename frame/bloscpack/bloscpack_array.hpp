#pragma once
// The JSON text with which Bloscpack describes a NumPy array (frame/formats/bloscpack.md,
// "Metadata").

#include <cstdint>
#include <optional>
#include <string>

#include "frame/container/frame_info.hpp"

namespace bloscfs::frame::inline bloscpack {

/// A longer text describes no array whose NPY header could be written.
inline constexpr std::uint32_t kMaxArrayText = 128 << 10;

/// Parses a text of at most kMaxArrayText bytes; nothing if it describes something else. Throws
/// Error(malformed) unless it is JSON, and what it says of an array makes sense.
std::optional<ArrayInfo> parse_array_text(const std::string& text);

}  // namespace bloscfs::frame::inline bloscpack
