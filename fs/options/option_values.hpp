#pragma once
// What options of programs and mounts spell: numbers, sizes, codecs, filters. Pure.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "codec/chunk_format.hpp"
#include "frame/choosing/cost.hpp"

namespace bloscfs::fs {

using FilterSteps = std::array<codec::FilterStep, codec::kFilterSlots>;

/// An integer of 64 bits in decimal digits, with or without a minus sign.
std::optional<std::int64_t> parse_integer(std::string_view text);

/// A number of nothing but decimal digits, below 2^63.
std::optional<std::int64_t> parse_number(std::string_view text);

/// The same in bytes, or with K, M, G or T behind it in KiB, MiB, GiB or TiB.
std::optional<std::int64_t> parse_size(std::string_view text);

/// Seconds as a number of decimal digits, or a number with s, m, h or d behind it: seconds,
/// minutes, hours, days.
std::optional<std::int64_t> parse_seconds(std::string_view text);

/// A codec that we write, and what it is to be used with.
struct CodecChoice {
  codec::CodecId id = codec::CodecId::zstd;
  std::uint8_t meta = 0;
  bool operator==(const CodecChoice&) const = default;
};

/// One by its name, with :META behind it where it has a parameter; that can be left out where the
/// codec has a usual one.
std::optional<CodecChoice> parse_codec(std::string_view text);

/// What "auto:ratio", "auto:balanced", "auto:speed", or "auto" for the second of them, ask for.
std::optional<frame::Goal> parse_goal(std::string_view text);

/// Up to six filters that we write, in the order in which they are applied: names, each with :META,
/// -128 to 255, or without, with + or commas between them; or "none". They end up in the last
/// slots, as C-Blosc2 puts them.
std::optional<FilterSteps> parse_filters(std::string_view text);

}  // namespace bloscfs::fs
