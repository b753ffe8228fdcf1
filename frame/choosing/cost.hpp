#pragma once
// The time that settings cost. The costs come from a table, not from a clock, so that the same data
// get the same settings everywhere.

#include <cstdint>
#include <optional>
#include <string_view>

#include "codec/encode_settings.hpp"

namespace bloscfs::frame::inline choosing {

/// The user's aim for the settings of a frame.
enum class Goal : std::uint8_t { ratio, balanced, speed };

inline constexpr Goal kGoals[] = {Goal::ratio, Goal::balanced, Goal::speed};

const char* goal_name(Goal goal);

/// Returns the nanoseconds of encoding and decoding a byte, roughly, on one processor of 2020.
double time_cost(const codec::EncodeSettings& settings);

/// Returns how bad settings are that store `stored` bytes (above 0) for each byte of contents.
/// Lower is better. Twice the time has to save a fraction that depends on the goal: half a percent
/// for ratio, 8 % for balanced, 40 % for speed.
double penalty(Goal goal, const codec::EncodeSettings& settings, double stored);

}  // namespace bloscfs::frame::inline choosing
