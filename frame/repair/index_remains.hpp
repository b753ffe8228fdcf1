#pragma once
// What is left of a frame's index, also where only some of its blocks decode.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "frame/repair/chunk_probe.hpp"
#include "frame/repair/chunk_search.hpp"

namespace bloscfs::frame::inline repair {

/// Entries that follow each other: one stored chunk, or a run of special or unknown ones.
struct EntryRun {
  std::int64_t value = 0;  ///< as in the index
  std::int64_t count = 1;
  bool is_known = true;
};

struct IndexRemains {
  std::uint64_t at = 0, end = 0;  ///< its chunk in the file
  std::int64_t count = 0;         ///< entries
  std::int64_t unknown = 0;       ///< of them, those that do not decode
  std::vector<EntryRun> runs;

  bool is_whole() const { return unknown == 0; }
};

/// The index chunk at a position, with entries of `width` bytes; nothing where there is none, or
/// where it has more runs of entries than a file of `file_size` bytes can have chunks.
std::optional<IndexRemains> read_index_remains(const ByteSource& source, std::uint64_t position,
                                               std::uint64_t file_size, int width,
                                               ChunkProbe& probe);

/// Where the chunks that an index tells of begin.
struct IndexBase {
  std::int64_t base = 0;
  bool is_sure = false;  ///< no other place fits as well
};

/// Where the chunk of an entry `value` is, counted from `base`; nothing for special values and for
/// places that no file has. Both numbers are hostile: their sum need not exist.
std::optional<std::uint64_t> place_of_entry(std::int64_t value, std::int64_t base);

/// True for places where a chunk starts, though it may be damaged.
using IsChunk = std::function<bool(std::uint64_t at)>;

/// The base with which most entries meet chunks, of which those in `found`, in order, are known;
/// nothing if fewer than `least` of all do.
std::optional<IndexBase> find_base(const IndexRemains& index, const std::vector<FoundChunk>& found,
                                   const IsChunk& is_chunk, double least);

/// True if most entries meet chunks when counted from `base`.
bool meets_chunks(const IndexRemains& index, std::int64_t base, const IsChunk& is_chunk,
                  double least);

/// The chunk that starts at a position, or null.
const FoundChunk* find_chunk(const std::vector<FoundChunk>& found, std::uint64_t at);

}  // namespace bloscfs::frame::inline repair
