#pragma once
// Surveys the chunks of a container, by the cells of a grid: how well they are compressed, which
// ones are special, and which ones cannot be opened.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "codec/chunk_format.hpp"
#include "fs/survey/chunk_grid.hpp"
#include "fs/view/frame_reader.hpp"

namespace bloscfs::fs {

/// Counts of several chunks.
struct ChunkCounts {
  static constexpr std::size_t kSpecialKinds = 5;
  std::int64_t seen = 0;  ///< chunks that were looked at: all, or a sample
  std::int64_t stored = 0;
  std::int64_t damaged = 0;  ///< may include chunks that count as stored, too
  std::array<std::int64_t, kSpecialKinds> special{};  ///< by codec::SpecialValue; [0] unused
  std::int64_t nbytes = 0, cbytes = 0;                ///< of the stored chunks

  void add_special(codec::SpecialValue value, std::int64_t count);
  void add_stored(std::int64_t decoded_size, std::int64_t stored_size);
  std::int64_t special_count() const;
};

struct ChunkSurvey {
  explicit ChunkSurvey(const ChunkGrid& layout);

  struct Fault {
    std::int64_t chunk = 0;
    std::string reason;  ///< empty after the first 1000 faults
  };

  /// Counts a chunk as damaged, unless `faults` has it already. The chunk may have been counted as
  /// something else before, or not at all.
  void note_damage(std::int64_t chunk);

  ChunkGrid grid;
  std::vector<ChunkCounts> cells;  ///< in C order
  ChunkCounts all;
  std::vector<double> ratios;  ///< decoded size / stored size of each stored chunk that was seen
  std::vector<Fault> faults;   ///< chunks that cannot be opened, sorted by number
  bool is_sample = false;
};

struct SurveyLimits {
  std::int64_t cells = 2048;
  std::int64_t chunks = std::int64_t{1} << 18;  ///< the most chunks whose headers are read
};

/// Reads the headers of chunks, and decodes none. Throws std::system_error from the source, and
/// codec::Error if the index cannot be read.
ChunkSurvey survey_chunks(Request& request, const FrameReader& reader, const SurveyLimits& limits);

}  // namespace bloscfs::fs
