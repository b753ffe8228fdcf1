#include "codec/filter/filter_table.hpp"

#include <array>
#include <cstring>
#include <iterator>

#include "codec/filter/bitshuffle.hpp"
#include "codec/filter/bytedelta.hpp"
#include "codec/filter/cell_grid.hpp"
#include "codec/filter/delta.hpp"
#include "codec/filter/shuffle.hpp"
#include "codec/filter/truncate.hpp"
#include "codec/names.hpp"

namespace bloscfs::codec {
namespace {

std::size_t item_size(const ChunkHeader& header) {
  return static_cast<std::size_t>(header.typesize);
}

Undoing never_undone(const ChunkHeader&, const FilterStep&) { return Undoing::not_needed; }
Undoing undone_in_place(const ChunkHeader&, const FilterStep&) { return Undoing::in_place; }
Undoing undone_elsewhere(const ChunkHeader&, const FilterStep&) {
  return Undoing::into_other_buffer;
}

Undoing shuffle_undoing(const ChunkHeader& header, const FilterStep& step) {
  return shuffle_width(header, step) > 1 ? Undoing::into_other_buffer : Undoing::not_needed;
}

void apply_shuffle(const FilterUse& use, Bytes in, MutableBytes out) {
  shuffle(in, out, shuffle_width(use.header, use.step));
}

void undo_shuffle(const FilterUse& use, MutableBytes data, MutableBytes out) {
  unshuffle(data, out, shuffle_width(use.header, use.step));
}

/// True if Blosc1 did not filter the block, because its number of elements is not a multiple of
/// eight.
bool skips_block(const ChunkHeader& header, Bytes block) {
  return header.version <= kChunkVersionBlosc1 && block.size() / item_size(header) % 8 != 0;
}

void apply_bitshuffle(const FilterUse& use, Bytes in, MutableBytes out) {
  if (skips_block(use.header, in)) {
    std::memcpy(out.data(), in.data(), in.size());
  } else {
    bitshuffle(in, out, item_size(use.header));
  }
}

void undo_bitshuffle(const FilterUse& use, MutableBytes data, MutableBytes out) {
  if (skips_block(use.header, data)) {
    std::memcpy(out.data(), data.data(), data.size());
  } else {
    bitunshuffle(data, out, item_size(use.header));
  }
}

/// Only in chunks of Blosc1, C-Blosc2 loses the bytes after the last element.
std::int32_t bitshuffle_word(const ChunkHeader& header, const FilterStep&) {
  return header.version <= kChunkVersionBlosc1 ? header.typesize : 1;
}

void apply_delta(const FilterUse& use, Bytes in, MutableBytes out) {
  if (use.own_reference) {
    delta_running(in, out, item_size(use.header));
  } else {
    delta_reference(in, use.reference, out, item_size(use.header));
  }
}

void undo_delta(const FilterUse& use, MutableBytes data, MutableBytes) {
  if (use.own_reference) {
    undelta_running(data, item_size(use.header));
  } else {
    delta_reference(data, use.reference, item_size(use.header));
  }
}

std::string delta_problem(const ChunkHeader&, const FilterStep&, bool is_first) {
  return is_first ? "" : "delta behind another filter: readers disagree about what it means";
}

std::int32_t delta_words(const ChunkHeader& header, const FilterStep&) {
  return static_cast<std::int32_t>(delta_word(item_size(header)));
}

std::int32_t bytedelta_streams(const ChunkHeader& header, const FilterStep& step) {
  return step.meta != 0 ? step.meta : header.full_typesize;
}

std::size_t stream_count(const FilterUse& use) {
  return static_cast<std::size_t>(bytedelta_streams(use.header, use.step));
}

void apply_bytedelta(const FilterUse& use, Bytes in, MutableBytes out) {
  bytedelta(in, out, stream_count(use), BytedeltaKind::current);
}

void undo_bytedelta(const FilterUse& use, MutableBytes data, MutableBytes) {
  unbytedelta(data, stream_count(use), BytedeltaKind::current);
}

void undo_old_bytedelta(const FilterUse& use, MutableBytes data, MutableBytes) {
  unbytedelta(data, stream_count(use), BytedeltaKind::old);
}

void apply_truncation(const FilterUse& use, Bytes in, MutableBytes out) {
  const std::size_t size = item_size(use.header);
  truncate(in, out, size, truncated_bits(use.step, size).value_or(0));
}

bool truncation_alters(const ChunkHeader& header, const FilterStep& step) {
  return truncated_bits(step, item_size(header)).value_or(0) > 0;
}

std::string truncation_problem(const ChunkHeader& header, const FilterStep& step, bool) {
  if (truncated_bits(step, item_size(header))) return {};
  return filter_name(step.id) + " with parameter " +
         std::to_string(static_cast<std::int8_t>(step.meta)) + " for items of " +
         std::to_string(header.full_typesize) + " bytes";
}

void apply_cells(const FilterUse& use, Bytes in, MutableBytes out) {
  CellGrid(use.header, use.step, in.size()).to_cells(in, out);
}

void apply_means(const FilterUse& use, Bytes in, MutableBytes out) {
  CellGrid(use.header, use.step, in.size()).to_means(in, out);
}

void undo_cells(const FilterUse& use, MutableBytes data, MutableBytes out) {
  CellGrid(use.header, use.step, data.size()).from_cells(data, out);
}

std::string cells_problem(const ChunkHeader& header, const FilterStep& step, bool) {
  const std::string problem = CellGrid::problem(header, step, header.blocksize);
  return problem.empty() ? problem : "filter " + filter_name(step.id) + ": " + problem;
}

std::string means_problem(const ChunkHeader& header, const FilterStep& step, bool is_first) {
  if (header.full_typesize == 4 || header.full_typesize == 8)
    return cells_problem(header, step, is_first);
  return "filter ndmean: items of " + std::to_string(header.full_typesize) +
         " bytes are not floating-point numbers";
}

constexpr FilterRow kFilterRows[] = {
    {.id = FilterId::none, .name = "none", .undoing = never_undone},
    {.id = FilterId::shuffle,
     .name = "shuffle",
     .undoing = shuffle_undoing,
     .undo = undo_shuffle,
     .apply = apply_shuffle},
    {.id = FilterId::bitshuffle,
     .name = "bitshuffle",
     .undoing = undone_elsewhere,
     .undo = undo_bitshuffle,
     .apply = apply_bitshuffle,
     .whole_word = bitshuffle_word},
    {.id = FilterId::delta,
     .name = "delta",
     .undoing = undone_in_place,
     .undo = undo_delta,
     .apply = apply_delta,
     .problem = delta_problem,
     .whole_word = delta_words},
    {.id = FilterId::trunc_prec,
     .name = "trunc_prec",
     .parameter = ":BITS",
     .loss = Loss::once,
     .undoing = never_undone,
     .apply = apply_truncation,
     .alters = truncation_alters,
     .problem = truncation_problem},
    {.id = FilterId::ndcell,
     .name = "ndcell",
     .parameter = ":SIDE",
     .depends_on_shape = true,
     .undoing = undone_elsewhere,
     .undo = undo_cells,
     .apply = apply_cells,
     .problem = cells_problem},
    {.id = FilterId::ndmean,
     .name = "ndmean",
     .parameter = ":SIDE",
     .loss = Loss::every_time,
     .depends_on_shape = true,
     .undoing = undone_elsewhere,
     .undo = undo_cells,
     .apply = apply_means,
     .problem = means_problem},
    {.id = FilterId::bytedelta_old,
     .name = "bytedelta_old",
     .undoing = undone_in_place,
     .undo = undo_old_bytedelta},
    {.id = FilterId::bytedelta,
     .name = "bytedelta",
     .undoing = undone_in_place,
     .undo = undo_bytedelta,
     .apply = apply_bytedelta,
     .whole_word = bytedelta_streams},
    {.id = FilterId::int_trunc,
     .name = "int_trunc",
     .parameter = ":BITS",
     .loss = Loss::once,
     .undoing = never_undone,
     .apply = apply_truncation,
     .alters = truncation_alters,
     .problem = truncation_problem},
};

constexpr std::uint8_t kNoRow = 0xFF;

/// Maps each id to the number of its row. A table, since each block looks up each of its slots.
constexpr std::array<std::uint8_t, 256> row_numbers() {
  std::array<std::uint8_t, 256> numbers{};
  for (std::uint8_t& number : numbers) number = kNoRow;
  std::uint8_t next = 0;
  for (const FilterRow& row : kFilterRows) numbers[static_cast<std::uint8_t>(row.id)] = next++;
  return numbers;
}

constexpr std::array<std::uint8_t, 256> kRowNumbers = row_numbers();

}  // namespace

std::span<const FilterRow> filter_rows() { return kFilterRows; }

const FilterRow* find_filter(FilterId id) {
  const std::uint8_t number = kRowNumbers[static_cast<std::uint8_t>(id)];
  return number == kNoRow ? nullptr : &kFilterRows[number];
}

std::size_t shuffle_width(const ChunkHeader& header, const FilterStep& step) {
  return static_cast<std::size_t>(step.meta != 0 ? step.meta : header.typesize);
}

}  // namespace bloscfs::codec
