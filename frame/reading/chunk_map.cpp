#include "frame/reading/chunk_map.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/stored/checkpoints.hpp"

namespace bloscfs::frame::inline reading {
namespace {

using codec::throw_malformed;

/// Calls visit(number, entry) for the chunks [first, last).
template <typename Visit>
void for_each_entry(const PagedTable& table, std::int64_t first, std::int64_t last,
                    codec::BlockDecoder& decoder, const Visit& visit) {
  for (std::int64_t chunk = first; chunk < last;) {
    const TablePage page = table.read_page(table.page_of(chunk), decoder);
    const std::int64_t end =
        std::min(last, page.first + static_cast<std::int64_t>(page.entries.size()));
    for (; chunk < end; ++chunk)
      visit(chunk, page.entries[static_cast<std::size_t>(chunk - page.first)]);
  }
}

/// Gives the special chunk the bytes that the other chunks leave over. No header tells its size, so
/// a frame can have only one. Moves the checkpoints behind it by that size.
void place_special_chunk(VariableChunkMap& map, std::int64_t sum) {
  const std::int64_t rest = map.nbytes - sum;
  if (map.special_chunk < 0 ? rest != 0 : rest < 0 || rest > codec::kMaxChunkNbytes)
    throw_malformed(fmt::format("chunk headers: {} bytes in {} chunks, the frame has {}", sum,
                                map.nchunks, map.nbytes));
  if (map.special_chunk < 0) return;
  map.special_nbytes = static_cast<std::int32_t>(rest);
  for (std::size_t i = 0; i < map.checkpoints.size(); ++i)
    if (static_cast<std::int64_t>(i) * map.stride > map.special_chunk) map.checkpoints[i] += rest;
}

}  // namespace

std::int64_t VariableChunkMap::page_at(std::int64_t content_offset) const {
  if (content_offset < 0 || content_offset >= nbytes || checkpoints.empty())
    throw_malformed(fmt::format("content offset {} of {}", content_offset, nbytes));
  return std::upper_bound(checkpoints.begin(), checkpoints.end(), content_offset) -
         checkpoints.begin() - 1;
}

VariableChunkMap build_chunk_map(const IndexRules& rules, const PagedTable& table,
                                 std::int64_t max_chunks, std::size_t max_memory,
                                 const ChunkSizer& size_of, codec::BlockDecoder& decoder) {
  VariableChunkMap map;
  map.nchunks = rules.nchunks;
  map.nbytes = rules.nbytes;
  // Half of the memory, because a vector that grows may have twice the capacity that it needs.
  const std::size_t max_checkpoints =
      std::min(VariableChunkMap::kMaxCheckpoints, max_memory / (2 * sizeof(std::int64_t)));
  if (map.nchunks > max_chunks || max_checkpoints < 2)
    throw codec::Error(codec::FormatErrc::too_large,
                       fmt::format("chunk headers: map of {} chunks in {} bytes, at most {} chunks",
                                   map.nchunks, max_memory, max_chunks));
  std::int64_t sum = 0;
  for_each_entry(table, 0, map.nchunks, decoder, [&](std::int64_t number, std::int64_t entry) {
    // Stores a checkpoint for one chunk in `stride`; the stride doubles when there are too many. A
    // page is found by its checkpoint, and its chunk headers are then read again.
    note_checkpoint(map.checkpoints, map.stride, max_checkpoints, number, sum);
    if (special_of_entry(entry) == codec::SpecialValue::none) {
      sum += size_of(place_of_entry(rules, entry, number, sum, 0));
    } else if (map.special_chunk >= 0) {
      throw_malformed(
          fmt::format("special chunks {} and {} in a variable-size frame: unknown sizes",
                      map.special_chunk, number));
    } else {
      map.special_chunk = number;
    }
  });
  place_special_chunk(map, sum);
  return map;
}

std::unique_ptr<const IndexPage> read_variable_page(const IndexRules& rules,
                                                    const PagedTable& table,
                                                    const VariableChunkMap& map, std::int64_t page,
                                                    const ChunkSizer& size_of,
                                                    codec::BlockDecoder& decoder) {
  if (page < 0 || static_cast<std::size_t>(page) >= map.checkpoints.size())
    throw_malformed(fmt::format("index page {} of {}", page, map.checkpoints.size()));
  const std::int64_t first = page * map.stride;
  const std::int64_t last = std::min(map.nchunks, first + map.stride);
  const auto slot = static_cast<std::size_t>(page);
  const std::int64_t end =
      slot + 1 < map.checkpoints.size() ? map.checkpoints[slot + 1] : map.nbytes;
  std::vector<VariableIndexPage::Entry> entries;
  entries.reserve(static_cast<std::size_t>(last - first));
  std::int64_t offset = map.checkpoints[slot];
  for_each_entry(table, first, last, decoder, [&](std::int64_t number, std::int64_t entry) {
    const std::int32_t nbytes = number == map.special_chunk
                                    ? map.special_nbytes
                                    : size_of(place_of_entry(rules, entry, number, offset, 0));
    entries.push_back({entry, offset, nbytes});
    offset += nbytes;
  });
  if (offset != end)
    throw_malformed(
        fmt::format("chunks {} to {} end at {}, a first pass said {}", first, last, offset, end));
  return std::make_unique<VariableIndexPage>(rules, first, std::move(entries));
}

std::int64_t variable_page_memory(const PagedTable& table, const VariableChunkMap& map) {
  return table.page_memory() + map.stride * std::int64_t{sizeof(VariableIndexPage::Entry)} +
         static_cast<std::int64_t>(sizeof(VariableIndexPage));
}

}  // namespace bloscfs::frame::inline reading
