#include "frame/reading/chunk_index.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/header/cframe_format.hpp"

namespace bloscfs::frame::inline reading {
namespace {

using codec::throw_malformed;

/// Returns the slot of `chunk` in a page that has `count` chunks, beginning with `first`.
std::size_t slot_of(std::int64_t chunk, std::int64_t first, std::size_t count) {
  if (chunk < first || static_cast<std::uint64_t>(chunk - first) >= count)
    throw_malformed(fmt::format("chunk {} is not among the {} from {} on", chunk, count, first));
  return static_cast<std::size_t>(chunk - first);
}

bool all_equal_special(const std::vector<std::int64_t>& entries) {
  return !entries.empty() && entries.front() < 0 &&
         std::all_of(entries.begin(), entries.end(),
                     [&](std::int64_t entry) { return entry == entries.front(); });
}

bool is_hole(std::int64_t entry) {
  const auto bits = static_cast<std::uint64_t>(entry);
  return bits == std::uint64_t{kSpecialEntryZero} << 56 ||
         bits == std::uint64_t{kSpecialEntryUninit} << 56;
}

std::optional<bool> uniform_hole_of(const std::vector<std::int64_t>& entries) {
  if (entries.empty()) return std::nullopt;
  const bool hole = is_hole(entries.front());
  const bool uniform = std::all_of(entries.begin(), entries.end(),
                                   [&](std::int64_t entry) { return is_hole(entry) == hole; });
  return uniform ? std::optional<bool>(hole) : std::nullopt;
}

}  // namespace

codec::SpecialValue special_of_entry(std::int64_t entry) {
  if (entry >= 0) return codec::SpecialValue::none;
  const auto bits = static_cast<std::uint64_t>(entry);
  const auto top = static_cast<std::uint8_t>(bits >> 56);
  if ((bits << 8) == 0) {
    if (top == kSpecialEntryZero) return codec::SpecialValue::zero;
    if (top == kSpecialEntryNan) return codec::SpecialValue::nan;
    if (top == kSpecialEntryUninit) return codec::SpecialValue::uninit;
  }
  throw_malformed(fmt::format("index entry {:#018x} is not a special value", bits));
}

ChunkPlace place_of_entry(const IndexRules& rules, std::int64_t entry, std::int64_t number,
                          std::int64_t content_offset, std::int32_t nbytes) {
  ChunkPlace place;
  place.number = number;
  place.content_offset = content_offset;
  place.nbytes = nbytes;
  place.special = special_of_entry(entry);
  if (place.special != codec::SpecialValue::none) return place;
  if (rules.kind == ContainerKind::sframe) {
    if (entry > std::int64_t{UINT32_MAX})
      throw_malformed(fmt::format("index entry of chunk {}: file number {}", number, entry));
    place.stored_offset = static_cast<std::uint64_t>(entry);
    place.stored_limit = INT32_MAX;
    return place;
  }
  // Only the chunk's header tells where it ends. This checks that it begins inside the chunk area,
  // with room for the smallest chunk.
  if (entry > rules.chunks_size - kMinStoredChunk)
    throw_malformed(fmt::format("index entry of chunk {}: offset {} in a chunk area of {}", number,
                                entry, rules.chunks_size));
  place.stored_offset = rules.chunks_at + static_cast<std::uint64_t>(entry);
  place.stored_limit = static_cast<std::uint64_t>(rules.chunks_size - entry);
  return place;
}

FixedIndexPage::FixedIndexPage(const IndexRules& rules, TablePage page)
    : rules_(rules),
      page_(std::move(page)),
      uniform_special_(all_equal_special(page_.entries)),
      uniform_hole_(uniform_hole_of(page_.entries)) {
  // Throws if all entries of the page are the same bad entry. Callers that use uniform_special()
  // may never ask for a single chunk of such a page.
  if (uniform_special_) special_of_entry(page_.entries.front());
}

ChunkPlace FixedIndexPage::place(std::int64_t chunk) const {
  const std::int64_t entry = page_.entries[slot_of(chunk, page_.first, page_.entries.size())];
  const std::int64_t content_offset = chunk * rules_.chunksize;
  const auto nbytes = static_cast<std::int32_t>(
      std::min<std::int64_t>(rules_.chunksize, rules_.nbytes - content_offset));
  return place_of_entry(rules_, entry, chunk, content_offset, nbytes);
}

std::int64_t FixedIndexPage::chunk_at(std::int64_t content_offset) const {
  const std::int64_t chunk = content_offset / rules_.chunksize;
  slot_of(chunk, page_.first, page_.entries.size());
  return chunk;
}

VariableIndexPage::VariableIndexPage(const IndexRules& rules, std::int64_t first,
                                     std::vector<Entry> entries)
    : rules_(rules), first_(first), entries_(std::move(entries)) {}

ChunkPlace VariableIndexPage::place(std::int64_t chunk) const {
  const Entry& entry = entries_[slot_of(chunk, first_, entries_.size())];
  return place_of_entry(rules_, entry.value, chunk, entry.content_offset, entry.nbytes);
}

std::int64_t VariableIndexPage::chunk_at(std::int64_t content_offset) const {
  // Chunks of 0 bytes have the same offset as the chunk behind them. That chunk is the last entry
  // with this offset.
  const auto next = std::upper_bound(
      entries_.begin(), entries_.end(), content_offset,
      [](std::int64_t offset, const Entry& entry) { return offset < entry.content_offset; });
  if (next == entries_.begin() || content_offset - (next - 1)->content_offset >= (next - 1)->nbytes)
    throw_malformed(fmt::format("content offset {} is not in the {} chunks from {} on",
                                content_offset, entries_.size(), first_));
  return first_ + (next - 1 - entries_.begin());
}

bool VariableIndexPage::uniform_special() const {
  std::vector<std::int64_t> values;
  for (const Entry& entry : entries_) values.push_back(entry.value);
  return all_equal_special(values);
}

}  // namespace bloscfs::frame::inline reading
