#pragma once
// A quick look at contents that may not be worth a slow codec's time.

#include "codec/bytes.hpp"

namespace bloscfs::codec {

/// True if a sample of the bytes is spread as evenly over all values as chance would have it. That
/// says nothing about repetitions. Short streams never look random.
bool looks_random(Bytes stream);

}  // namespace bloscfs::codec
