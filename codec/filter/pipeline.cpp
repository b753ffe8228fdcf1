#include "codec/filter/pipeline.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "codec/error.hpp"
#include "codec/filter/filter_table.hpp"
#include "codec/names.hpp"

namespace bloscfs::codec {
namespace {

Undoing undoing(const ChunkHeader& header, const FilterStep& step) {
  if (step.id == FilterId::none) return Undoing::not_needed;
  const FilterRow* const filter = find_filter(step.id);
  return filter != nullptr && filter->undoing != nullptr ? filter->undoing(header, step)
                                                         : Undoing::impossible;
}

/// Returns how many slots are undone into the other buffer.
std::ptrdiff_t buffer_changes(const ChunkHeader& header) {
  return std::count_if(header.filters.begin(), header.filters.end(), [&](const FilterStep& step) {
    return undoing(header, step) == Undoing::into_other_buffer;
  });
}

/// True if applying the slot changes the block.
bool alters(const ChunkHeader& header, const FilterStep& step) {
  if (step.id == FilterId::none) return false;
  const FilterRow* const filter = find_filter(step.id);
  if (filter != nullptr && filter->alters != nullptr) return filter->alters(header, step);
  return undoing(header, step) != Undoing::not_needed;
}

/// Returns why the slot cannot be written: its filter can only be read, or does not fit the header
/// or the slots before it.
std::string step_problem(const ChunkHeader& header, const FilterStep& step, bool is_first) {
  if (step.id == FilterId::none) return {};
  const FilterRow* const filter = find_filter(step.id);
  if (filter == nullptr || filter->apply == nullptr)
    return "filter " + filter_name(step.id) + " cannot be written";
  return filter->problem == nullptr ? std::string() : filter->problem(header, step, is_first);
}

}  // namespace

bool is_supported(FilterId id) {
  const FilterRow* const filter = find_filter(id);
  return filter != nullptr && filter->undoing != nullptr;
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
    if (undoing(header, step) == Undoing::not_needed) continue;
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
    const FilterRow* const filter = find_filter(step->id);
    if (filter == nullptr || filter->undo == nullptr) continue;
    const Undoing how = filter->undoing(header, *step);
    if (how == Undoing::not_needed) continue;
    filter->undo({header, *step, own_reference, reference}, data, spare);
    if (how == Undoing::into_other_buffer) std::swap(data, spare);
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
                                    [&](const FilterStep& step) { return alters(header, step); });
  return static_cast<int>(std::min<std::ptrdiff_t>(active, 2));
}

Bytes apply_filters(const ChunkHeader& header, bool own_reference, Bytes reference, Bytes in,
                    MutableBytes first, MutableBytes second) {
  Bytes data = in;
  MutableBytes out = first;
  MutableBytes spare = second;
  for (const FilterStep& step : header.filters) {
    if (!alters(header, step)) continue;
    find_filter(step.id)->apply({header, step, own_reference, reference}, data, out);
    data = out;
    std::swap(out, spare);
  }
  return data;
}

}  // namespace bloscfs::codec
