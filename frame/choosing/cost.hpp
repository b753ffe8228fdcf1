#pragma once
// What settings cost in time, from a table and not from a clock, so that the same data get the same
// settings everywhere.

#include <cstdint>
#include <optional>
#include <string_view>

#include "codec/encode_settings.hpp"

namespace bloscfs::frame::inline choosing {

/// What is wanted of the settings of a frame.
enum class Goal : std::uint8_t { ratio, balanced, speed };

inline constexpr Goal kGoals[] = {Goal::ratio, Goal::balanced, Goal::speed};

const char* goal_name(Goal goal);

/// Nanoseconds that encoding and decoding a byte take together, about, on one processor of 2020.
double time_cost(const codec::EncodeSettings& settings);

/// How good settings are that store `stored` bytes for each byte of contents (above 0): the less
/// the better. Twice the time has to make contents smaller by a part that the goal has: half a
/// percent for ratio, 8 % for balanced, 40 % for speed.
double penalty(Goal goal, const codec::EncodeSettings& settings, double stored);

}  // namespace bloscfs::frame::inline choosing
