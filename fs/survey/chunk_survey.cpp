#include "fs/survey/chunk_survey.hpp"

#include <algorithm>
#include <numeric>

#include "codec/error.hpp"

namespace bloscfs::fs {
namespace {

/// How many faults are reported with their reasons.
constexpr std::size_t kReasons = 1000;

class Surveyor {
 public:
  Surveyor(Request& request, const FrameReader& reader, const SurveyLimits& limits)
      : request_(request),
        reader_(reader),
        count_(reader.snapshot().info().nchunks),
        survey_(ChunkGrid(reader.snapshot().info(), limits.cells)),
        stride_(choose_stride(limits.chunks)) {}

  ChunkSurvey run() {
    if (const auto special = reader_.snapshot().all_chunks_special()) {
      for (std::size_t cell = 0; cell < survey_.cells.size(); cell++)
        add_special(static_cast<std::int64_t>(cell), *special,
                    survey_.grid.chunks_of(static_cast<std::int64_t>(cell)));
      return std::move(survey_);
    }
    survey_.is_sample = stride_ > 1;
    ReadRequest reading = reader_.begin_request(request_);
    for (std::int64_t chunk = 0; chunk < count_; chunk += std::min(stride_, count_ - chunk))
      add(chunk, reading);
    return std::move(survey_);
  }

 private:
  /// Returns the step from one sampled chunk to the next. It has no divisor in common with the
  /// extents of the grid, so that the sample meets all columns.
  std::int64_t choose_stride(std::int64_t most) const {
    std::int64_t stride = codec::ceil_div(count_, most);
    const auto& dimensions = survey_.grid.dimensions();
    const auto misses_some = [&](const ChunkGrid::Dimension& dimension) {
      return dimension.chunks > 1 && std::gcd(stride, dimension.chunks) > 1;
    };
    while (stride > 1 && dimensions.size() > 1 &&
           std::any_of(dimensions.begin(), dimensions.end(), misses_some))
      stride++;
    return std::max<std::int64_t>(1, stride);
  }

  void add_special(std::int64_t cell, codec::SpecialValue value, std::int64_t count) {
    survey_.cells[static_cast<std::size_t>(cell)].add_special(value, count);
    survey_.all.add_special(value, count);
  }

  void add(std::int64_t chunk, ReadRequest& reading) {
    const std::int64_t cell = survey_.grid.cell_of(chunk);
    ChunkCounts& counts = survey_.cells[static_cast<std::size_t>(cell)];
    try {
      const frame::ChunkPlace place = reader_.index().place_of_chunk(chunk, reading);
      if (place.special != codec::SpecialValue::none) return add_special(cell, place.special, 1);
      const codec::ChunkHeader header = reader_.open_chunk(request_, chunk)->chunk.header();
      if (header.is_special()) return add_special(cell, header.special, 1);
      counts.add_stored(header.nbytes, header.cbytes);
      survey_.all.add_stored(header.nbytes, header.cbytes);
      survey_.ratios.push_back(static_cast<double>(header.nbytes) / header.cbytes);
    } catch (const codec::Error& error) {
      counts.seen++;
      survey_.all.seen++;
      survey_.note_damage(chunk);
      const bool is_told = survey_.faults.size() < kReasons;
      survey_.faults.push_back({chunk, is_told ? error.what() : ""});
    }
  }

  Request& request_;
  const FrameReader& reader_;
  const std::int64_t count_;
  ChunkSurvey survey_;
  const std::int64_t stride_;
};

}  // namespace

void ChunkCounts::add_special(codec::SpecialValue value, std::int64_t count) {
  seen += count;
  special.at(static_cast<std::size_t>(value)) += count;
}

void ChunkCounts::add_stored(std::int64_t decoded_size, std::int64_t stored_size) {
  seen++;
  stored++;
  nbytes += decoded_size;
  cbytes += stored_size;
}

std::int64_t ChunkCounts::special_count() const {
  return std::accumulate(special.begin(), special.end(), std::int64_t{0});
}

ChunkSurvey::ChunkSurvey(const ChunkGrid& layout)
    : grid(layout), cells(static_cast<std::size_t>(layout.cell_count())) {}

void ChunkSurvey::note_damage(std::int64_t chunk) {
  const auto known = std::lower_bound(
      faults.begin(), faults.end(), chunk,
      [](const Fault& fault, std::int64_t number) { return fault.chunk < number; });
  if (known != faults.end() && known->chunk == chunk) return;
  cells[static_cast<std::size_t>(grid.cell_of(chunk))].damaged++;
  all.damaged++;
}

ChunkSurvey survey_chunks(Request& request, const FrameReader& reader, const SurveyLimits& limits) {
  return Surveyor(request, reader, limits).run();
}

}  // namespace bloscfs::fs
