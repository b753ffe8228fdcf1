#pragma once
// Zstandard frames, with trained and raw dictionaries.

#include "codec/compressor/compressor.hpp"

namespace bloscfs::codec {

std::unique_ptr<Decompressor> make_zstd_decompressor();

}  // namespace bloscfs::codec
