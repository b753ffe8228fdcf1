#pragma once
// Order of the filters of a block, and undoing them (filters.md, section 8).

#include <cstdint>

#include "codec/bytes.hpp"
#include "codec/chunk_header.hpp"

namespace bloscfs::codec {

/// Throws Error (unsupported, with the filter's name) unless every slot can be undone.
void check_filters(const ChunkHeader& header);

/// True if undo_filters works through `scratch`.
bool pipeline_needs_scratch(const ChunkHeader& header);

/// Where the filtered block must lie so that undo_filters leaves the contents in `out`: `out`
/// itself or `scratch`. Both have the block's size.
MutableBytes filtered_buffer(const ChunkHeader& header, MutableBytes out, MutableBytes scratch);

/// Undoes slots 5 to 0. `own_reference`: the block is its own delta reference (block 0, VL blocks);
/// else `reference` is block 0's contents, not shorter than the block, where delta is used.
void undo_filters(const ChunkHeader& header, bool own_reference, Bytes reference, MutableBytes out,
                  MutableBytes scratch);

}  // namespace bloscfs::codec
