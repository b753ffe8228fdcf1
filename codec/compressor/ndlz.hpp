#pragma once
// NDLZ: finds repetitions in 2-d blocks of single bytes, cell by cell (codec/formats/plugins.md).
// The encoder finds cells of one byte value, and cells that it has stored before. The decoder reads
// all kinds of cells.

#include <string>

#include "codec/compressor/compressor.hpp"

namespace bloscfs::codec {

std::unique_ptr<Decompressor> make_ndlz_decompressor();
std::unique_ptr<Compressor> make_ndlz_compressor(int clevel);

/// Returns why streams of `size` bytes cannot be written, as text; empty if they can.
std::string ndlz_problem(const CodecUse& use, std::int64_t size);

}  // namespace bloscfs::codec
