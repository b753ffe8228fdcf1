#pragma once
// zlib streams (RFC 1950), by libdeflate where the build has it.

#include "codec/compressor/compressor.hpp"

namespace bloscfs::codec {

std::unique_ptr<Decompressor> make_zlib_decompressor();
std::unique_ptr<Compressor> make_zlib_compressor(int clevel);

}  // namespace bloscfs::codec
