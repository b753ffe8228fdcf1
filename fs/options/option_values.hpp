#pragma once
// Parses the values of options of programs and mounts: numbers, sizes, codecs, filters. Pure
// functions, which return nullopt for a text that they do not understand.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "codec/chunk_format.hpp"
#include "frame/choosing/cost.hpp"

namespace bloscfs::fs {

using FilterSteps = std::array<codec::FilterStep, codec::kFilterSlots>;

/// Parses a 64-bit decimal integer, with or without a minus sign.
std::optional<std::int64_t> parse_integer(std::string_view text);

/// Parses a number below 2^63, which has decimal digits only.
std::optional<std::int64_t> parse_number(std::string_view text);

/// Parses a number of bytes, or of KiB, MiB, GiB or TiB if K, M, G or T follows it.
std::optional<std::int64_t> parse_size(std::string_view text);

/// Parses a number of seconds, or of minutes, hours or days if m, h or d follows it. An s may
/// follow seconds. Returns seconds.
std::optional<std::int64_t> parse_seconds(std::string_view text);

/// A codec that bloscfs can write, and its parameter.
struct CodecChoice {
  codec::CodecId id = codec::CodecId::zstd;
  std::uint8_t meta = 0;
  bool operator==(const CodecChoice&) const = default;
};

/// Parses the name of a codec, with :META after it if the codec has a parameter. :META may be left
/// out if the codec has a usual parameter.
std::optional<CodecChoice> parse_codec(std::string_view text);

/// Parses "auto:ratio", "auto:balanced" or "auto:speed". "auto" alone means "auto:balanced".
std::optional<frame::Goal> parse_goal(std::string_view text);

/// Parses "none", or up to six filters that bloscfs can write, in the order in which they are
/// applied. Names are separated by + or commas, and each may have :META after it, from -128 to 255.
/// As in C-Blosc2, the filters fill the last slots.
std::optional<FilterSteps> parse_filters(std::string_view text);

}  // namespace bloscfs::fs
