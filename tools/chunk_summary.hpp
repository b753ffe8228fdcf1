#pragma once
// What the chunks of a container amount to: counts by kind, compression ratios, unused space.

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
  std::int64_t damaged = 0;                           ///< that cannot be opened
  std::int64_t stored_bytes = 0;                      ///< of all chunks that have stored bytes
  std::optional<RatioSummary> ratio;                  ///< of those; absent where there are none
};

/// Looks at every chunk's header, but decodes none. Memory is bounded: with very many chunks the
/// median is that of an even sample.
ChunkSummary summarise_chunks(Input& input);

/// Bytes of the container, at `path`, that no live chunk uses, and of its file behind its end.
/// Absent where the format does not tell.
std::optional<std::int64_t> dead_space(const std::string& path, const frame::Snapshot& snapshot,
                                       const ChunkSummary& chunks);

}  // namespace bloscfs::tools
