#pragma once
// Chunk files that a sparse frame no longer has any use for.

#include <cstdint>
#include <vector>

#include "codec/block_decoder.hpp"
#include "frame/container/snapshot.hpp"

namespace bloscfs::frame::inline sframe {

/// Those of `numbers` that no entry of the index of `snapshot`, a sparse frame's, names. Reads all
/// of the index.
std::vector<std::uint32_t> orphan_chunk_files(const Snapshot& snapshot,
                                              std::vector<std::uint32_t> numbers,
                                              codec::BlockDecoder& decoder);

}  // namespace bloscfs::frame::inline sframe
