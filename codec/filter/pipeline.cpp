#include "codec/filter/pipeline.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "codec/error.hpp"
#include "codec/filter/bitshuffle.hpp"
#include "codec/filter/bytedelta.hpp"
#include "codec/filter/delta.hpp"
#include "codec/filter/shuffle.hpp"
#include "codec/filter/truncate.hpp"
#include "codec/names.hpp"

namespace bloscfs::codec {
namespace {

std::size_t shuffle_width(const ChunkHeader& header, const FilterStep& step) {
  return static_cast<std::size_t>(step.meta != 0 ? step.meta : header.typesize);
}

std::size_t bytedelta_streams(const ChunkHeader& header, const FilterStep& step) {
  return static_cast<std::size_t>(step.meta != 0 ? step.meta : header.full_typesize);
}

/// Filters that cannot work in place.
bool changes_buffer(const ChunkHeader& header, const FilterStep& step) {
  return step.id == FilterId::bitshuffle ||
         (step.id == FilterId::shuffle && shuffle_width(header, step) > 1);
}

std::ptrdiff_t buffer_changes(const ChunkHeader& header) {
  return std::count_if(header.filters.begin(), header.filters.end(),
                       [&](const FilterStep& step) { return changes_buffer(header, step); });
}

void undo_bitshuffle(const ChunkHeader& header, Bytes in, MutableBytes out) {
  const std::size_t typesize = static_cast<std::size_t>(header.typesize);
  // Blosc1 left blocks alone whose elements don't come in eights.
  if (header.version <= kChunkVersionBlosc1 && in.size() / typesize % 8 != 0) {
    std::memcpy(out.data(), in.data(), in.size());
  } else {
    bitunshuffle(in, out, typesize);
  }
}

void undo_in_place(const ChunkHeader& header, const FilterStep& step, bool own_reference,
                   Bytes reference, MutableBytes data) {
  const std::size_t typesize = static_cast<std::size_t>(header.typesize);
  switch (step.id) {
    case FilterId::delta:
      if (own_reference) {
        undelta_running(data, typesize);
      } else {
        delta_reference(data, reference, typesize);
      }
      return;
    case FilterId::bytedelta:
      unbytedelta(data, bytedelta_streams(header, step), BytedeltaKind::current);
      return;
    case FilterId::bytedelta_old:
      unbytedelta(data, bytedelta_streams(header, step), BytedeltaKind::old);
      return;
    default:  // nothing to undo
      return;
  }
}

bool has_to_be_undone(const ChunkHeader& header, const FilterStep& step) {
  switch (step.id) {
    case FilterId::none:
    case FilterId::trunc_prec:
    case FilterId::int_trunc:
      return false;
    case FilterId::shuffle:
      return changes_buffer(header, step);
    default:
      return true;
  }
}

/// Slots that alter the block when applied.
bool acts(const ChunkHeader& header, const FilterStep& step) {
  if (step.id == FilterId::trunc_prec || step.id == FilterId::int_trunc)
    return truncated_bits(step, static_cast<std::size_t>(header.typesize)).value_or(0) > 0;
  return has_to_be_undone(header, step);
}

void apply_bitshuffle(const ChunkHeader& header, Bytes in, MutableBytes out) {
  const std::size_t typesize = static_cast<std::size_t>(header.typesize);
  if (header.version <= kChunkVersionBlosc1 && in.size() / typesize % 8 != 0) {
    std::memcpy(out.data(), in.data(), in.size());
  } else {
    bitshuffle(in, out, typesize);
  }
}

void apply_filter(const ChunkHeader& header, const FilterStep& step, bool own_reference,
                  Bytes reference, Bytes in, MutableBytes out) {
  const std::size_t typesize = static_cast<std::size_t>(header.typesize);
  switch (step.id) {
    case FilterId::shuffle:
      return shuffle(in, out, shuffle_width(header, step));
    case FilterId::bitshuffle:
      return apply_bitshuffle(header, in, out);
    case FilterId::delta:
      if (own_reference) return delta_running(in, out, typesize);
      return delta_reference(in, reference, out, typesize);
    case FilterId::bytedelta:
      return bytedelta(in, out, bytedelta_streams(header, step), BytedeltaKind::current);
    default:
      return truncate(in, out, typesize, truncated_bits(step, typesize).value_or(0));
  }
}

/// Filters that are only read, or don't go with the item size, or with what stands before them.
std::string step_problem(const ChunkHeader& header, const FilterStep& step, bool first) {
  switch (step.id) {
    case FilterId::none:
    case FilterId::shuffle:
    case FilterId::bitshuffle:
    case FilterId::bytedelta:
      return {};
    case FilterId::delta:
      return first ? "" : "delta behind another filter: readers disagree about what it means";
    case FilterId::trunc_prec:
    case FilterId::int_trunc:
      if (truncated_bits(step, static_cast<std::size_t>(header.typesize))) return {};
      return filter_name(step.id) + " with parameter " +
             std::to_string(static_cast<std::int8_t>(step.meta)) + " for items of " +
             std::to_string(header.full_typesize) + " bytes";
    default:
      return "filter " + filter_name(step.id) + " cannot be written";
  }
}

}  // namespace

bool is_supported(FilterId id) {
  switch (id) {
    case FilterId::none:
    case FilterId::shuffle:
    case FilterId::bitshuffle:
    case FilterId::delta:
    case FilterId::trunc_prec:
    case FilterId::bytedelta_old:
    case FilterId::bytedelta:
    case FilterId::int_trunc:
      return true;
    default:
      return false;
  }
}

void check_filters(const ChunkHeader& header) {
  for (const FilterStep& step : header.filters) {
    if (!is_supported(step.id))
      throw_unsupported("filter " + filter_name(step.id) + " is not supported");
  }
}

bool pipeline_needs_scratch(const ChunkHeader& header) { return buffer_changes(header) > 0; }

bool is_shuffled_by_stream(const ChunkHeader& header, std::size_t stream_count) {
  std::size_t width = 1;
  for (const FilterStep& step : header.filters) {
    if (!has_to_be_undone(header, step)) continue;
    if (step.id != FilterId::shuffle || width != 1) return false;
    width = shuffle_width(header, step);
  }
  return width > 1 && width == stream_count;
}

MutableBytes filtered_buffer(const ChunkHeader& header, MutableBytes out, MutableBytes scratch) {
  return buffer_changes(header) % 2 == 0 ? out : scratch;
}

void undo_filters(const ChunkHeader& header, bool own_reference, Bytes reference, MutableBytes out,
                  MutableBytes scratch, void (*checkpoint)()) {
  MutableBytes data = filtered_buffer(header, out, scratch);
  MutableBytes spare = data.data() == out.data() ? scratch : out;
  for (auto step = header.filters.rbegin(); step != header.filters.rend(); ++step) {
    if (checkpoint != nullptr) checkpoint();
    if (!changes_buffer(header, *step)) {
      undo_in_place(header, *step, own_reference, reference, data);
      continue;
    }
    if (step->id == FilterId::shuffle) {
      unshuffle(data, spare, shuffle_width(header, *step));
    } else {
      undo_bitshuffle(header, data, spare);
    }
    std::swap(data, spare);
  }
}

std::string filter_problem(const ChunkHeader& header) {
  bool first = true;
  for (const FilterStep& step : header.filters) {
    std::string problem = step_problem(header, step, first);
    if (!problem.empty()) return problem;
    first = first && step.id == FilterId::none;
  }
  return {};
}

int forward_buffers(const ChunkHeader& header) {
  const auto active = std::count_if(header.filters.begin(), header.filters.end(),
                                    [&](const FilterStep& step) { return acts(header, step); });
  return static_cast<int>(std::min<std::ptrdiff_t>(active, 2));
}

Bytes apply_filters(const ChunkHeader& header, bool own_reference, Bytes reference, Bytes in,
                    MutableBytes first, MutableBytes second) {
  Bytes data = in;
  MutableBytes out = first;
  MutableBytes spare = second;
  for (const FilterStep& step : header.filters) {
    if (!acts(header, step)) continue;
    apply_filter(header, step, own_reference, reference, data, out);
    data = out;
    std::swap(out, spare);
  }
  return data;
}

}  // namespace bloscfs::codec
