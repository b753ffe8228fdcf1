#pragma once
// Thins out what is remembered of a long run of chunks, so that it never takes more than so much.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bloscfs::frame::inline stored {

/// Notes `checkpoint` of chunk `number` if that is a multiple of `stride`. Where there are `most`
/// already every other one is dropped, and the stride doubles. Called for chunks 0, 1, 2...; `most`
/// is at least 2. With most 4 and stride 1, chunks 0 to 3 are noted, then 0, 2 and 4, 6, then
/// 0, 4 and 8, 12.
template <typename Checkpoint>
void note_checkpoint(std::vector<Checkpoint>& checkpoints, std::int64_t& stride, std::size_t most,
                     std::int64_t number, const Checkpoint& checkpoint) {
  if (number % stride != 0) return;
  if (checkpoints.size() >= most) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < checkpoints.size(); i += 2) checkpoints[kept++] = checkpoints[i];
    checkpoints.resize(kept);
    stride *= 2;
  }
  if (number % stride == 0) checkpoints.push_back(checkpoint);
}

}  // namespace bloscfs::frame::inline stored
