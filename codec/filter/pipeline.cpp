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
    default:  // none, trunc_prec, int_trunc: nothing to undo
      return;
  }
}

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

}  // namespace

void check_filters(const ChunkHeader& header) {
  for (const FilterStep& step : header.filters) {
    if (!is_supported(step.id)) throw_unsupported("filter " + filter_name(step.id) + " is not supported");
  }
}

bool pipeline_needs_scratch(const ChunkHeader& header) { return buffer_changes(header) > 0; }

MutableBytes filtered_buffer(const ChunkHeader& header, MutableBytes out, MutableBytes scratch) {
  return buffer_changes(header) % 2 == 0 ? out : scratch;
}

void undo_filters(const ChunkHeader& header, bool own_reference, Bytes reference, MutableBytes out,
                  MutableBytes scratch) {
  MutableBytes data = filtered_buffer(header, out, scratch);
  MutableBytes spare = data.data() == out.data() ? scratch : out;
  for (auto step = header.filters.rbegin(); step != header.filters.rend(); ++step) {
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

}  // namespace bloscfs::codec
