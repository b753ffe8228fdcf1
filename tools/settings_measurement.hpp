#pragma once
// What settings do to samples: sizes, and speeds of a thread.

#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "codec/bytes.hpp"
#include "codec/encode_settings.hpp"

namespace bloscfs::tools {

struct MeasuredSettings {
  codec::EncodeSettings settings;
  double ratio = 0;       ///< contents to stored bytes
  double encode = 0;      ///< MB of contents per second of processor time
  double decode = 0;      ///< the same
  bool on_front = false;  ///< none of the others is better in all three
};

/// Encodes and decodes pieces with all settings in turn, so that what slows one down for a while
/// slows all of them. All processors are used; what is timed is each thread's own time. After
/// `deadline` no piece is begun, but for the first one with the first settings; others that have
/// not had one then are left out. Throws Error where something does not decode to what it was.
std::vector<MeasuredSettings> measure_settings(std::span<const codec::Bytes> pieces,
                                               std::span<const codec::EncodeSettings> settings,
                                               std::chrono::steady_clock::time_point deadline);

}  // namespace bloscfs::tools
