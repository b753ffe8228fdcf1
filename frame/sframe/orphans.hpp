#pragma once
// Finds chunk files that a sparse frame no longer uses.

#include <cstdint>
#include <vector>

#include "codec/block_decoder.hpp"
#include "frame/container/snapshot.hpp"

namespace bloscfs::frame::inline sframe {

/// Returns those of `numbers` that no index entry of `snapshot` names. `snapshot` must be a sparse
/// frame's. Reads the whole index.
std::vector<std::uint32_t> orphan_chunk_files(const Snapshot& snapshot,
                                              std::vector<std::uint32_t> numbers,
                                              codec::BlockDecoder& decoder);

}  // namespace bloscfs::frame::inline sframe
