#pragma once
// Applies and undoes the filters of a block in their order (codec/formats/filters.md).

#include <cstddef>
#include <cstdint>
#include <string>

#include "codec/bytes.hpp"
#include "codec/chunk_header.hpp"

namespace bloscfs::codec {

/// True if the filter can be undone.
bool is_supported(FilterId id);

/// Throws Error (unsupported, with the filter's name) if a slot cannot be undone.
void check_filters(const ChunkHeader& header);

/// True if undo_filters() needs `scratch`.
bool pipeline_needs_scratch(const ChunkHeader& header);

/// True if only shuffle has to be undone, in a block with one stream for each byte of an element.
/// `stream_count` is the block's number of streams.
bool is_shuffled_by_stream(const ChunkHeader& header, std::size_t stream_count);

/// Returns where the filtered block must be so that undo_filters() leaves the contents in `out`:
/// `out` itself or `scratch`. Both have the block's size.
MutableBytes filtered_buffer(const ChunkHeader& header, MutableBytes out, MutableBytes scratch);

/// Undoes slots 5 to 0. If `own_reference`, the block is its own delta reference (block 0, VL
/// blocks). Else, if delta is used, `reference` is the contents of block 0, at least as long as the
/// block. Calls `checkpoint` before each slot, unless it is null.
void undo_filters(const ChunkHeader& header, bool own_reference, Bytes reference, MutableBytes out,
                  MutableBytes scratch, void (*checkpoint)() = nullptr);

/// Returns why chunks with the filters of `header` cannot be written, as text; empty if they can.
std::string filter_problem(const ChunkHeader& header);

/// Returns the number of buffers of the block's size that apply_filters() needs: 0, 1 or 2.
int forward_buffers(const ChunkHeader& header);

/// Applies slots 0 to 5 to the block `in`; filter_problem() must be empty. Returns the filtered
/// block, which is `in` itself or one of the two buffers. `own_reference` and `reference` are as in
/// undo_filters().
Bytes apply_filters(const ChunkHeader& header, bool own_reference, Bytes reference, Bytes in,
                    MutableBytes first, MutableBytes second);

}  // namespace bloscfs::codec
