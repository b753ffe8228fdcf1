#pragma once
// What codecs and filters lose of contents.

#include <cstdint>
#include <span>

#include "codec/chunk_format.hpp"

namespace bloscfs::codec {

enum class Loss : std::uint8_t {
  none,
  once,        ///< what it has left of contents it leaves alone: bits that are cut off
  every_time,  ///< the more, the more often contents are encoded
};

/// The larger of what the codec and the filters lose. Unknown ones lose nothing.
Loss loss_of(CodecId codec, std::span<const FilterStep> filters);

}  // namespace bloscfs::codec
