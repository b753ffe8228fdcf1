#pragma once
// Keeps checkpoints of a long run of chunks in bounded memory.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bloscfs::frame::inline stored {

/// Records `checkpoint` of chunk `number` if the number is a multiple of `stride`. If `most`
/// checkpoints are already stored, drops every other one and doubles the stride. The caller passes
/// chunks 0, 1, 2... in order; `most` is at least 2. With most 4 and stride 1, it stores chunks 0
/// to 3, then 0, 2, 4 and 6, then 0, 4, 8 and 12.
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
