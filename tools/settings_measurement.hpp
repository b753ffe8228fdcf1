#pragma once
// Measures what settings do to samples: the sizes, and the speeds of one thread.

#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "codec/bytes.hpp"
#include "codec/encode_settings.hpp"

namespace bloscfs::tools {

struct MeasuredSettings {
  codec::EncodeSettings settings;
  double ratio = 0;       ///< contents divided by stored bytes
  double encode = 0;      ///< MB of contents per second of processor time
  double decode = 0;      ///< MB of contents per second of processor time
  bool on_front = false;  ///< no other settings are as good in all three, and better in one
};

/// Encodes and decodes pieces with all settings, in round-robin order, so that a temporary slowdown
/// affects all of them. Uses all processors, and measures the time of each thread. After
/// `deadline`, begins no piece, except the first one with the first settings. Leaves out settings
/// that have encoded no piece by then. Throws Error if a piece does not decode to its original
/// contents.
std::vector<MeasuredSettings> measure_settings(std::span<const codec::Bytes> pieces,
                                               std::span<const codec::EncodeSettings> settings,
                                               std::chrono::steady_clock::time_point deadline);

}  // namespace bloscfs::tools
