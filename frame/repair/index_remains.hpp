#pragma once
// Reads what is left of a frame's index, even if only some of its blocks decode.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "frame/repair/chunk_probe.hpp"
#include "frame/repair/chunk_search.hpp"

namespace bloscfs::frame::inline repair {

/// Consecutive entries: one stored chunk, or a run of special or unknown entries.
struct EntryRun {
  std::int64_t value = 0;  ///< as in the index
  std::int64_t count = 1;
  bool is_known = true;
};

struct IndexRemains {
  std::uint64_t at = 0, end = 0;  ///< the place of its chunk in the file
  std::int64_t count = 0;         ///< number of entries
  std::int64_t unknown = 0;       ///< number of entries that do not decode
  std::vector<EntryRun> runs;

  bool is_whole() const { return unknown == 0; }
};

/// Reads the index chunk at a position, with entries of `width` bytes. Returns nullopt if there is
/// none, or if it has more runs of entries than a file of `file_size` bytes can have chunks.
std::optional<IndexRemains> read_index_remains(const ByteSource& source, std::uint64_t position,
                                               std::uint64_t file_size, int width,
                                               ChunkProbe& probe);

/// The position that the entries of an index count from.
struct IndexBase {
  std::int64_t base = 0;
  bool is_unambiguous = false;  ///< no other position fits as well
};

/// Returns the position of the chunk of an entry, counted from `base`; nullopt for special values
/// and impossible positions. Both numbers may be hostile, so that their sum may overflow.
std::optional<std::uint64_t> place_of_entry(std::int64_t value, std::int64_t base);

/// True for positions where a chunk starts, even a damaged one.
using IsChunk = std::function<bool(std::uint64_t at)>;

/// Returns the base with which most entries lead to chunks. `found` holds the known chunks, in
/// order. Returns nullopt if even with that base less than the fraction `least` of the entries
/// leads to chunks.
std::optional<IndexBase> find_base(const IndexRemains& index, const std::vector<FoundChunk>& found,
                                   const IsChunk& is_chunk, double least);

/// True if at least the fraction `least` of the entries leads to chunks when counted from `base`.
bool meets_chunks(const IndexRemains& index, std::int64_t base, const IsChunk& is_chunk,
                  double least);

/// Returns the chunk that starts at a position, or null.
const FoundChunk* find_chunk(const std::vector<FoundChunk>& found, std::uint64_t at);

}  // namespace bloscfs::frame::inline repair
