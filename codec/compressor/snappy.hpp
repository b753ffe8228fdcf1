#pragma once
// Raw Snappy blocks, which only Blosc1 wrote.

#include "codec/compressor/compressor.hpp"

namespace bloscfs::codec {

std::unique_ptr<Decompressor> make_snappy_decompressor();
/// Where files can be opened no more afterwards. Throws std::runtime_error.
void load_snappy();

}  // namespace bloscfs::codec
