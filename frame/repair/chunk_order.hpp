#pragma once
// Puts chunks in order: by what is left of the index, otherwise by checksums, otherwise by
// position. Pure, except for the checksums.

#include <cstdint>
#include <functional>
#include <vector>

#include "frame/repair/index_remains.hpp"
#include "frame/repair/repair_plan.hpp"

namespace bloscfs::frame::inline repair {

/// Returns the slots in the order of the index. Entries count from `base`. `found` holds all
/// chunks, in the order of their positions.
std::vector<Slot> order_by_index(const IndexRemains& index, std::int64_t base,
                                 const std::vector<FoundChunk>& found);

/// Marks chunks that several entries name as unknown, because a damaged index can repeat entries.
/// Returns false if no entry repeats.
bool mark_repeated_unknown(std::vector<Slot>& slots);

/// Fills runs of missing entries with chunks that no entry names and that are stored between the
/// chunks before and behind the run. All of them are guesses.
void fill_gaps(std::vector<Slot>& slots, const std::vector<FoundChunk>& found);

/// Returns how many of the bytes between two positions may have been chunks.
using Unexplained = std::function<std::uint64_t(std::uint64_t begin, std::uint64_t end)>;

/// Returns slots in the order in which the chunks are stored in a file. The first chunk begins at
/// `begin`. Puts missing chunks where unexplained bytes are. The result has at most `count` slots
/// (-1: not known).
std::vector<Slot> order_by_place(const std::vector<FoundChunk>& found, std::int64_t count,
                                 std::uint64_t begin, const Unexplained& unexplained);
/// Orders chunk files by their numbers. The numbers follow the order of the chunks, unless some
/// chunks were replaced.
std::vector<Slot> order_by_number(const std::vector<FoundChunk>& found, std::int64_t count);

/// Returns slots for `count` chunks. Each gets the chunk whose `sum_of` equals `wanted` of the
/// slot's number (0: unknown).
std::vector<Slot> order_by_checksum(const std::vector<FoundChunk>& found, std::int64_t count,
                                    const std::function<std::uint64_t(const FoundChunk&)>& sum_of,
                                    const std::function<std::uint64_t(std::int64_t)>& wanted);

/// Sets the number of chunks to `count`: cuts off slots at the end, or adds missing chunks.
void resize_slots(std::vector<Slot>& slots, std::int64_t count);
std::int64_t count_slots(const std::vector<Slot>& slots);

}  // namespace bloscfs::frame::inline repair
