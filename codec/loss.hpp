#pragma once
// How much codecs and filters change contents.

#include <cstdint>
#include <span>

#include "codec/chunk_format.hpp"

namespace bloscfs::codec {

enum class Loss : std::uint8_t {
  none,
  once,        ///< the first encoding cuts off bits; later ones lose no more
  every_time,  ///< each encoding loses more
};

/// Returns the largest loss of the codec and the filters. Unknown ones count as lossless.
Loss loss_of(CodecId codec, std::span<const FilterStep> filters);

}  // namespace bloscfs::codec
