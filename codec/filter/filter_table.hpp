#pragma once
// What is known of each filter: the one place where its name, how it is applied and undone, and
// what it asks of the bytes stand. The pipeline (pipeline.hpp) has their order.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "codec/bytes.hpp"
#include "codec/chunk_header.hpp"
#include "codec/loss.hpp"

namespace bloscfs::codec {

/// One slot of a chunk's pipeline, at work on one block. Borrowed for the call.
struct FilterUse {
  const ChunkHeader& header;
  const FilterStep& step;
  bool own_reference;  ///< the block is its own delta reference
  Bytes reference;     ///< else block 0's contents
};

enum class Undoing { impossible, not_needed, in_place, into_other_buffer };

struct FilterRow {
  FilterId id;
  const char* name;            ///< as attributes, options and messages spell it
  const char* parameter = "";  ///< as texts about options append it to the name
  Loss loss = Loss::none;
  /// Goes by the shape of an array's blocks, so that nothing else can be written with it; undoing
  /// and applying it throw Error where the shape is not known, or not the block's.
  bool goes_by_shape = false;
  /// How slots of a chunk are undone; null: impossible, the filter is known by name only.
  Undoing (*undoing)(const ChunkHeader& header, const FilterStep& step) = nullptr;
  /// Undoes it in `data`, or from `data` to `out`, of the same size, if into_other_buffer.
  void (*undo)(const FilterUse& use, MutableBytes data, MutableBytes out) = nullptr;
  /// From `in` to `out`, which have equal sizes and don't overlap. Null: not written.
  void (*apply)(const FilterUse& use, Bytes in, MutableBytes out) = nullptr;
  /// Whether a slot alters blocks when applied; null: if it has to be undone.
  bool (*alters)(const ChunkHeader& header, const FilterStep& step) = nullptr;
  /// What is wrong with writing a slot of chunks with that header, in words; `is_first`: of those
  /// in use. Null, or empty: nothing.
  std::string (*problem)(const ChunkHeader& header, const FilterStep& step,
                         bool is_first) = nullptr;
  /// Bytes of the words of which chunks and blocks must have whole ones, since other readers lose
  /// the rest. Null: single bytes.
  std::int32_t (*whole_word)(const ChunkHeader& header, const FilterStep& step) = nullptr;
};

/// All rows, by id.
std::span<const FilterRow> filter_rows();

/// The filter's row, or null.
const FilterRow* find_filter(FilterId id);

/// Width of the items that a slot with shuffle works on, in bytes.
std::size_t shuffle_width(const ChunkHeader& header, const FilterStep& step);

}  // namespace bloscfs::codec
