#pragma once
// A quick check whether a slow codec is worth its time.

#include "codec/bytes.hpp"

namespace bloscfs::codec {

/// True if the byte values in a sample are as evenly distributed as random ones. Does not detect
/// repetitions. False for short streams.
bool looks_random(Bytes stream);

}  // namespace bloscfs::codec
