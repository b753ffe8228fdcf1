#include "frame/repair/chunk_order.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "codec/error.hpp"
#include "frame/header/cframe_format.hpp"
#include "frame/header/frame_limits.hpp"
#include "frame/reading/chunk_index.hpp"

namespace bloscfs::frame::inline repair {
namespace {

/// Fewest bytes that may have been a chunk.
constexpr std::uint64_t kLeastGap = kMinStoredChunk;

Slot make_stored(const FoundChunk& chunk, bool is_guess) {
  Slot slot;
  slot.kind = SlotKind::stored;
  slot.soundness = chunk.soundness;
  slot.is_guess = is_guess;
  slot.nbytes = chunk.nbytes;
  slot.cbytes = chunk.cbytes;
  slot.at = chunk.at;
  return slot;
}

void add_missing(std::vector<Slot>& slots, std::int64_t count, bool is_unknown) {
  if (count <= 0) return;
  Slot* const last = slots.empty() ? nullptr : &slots.back();
  if (last != nullptr && last->kind == SlotKind::missing && last->is_unknown == is_unknown)
    last->count += count;
  else
    slots.push_back(Slot::make_missing(count, is_unknown));
}

/// Returns the chunks that no slot names, in order.
std::vector<const FoundChunk*> unnamed_chunks(const std::vector<Slot>& slots,
                                              const std::vector<FoundChunk>& found) {
  std::vector<std::uint64_t> named;
  for (const Slot& slot : slots)
    if (slot.kind == SlotKind::stored) named.push_back(slot.at);
  std::sort(named.begin(), named.end());
  std::vector<const FoundChunk*> unnamed;
  for (const FoundChunk& chunk : found)
    if (!std::binary_search(named.begin(), named.end(), chunk.at)) unnamed.push_back(&chunk);
  return unnamed;
}

/// Returns for each slot, and for the end, the position of the first stored chunk from that slot
/// on.
std::vector<std::uint64_t> next_places(const std::vector<Slot>& slots) {
  std::vector<std::uint64_t> places(slots.size() + 1, std::numeric_limits<std::uint64_t>::max());
  for (std::size_t i = slots.size(); i-- > 0;)
    places[i] = slots[i].kind == SlotKind::stored ? slots[i].at : places[i + 1];
  return places;
}

bool is_gap(const Slot& slot) { return slot.kind == SlotKind::missing; }

/// Returns the unexplained bytes in front of each chunk.
std::vector<std::uint64_t> gaps_before(const std::vector<FoundChunk>& found, std::uint64_t begin,
                                       const Unexplained& unexplained) {
  std::vector<std::uint64_t> gaps;
  std::uint64_t end = begin;
  for (const FoundChunk& chunk : found) {
    gaps.push_back(chunk.at > end ? unexplained(end, chunk.at) : 0);
    end = std::max(end, chunk.end());
  }
  return gaps;
}

}  // namespace

std::vector<Slot> order_by_index(const IndexRemains& index, std::int64_t base,
                                 const std::vector<FoundChunk>& found) {
  std::vector<Slot> slots;
  for (const EntryRun& run : index.runs) {
    if (!run.is_known) {
      add_missing(slots, run.count, true);
    } else if (run.value < 0) {
      Slot slot;
      slot.kind = SlotKind::special;
      slot.special = special_of_entry(run.value);
      slot.count = run.count;
      slots.push_back(slot);
    } else {
      const auto at = place_of_entry(run.value, base);
      const FoundChunk* const chunk = at ? find_chunk(found, *at) : nullptr;
      if (chunk != nullptr)
        slots.push_back(make_stored(*chunk, false));
      else
        add_missing(slots, run.count, false);
    }
  }
  return slots;
}

bool mark_repeated_unknown(std::vector<Slot>& slots) {
  std::unordered_map<std::uint64_t, int> uses;
  for (const Slot& slot : slots)
    if (slot.kind == SlotKind::stored) ++uses[slot.at];
  bool found = false;
  for (Slot& slot : slots) {
    if (slot.kind != SlotKind::stored || uses[slot.at] < 2) continue;
    slot = Slot::make_missing(1, true);
    found = true;
  }
  return found;
}

void fill_gaps(std::vector<Slot>& slots, const std::vector<FoundChunk>& found) {
  const auto unnamed = unnamed_chunks(slots, found);
  const std::vector<std::uint64_t> places_behind = next_places(slots);
  std::vector<Slot> filled;
  filled.reserve(slots.size());
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < slots.size();) {
    if (!is_gap(slots[i])) {
      if (slots[i].kind == SlotKind::stored) before = slots[i].at;
      filled.push_back(slots[i++]);
      continue;
    }
    std::int64_t count = 0;
    bool is_unknown = false;
    std::size_t next = i;
    for (; next < slots.size() && is_gap(slots[next]); ++next) {
      count += slots[next].count;
      is_unknown = is_unknown || slots[next].is_unknown;
    }
    const std::uint64_t after = places_behind[next];
    const auto first = std::partition_point(
        unnamed.begin(), unnamed.end(),
        [&](const FoundChunk* chunk) { return chunk->at <= before && before > 0; });
    const auto last = std::partition_point(
        unnamed.begin(), unnamed.end(), [&](const FoundChunk* chunk) { return chunk->at < after; });
    const std::int64_t there = std::max<std::int64_t>(0, last - first);
    // `there` counts the unnamed chunks between the neighbours of the run. If all entries of the
    // run are known, they name places without a chunk. Then takes unnamed chunks only if there are
    // exactly as many.
    const std::int64_t taken = is_unknown || there == count ? std::min(there, count) : 0;
    for (std::int64_t k = 0; k < taken; ++k) filled.push_back(make_stored(*first[k], true));
    if (taken == 0)
      filled.insert(filled.end(), slots.begin() + static_cast<std::ptrdiff_t>(i),
                    slots.begin() + static_cast<std::ptrdiff_t>(next));
    else
      add_missing(filled, count - taken, true);
    i = next;
  }
  slots = std::move(filled);
}

std::vector<Slot> order_by_place(const std::vector<FoundChunk>& found, std::int64_t count,
                                 std::uint64_t begin, const Unexplained& unexplained) {
  const std::vector<std::uint64_t> gaps = gaps_before(found, begin, unexplained);
  std::uint64_t stored = 0;
  for (const FoundChunk& chunk : found) stored += static_cast<std::uint64_t>(chunk.cbytes);
  const std::uint64_t usual = std::max<std::uint64_t>(1, found.empty() ? 1 : stored / found.size());
  std::int64_t missing = (count < 0 ? max_chunk_count(false) : count) - std::ssize(found);
  // If there are as many gaps as missing chunks, each gap is one chunk. Otherwise gaps below a
  // quarter of the usual size may be remains of earlier states.
  const bool each = std::count_if(gaps.begin(), gaps.end(),
                                  [](std::uint64_t gap) { return gap >= kLeastGap; }) == missing;
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::int64_t skipped = each && gaps[i] >= kLeastGap ? 1 : 0;
    if (!each && gaps[i] >= std::max(kLeastGap, usual / 4))
      skipped =
          static_cast<std::int64_t>(std::max<std::uint64_t>(1, (gaps[i] + usual / 2) / usual));
    skipped = std::clamp<std::int64_t>(skipped, 0, std::max<std::int64_t>(0, missing));
    add_missing(slots, skipped, true);
    missing -= skipped;
    slots.push_back(make_stored(found[i], true));
  }
  if (count >= 0) resize_slots(slots, count);
  return slots;
}

std::vector<Slot> order_by_number(const std::vector<FoundChunk>& found, std::int64_t count) {
  std::vector<Slot> slots;
  std::int64_t missing = (count < 0 ? max_chunk_count(false) : count) - std::ssize(found);
  std::uint64_t number = 0;
  for (const FoundChunk& chunk : found) {
    const auto skipped = static_cast<std::int64_t>(chunk.at - number);
    const std::int64_t added =
        std::clamp<std::int64_t>(skipped, 0, std::max<std::int64_t>(0, missing));
    add_missing(slots, added, true);
    missing -= added;
    slots.push_back(make_stored(chunk, true));
    number = chunk.at + 1;
  }
  if (count >= 0) resize_slots(slots, count);
  return slots;
}

std::vector<Slot> order_by_checksum(const std::vector<FoundChunk>& found, std::int64_t count,
                                    const std::function<std::uint64_t(const FoundChunk&)>& sum_of,
                                    const std::function<std::uint64_t(std::int64_t)>& wanted) {
  std::unordered_map<std::uint64_t, const FoundChunk*> by_sum;
  for (const FoundChunk& chunk : found) by_sum.emplace(sum_of(chunk), &chunk);
  std::vector<Slot> slots;
  for (std::int64_t number = 0; number < count; ++number) {
    const std::uint64_t sum = wanted(number);
    const auto match = sum == 0 ? by_sum.end() : by_sum.find(sum);
    if (match != by_sum.end())
      slots.push_back(make_stored(*match->second, false));
    else
      add_missing(slots, 1, true);
  }
  return slots;
}

std::int64_t count_slots(const std::vector<Slot>& slots) {
  std::int64_t count = 0;
  for (const Slot& slot : slots) count += slot.count;
  return count;
}

void resize_slots(std::vector<Slot>& slots, std::int64_t count) {
  std::int64_t have = count_slots(slots);
  add_missing(slots, count - have, true);
  while (have > count) {
    const std::int64_t cut = std::min(slots.back().count, have - count);
    slots.back().count -= cut;
    have -= cut;
    if (slots.back().count == 0) slots.pop_back();
  }
}

}  // namespace bloscfs::frame::inline repair
