#pragma once
// LZ4 and LZ4HC blocks, with the dictionary as a prefix.

#include "codec/compressor/compressor.hpp"

namespace bloscfs::codec {

std::unique_ptr<Decompressor> make_lz4_decompressor();

}  // namespace bloscfs::codec
