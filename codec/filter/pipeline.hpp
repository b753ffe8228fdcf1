#pragma once
// Order of the filters of a block, applying and undoing them (codec/formats/filters.md).

#include <cstddef>
#include <cstdint>
#include <string>

#include "codec/bytes.hpp"
#include "codec/chunk_header.hpp"

namespace bloscfs::codec {

/// True for filters that can be undone.
bool is_supported(FilterId id);

/// Throws Error (unsupported, with the filter's name) unless every slot can be undone.
void check_filters(const ChunkHeader& header);

/// True if undo_filters works through `scratch`.
bool pipeline_needs_scratch(const ChunkHeader& header);

/// True if shuffle is all that has to be undone in a block of so many streams, which are one for
/// each byte of an element.
bool is_shuffled_by_stream(const ChunkHeader& header, std::size_t stream_count);

/// Where the filtered block must lie so that undo_filters leaves the contents in `out`: `out`
/// itself or `scratch`. Both have the block's size.
MutableBytes filtered_buffer(const ChunkHeader& header, MutableBytes out, MutableBytes scratch);

/// Undoes slots 5 to 0. `own_reference`: the block is its own delta reference (block 0, VL blocks);
/// else `reference` is block 0's contents, not shorter than the block, where delta is used.
/// `checkpoint`, unless null, is called before each.
void undo_filters(const ChunkHeader& header, bool own_reference, Bytes reference, MutableBytes out,
                  MutableBytes scratch, void (*checkpoint)() = nullptr);

/// What is wrong with writing chunks with the filters of `header`, in words; empty if nothing.
std::string filter_problem(const ChunkHeader& header);

/// Buffers of the block's size that apply_filters works through: 0, 1 or 2.
int forward_buffers(const ChunkHeader& header);

/// Applies slots 0 to 5, which have no problem, to the block `in`. Returns the filtered block,
/// which is `in` itself or one of the two buffers. `own_reference` and `reference` as above.
Bytes apply_filters(const ChunkHeader& header, bool own_reference, Bytes reference, Bytes in,
                    MutableBytes first, MutableBytes second);

}  // namespace bloscfs::codec
