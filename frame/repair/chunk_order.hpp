#pragma once
// Puts chunks in order: by the index, as far as there is one, else by checksums, else by where they
// are stored. Pure but for the checksums.

#include <cstdint>
#include <functional>
#include <vector>

#include "frame/repair/index_remains.hpp"
#include "frame/repair/repair_plan.hpp"

namespace bloscfs::frame::inline repair {

/// Slots as the index has them. Entries count from `base`; `found` are all chunks there are, in
/// order.
std::vector<Slot> order_by_index(const IndexRemains& index, std::int64_t base,
                                 const std::vector<FoundChunk>& found);

/// Marks chunks that several entries name as unknown, since a damaged index says such things;
/// false if there is none.
bool distrust_repetitions(std::vector<Slot>& slots);

/// Puts chunks that no entry names where entries are missing between the chunks stored before and
/// behind them. All of them are guesses.
void fill_gaps(std::vector<Slot>& slots, const std::vector<FoundChunk>& found);

/// How many of the bytes between two chunks may have been chunks.
using Unexplained = std::function<std::uint64_t(std::uint64_t begin, std::uint64_t end)>;

/// Slots in the order of a file whose chunks begin at `begin`: missing ones are put where bytes are
/// that nothing explains, `count` (-1: not known) in all at most.
std::vector<Slot> order_by_place(const std::vector<FoundChunk>& found, std::int64_t count,
                                 std::uint64_t begin, const Unexplained& unexplained);
/// The same for chunk files: numbers are those of the chunks, unless some were replaced.
std::vector<Slot> order_by_number(const std::vector<FoundChunk>& found, std::int64_t count);

/// Slots of `count` chunks: of each the one for which `sum_of` (of found) is `wanted` (of its
/// number; 0: unknown).
std::vector<Slot> order_by_checksum(const std::vector<FoundChunk>& found, std::int64_t count,
                                    const std::function<std::uint64_t(const FoundChunk&)>& sum_of,
                                    const std::function<std::uint64_t(std::int64_t)>& wanted);

/// Makes them `count` chunks: cuts off the rest, or adds missing ones.
void resize_slots(std::vector<Slot>& slots, std::int64_t count);
std::int64_t count_slots(const std::vector<Slot>& slots);

}  // namespace bloscfs::frame::inline repair
