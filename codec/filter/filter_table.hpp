#pragma once
// The table of filters, the only place for the name of each filter, how it is applied and undone,
// and its requirements. The pipeline (pipeline.hpp) determines their order.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "codec/bytes.hpp"
#include "codec/chunk_header.hpp"
#include "codec/loss.hpp"

namespace bloscfs::codec {

/// One slot of a chunk's pipeline, applied to one block. Borrowed for the call.
struct FilterUse {
  const ChunkHeader& header;
  const FilterStep& step;
  bool own_reference;  ///< the block is its own delta reference
  Bytes reference;     ///< otherwise the contents of block 0
};

enum class Undoing { impossible, not_needed, in_place, into_other_buffer };

struct FilterRow {
  FilterId id;
  const char* name;            ///< as in attributes, options and messages
  const char* parameter = "";  ///< appended to the name in texts about options
  Loss loss = Loss::none;
  /// The filter needs the shape of an array's blocks, so it can only write arrays. Applying and
  /// undoing it throw Error if the shape is unknown, or does not fit the block.
  bool depends_on_shape = false;
  /// Returns how a slot is undone. Null: it cannot be undone, only the filter's name is known.
  Undoing (*undoing)(const ChunkHeader& header, const FilterStep& step) = nullptr;
  /// Undoes the filter in `data`, or from `data` to `out`, of the same size, if into_other_buffer.
  void (*undo)(const FilterUse& use, MutableBytes data, MutableBytes out) = nullptr;
  /// Applies the filter from `in` to `out`, which have equal sizes and do not overlap. Null: cannot
  /// be written.
  void (*apply)(const FilterUse& use, Bytes in, MutableBytes out) = nullptr;
  /// True if applying a slot changes a block. Null: it does if the filter has to be undone.
  bool (*alters)(const ChunkHeader& header, const FilterStep& step) = nullptr;
  /// Returns why a slot of chunks with that header cannot be written, as text; empty if it can.
  /// `is_first`: the slot is the first one in use. Null: never a problem.
  std::string (*problem)(const ChunkHeader& header, const FilterStep& step,
                         bool is_first) = nullptr;
  /// Returns a word size in bytes. Chunks and blocks must consist of whole words, since other
  /// readers lose the rest. Null: 1.
  std::int32_t (*whole_word)(const ChunkHeader& header, const FilterStep& step) = nullptr;
};

/// Returns all rows, by id.
std::span<const FilterRow> filter_rows();

/// Returns the filter's row, or null.
const FilterRow* find_filter(FilterId id);

/// Returns the size of the elements that a slot with shuffle uses, in bytes.
std::size_t shuffle_width(const ChunkHeader& header, const FilterStep& step);

}  // namespace bloscfs::codec
