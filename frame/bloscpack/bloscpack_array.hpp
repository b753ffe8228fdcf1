#pragma once
// Parses the JSON text in which Bloscpack describes a NumPy array (frame/formats/bloscpack.md,
// "Metadata").

#include <cstdint>
#include <optional>
#include <string>

#include "frame/container/frame_info.hpp"

namespace bloscfs::frame::inline bloscpack {

/// Most bytes of a text. The NPY header of an array with a longer description could not be written.
inline constexpr std::uint32_t kMaxArrayText = 128 << 10;

/// Parses a text of at most kMaxArrayText bytes. Returns nullopt if it describes something else.
/// Throws Error(malformed) unless it is JSON with a consistent description.
std::optional<ArrayInfo> parse_array_text(const std::string& text);

}  // namespace bloscfs::frame::inline bloscpack
