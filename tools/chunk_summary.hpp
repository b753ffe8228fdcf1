#pragma once
// Summarises the chunks of a container: counts by kind, compression ratios, unused space.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "tools/input.hpp"

namespace bloscfs::tools {

struct RatioSummary {
  double min, median, max;  ///< decoded size / stored size
};

struct ChunkSummary {
  static constexpr std::size_t kSpecialKinds = 5;
  std::array<std::int64_t, kSpecialKinds> special{};  ///< by codec::SpecialValue; [0] unused
  std::int64_t stored = 0;                            ///< chunks with compressed or copied blocks
  std::int64_t damaged = 0;                           ///< chunks that cannot be opened
  std::int64_t stored_bytes = 0;                      ///< of all chunks that have stored bytes
  std::optional<RatioSummary> ratio;                  ///< of all chunks that have stored bytes
};

/// Reads the header of every chunk, but decodes none. Uses bounded memory: with very many chunks,
/// the median is that of an evenly spread sample.
ChunkSummary summarise_chunks(Input& input);

/// Returns the bytes of the container at `path` that no live chunk uses, including those behind its
/// end in the file. Returns nullopt for read-only formats, and if chunks are damaged.
std::optional<std::int64_t> dead_space(const std::string& path, const frame::Snapshot& snapshot,
                                       const ChunkSummary& chunks);

}  // namespace bloscfs::tools
