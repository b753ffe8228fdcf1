#pragma once
// The extended attributes that a container's header and metalayers give (design: Extended
// attributes): user.blosc2.NAME, user.blosc2.meta.NAME and user.blosc2.vlmeta.NAME.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frame/snapshot.hpp"

namespace bloscfs::fs {

inline constexpr std::string_view kAttributePrefix = "user.blosc2.";
inline constexpr std::string_view kMetaPrefix = "user.blosc2.meta.";
inline constexpr std::string_view kVlmetaPrefix = "user.blosc2.vlmeta.";
/// Contents beyond this are not listed and cannot be read.
inline constexpr std::size_t kMaxAttributeSize = 64U << 10;

/// Full names of all attributes that can be read. Metalayers whose names make no attribute name
/// (empty, or more than 255 bytes in full) are left out.
std::vector<std::string> list_attributes(const frame::Snapshot& snapshot);

/// The value of an attribute by its full name; nullopt if there is none of that name. Throws
/// std::system_error: E2BIG for contents over 64 KiB, codec::Error where a metalayer is damaged.
std::optional<std::vector<std::uint8_t>> read_attribute(const frame::Snapshot& snapshot,
                                                        std::string_view name,
                                                        codec::BlockDecoder& decoder);

/// True for extended attributes of the name spaces that a mount has; others are EOPNOTSUPP.
bool is_in_shown_space(std::string_view name);

}  // namespace bloscfs::fs
