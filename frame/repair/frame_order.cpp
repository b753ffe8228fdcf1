// Planning: puts chunks in their places.

#include <algorithm>

#include "frame/header/frame_header.hpp"
#include "frame/repair/chunk_order.hpp"
#include "frame/repair/frame_planner.hpp"

namespace bloscfs::frame::inline repair {

/// Returns the number of the frame's chunks according to its sizes; -1: not known.
std::int64_t FramePlanner::known_count() const {
  if (sizes_.nbytes && *sizes_.nbytes == 0) return 0;
  if (sizes_.chunksize > 0 && sizes_.nbytes) return count_chunks(*sizes_.nbytes, sizes_.chunksize);
  return -1;
}

/// Sets the slots by the index or by checksums. Leaves no slots if neither is usable.
void FramePlanner::take_order() {
  if (index_) {
    plan_.slots = order_by_index(*index_, base_.value_or(0), found_);
    return;
  }
  plan_.order = Order::places;
  if (!checksums_) return;
  plan_.slots = order_by_checksum(
      found_, checksums_->count(),
      [&](const FoundChunk& chunk) { return stored_sum(chunk.at, chunk.cbytes); },
      [&](std::int64_t number) { return checksums_->sum_of(number); });
  const bool names_any = std::any_of(plan_.slots.begin(), plan_.slots.end(), [](const Slot& slot) {
    return slot.kind == SlotKind::stored;
  });
  if (names_any)
    plan_.order = Order::checksums;
  else
    plan_.slots.clear();
}

/// Returns the chunks that the slots name, as evidence of the sizes. Other chunks may be of earlier
/// states.
SizeEvidence FramePlanner::gather_evidence() const {
  if (plan_.slots.empty() || index_is_guess_) return {found_, {}, {}};
  SizeEvidence evidence;
  evidence.count = count_slots(plan_.slots);
  // If all chunks are special, only the header tells how many there are.
  if (index_ && index_->runs.size() == 1 && plan_.slots.front().kind == SlotKind::special &&
      header_.is_sound)
    evidence.count.reset();
  for (const Slot& slot : plan_.slots) {
    const FoundChunk* const chunk =
        slot.kind == SlotKind::stored ? find_chunk(found_, slot.at) : nullptr;
    if (chunk == nullptr) continue;
    if (&slot == &plan_.slots.back())
      evidence.last = *chunk;
    else
      evidence.chunks.push_back(*chunk);
  }
  return evidence;
}

void FramePlanner::order_chunks() {
  const std::int64_t count = known_count();
  if (count == 0) return plan_.slots.clear();
  if (sizes_.chunksize < 0) {
    plan_.slots.clear();
    return doubt("nothing tells how large chunks were");
  }
  if (!index_) {
    if (plan_.order != Order::checksums) order_by_places();
  } else {
    distrust_index();
    if (count >= 0 && plan_.slots.size() == 1 && plan_.slots.front().kind == SlotKind::special)
      plan_.slots.front().count = count;
    if (count >= 0) resize_slots(plan_.slots, count);
    if (count < 0 && index_is_guess_) {
      // Chunks behind an index that is a guess are newer than this index. Each of them gets a slot.
      const auto newer = std::count_if(found_.begin(), found_.end(), [&](const FoundChunk& chunk) {
        return !numbers_ && chunk.at > index_->at;
      });
      resize_slots(plan_.slots, index_->count + newer);
    }
    fill_gaps(plan_.slots, found_);
  }
  if (sizes_.is_guess) doubt("nothing proves how large chunks were: where they begin is a guess");
  if (index_is_guess_ || sizes_.is_guess)
    for (Slot& slot : plan_.slots) slot.is_guess = true;
  if (!index_) return;
  const bool guesses = std::any_of(plan_.slots.begin(), plan_.slots.end(),
                                   [](const Slot& slot) { return slot.is_guess; });
  if (guesses || !index_->is_whole()) plan_.order = Order::index_in_part;
}

/// Handles an index whose bytes were changed but still decode. Such an index names chunks twice.
void FramePlanner::distrust_index() {
  if (!repeats_) return;
  const auto unnamed = std::count_if(found_.begin(), found_.end(), [&](const FoundChunk& chunk) {
    return !is_named(chunk.at) && chunk.nbytes == sizes_.chunksize;
  });
  if (unnamed == 0 || !mark_repeated_unknown(plan_.slots)) return;
  plan_.order = Order::index_in_part;
  plan_.notes.emplace_back("the index names chunks twice, which was not believed");
}

/// Returns the number of bytes in [begin, end) behind the indexes and trailers at its start.
/// Earlier states leave indexes and trailers one behind the other.
std::uint64_t FramePlanner::unexplained(std::uint64_t begin, std::uint64_t end) const {
  while (begin < end) {
    const FoundChunk* const table = find_chunk(tables_, begin);
    const std::uint64_t next =
        table != nullptr ? table->end() : find_trailer_end(*source_, begin, end);
    if (next <= begin) break;
    begin = next;
  }
  return end - std::min(begin, end);
}

std::vector<Slot> FramePlanner::order_found(const std::vector<FoundChunk>& chunks,
                                            std::int64_t count) const {
  if (numbers_) return order_by_number(chunks, count);
  return order_by_place(
      chunks, count, static_cast<std::uint64_t>(header_.header_len.value_or(0)),
      [&](std::uint64_t begin, std::uint64_t end) { return unexplained(begin, end); });
}

void FramePlanner::order_by_places() {
  const std::int64_t count = known_count();
  if (sizes_.is_variable()) {
    plan_.slots = order_found(found_, -1);
    return;
  }
  std::vector<FoundChunk> full, shorter;
  for (const FoundChunk& chunk : found_) {
    if (chunk.nbytes == sizes_.chunksize) full.push_back(chunk);
    if (chunk.nbytes < sizes_.chunksize) shorter.push_back(chunk);
  }
  // Only the last chunk is shorter. Other shorter chunks are earlier versions of it.
  const std::int64_t rest = sizes_.nbytes ? *sizes_.nbytes % sizes_.chunksize : -1;
  std::erase_if(shorter, [&](const FoundChunk& chunk) {
    return rest >= 0 ? chunk.nbytes != rest : !full.empty() && chunk.at < full.back().at;
  });
  const bool has_short = rest > 0 || (rest < 0 && !shorter.empty());
  plan_.slots = order_found(full, count < 0 ? -1 : count - (has_short ? 1 : 0));
  if (!has_short) return;
  if (shorter.empty())
    plan_.slots.push_back(Slot::make_missing(1, true));
  else
    for (Slot& slot : order_found({shorter.back()}, 1)) plan_.slots.push_back(slot);
}

}  // namespace bloscfs::frame::inline repair
