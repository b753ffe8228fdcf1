#pragma once
// Dictionaries that the streams of one chunk share (codec/formats/chunk.md, "Dictionaries").

#include <cstdint>
#include <vector>

#include "codec/bytes.hpp"
#include "codec/chunk_header.hpp"

namespace bloscfs::codec {

/// Makes a dictionary for a chunk. `filtered` is the chunk's filtered blocks, one after another.
/// Trains a dictionary for Zstandard; takes samples for LZ4. Returns an empty one if the chunk is
/// too small, or if training fails.
std::vector<std::uint8_t> make_dictionary(const ChunkHeader& header, Bytes filtered);

}  // namespace bloscfs::codec
