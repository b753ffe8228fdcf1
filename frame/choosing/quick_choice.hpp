#pragma once
// Settings for contents that are just being written, at a small part of what writing them takes.

#include <cstdint>
#include <functional>
#include <optional>

#include "codec/bytes.hpp"
#include "codec/encode_settings.hpp"
#include "frame/choosing/cost.hpp"

namespace bloscfs::frame {

/// Gives the bytes of contents from `offset` on. May throw.
using ReadContents = std::function<void(std::int64_t offset, codec::MutableBytes out)>;

/// Whether that takes but a small part of the time of writing so many bytes: at most about a tenth.
bool is_worth_choosing(std::int64_t size, Goal goal);

/// What is best for contents of `size` bytes, by 32 to 128 KiB of their first 8 MiB; `typesize` is
/// that of the items, or 0 where nobody knows: 1, 2, 4 and 8 are tried. Levels are those that suit
/// blocks of 32 KiB. The same contents give the same settings. Nothing where samples say nothing,
/// as those of zeros.
std::optional<codec::EncodeSettings> choose_quickly(const ReadContents& read, std::int64_t size,
                                                    std::int32_t typesize, Goal goal);

/// For what was not looked at.
codec::EncodeSettings usual_settings(Goal goal, std::int32_t typesize);

}  // namespace bloscfs::frame
