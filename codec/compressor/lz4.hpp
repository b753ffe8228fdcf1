#pragma once
// LZ4 and LZ4HC blocks, with the dictionary as a prefix.

#include "codec/compressor/compressor.hpp"

namespace bloscfs::codec {

std::unique_ptr<Decompressor> make_lz4_decompressor();
std::unique_ptr<Compressor> make_lz4_compressor(int clevel);
std::unique_ptr<Compressor> make_lz4hc_compressor(int clevel);

}  // namespace bloscfs::codec
