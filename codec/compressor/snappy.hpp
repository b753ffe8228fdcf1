#pragma once
// Raw Snappy blocks, which only Blosc1 wrote.

#include "codec/compressor/compressor.hpp"

namespace bloscfs::codec {

std::unique_ptr<Decompressor> make_snappy_decompressor();

}  // namespace bloscfs::codec
