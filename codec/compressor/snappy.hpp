#pragma once
// Raw Snappy blocks, which only Blosc1 has written.

#include "codec/compressor/compressor.hpp"

namespace bloscfs::codec {

std::unique_ptr<Decompressor> make_snappy_decompressor();

}  // namespace bloscfs::codec
