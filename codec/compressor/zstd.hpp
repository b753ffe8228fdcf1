#pragma once
// Zstandard frames, with trained and raw dictionaries.

#include "codec/compressor/compressor.hpp"

namespace bloscfs::codec {

std::unique_ptr<Decompressor> make_zstd_decompressor();
std::unique_ptr<Compressor> make_zstd_compressor(int clevel);

}  // namespace bloscfs::codec
