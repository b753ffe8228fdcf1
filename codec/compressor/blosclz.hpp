#pragma once
// BloscLZ (codecs.md, section 1).

#include "codec/compressor/compressor.hpp"

namespace bloscfs::codec {

std::unique_ptr<Decompressor> make_blosclz_decompressor();

}  // namespace bloscfs::codec
