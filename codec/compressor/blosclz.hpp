#pragma once
// BloscLZ (codec/formats/codecs.md, "BloscLZ").

#include "codec/compressor/compressor.hpp"

namespace bloscfs::codec {

std::unique_ptr<Decompressor> make_blosclz_decompressor();
std::unique_ptr<Compressor> make_blosclz_compressor(int clevel);

}  // namespace bloscfs::codec
