#pragma once
// NDLZ: repetitions in 2-d blocks of single bytes, found cell by cell (codec/formats/plugins.md).
// The encoder finds cells of one byte and cells that it has stored before; the decoder reads all
// that there is.

#include <string>

#include "codec/compressor/compressor.hpp"

namespace bloscfs::codec {

std::unique_ptr<Decompressor> make_ndlz_decompressor();
std::unique_ptr<Compressor> make_ndlz_compressor(int clevel);

/// What is wrong with writing streams of `size` bytes, in words; empty: nothing.
std::string ndlz_problem(const CodecUse& use, std::int64_t size);

}  // namespace bloscfs::codec
