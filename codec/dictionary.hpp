#pragma once
// Dictionaries that the streams of one chunk share (codec/formats/chunk.md, "Dictionaries").

#include <cstdint>
#include <vector>

#include "codec/bytes.hpp"
#include "codec/chunk_header.hpp"

namespace bloscfs::codec {

/// A dictionary for the chunk whose filtered blocks are `filtered`, one after the other: trained
/// for Zstandard, samples for LZ4. Empty where the chunk is too small for one or training fails.
std::vector<std::uint8_t> make_dictionary(const ChunkHeader& header, Bytes filtered);

}  // namespace bloscfs::codec
