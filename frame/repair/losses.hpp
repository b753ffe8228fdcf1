#pragma once
// What a repair does not bring back for certain, as ranges of the contents and as boxes of arrays.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "frame/repair/repair_plan.hpp"

namespace bloscfs::frame::inline repair {

enum class LossKind {
  lost,      ///< zeros, or left out
  doubtful,  ///< read from a chunk that is damaged, or cannot be decoded or compared here
  guessed,   ///< of sound chunks, of which nothing proves that they belong there
};
/// "lost", "doubtful", "guessed".
const char* loss_name(LossKind kind);

/// Coordinates of elements, half open along each dimension.
struct ArrayBox {
  std::vector<std::int64_t> start, stop;
};

struct Loss {
  LossKind kind = LossKind::lost;
  std::int64_t first_chunk = 0, chunk_count = 1;
  ByteRange content;            ///< of flat contents
  std::optional<ArrayBox> box;  ///< of arrays, instead; never empty
};

/// Calls `visit` in the order of the chunks, for ranges as long as possible; of an array for boxes:
/// neighbours that are one box together come as one.
void for_each_loss(const RepairPlan& plan, const std::function<void(const Loss&)>& visit);

/// Calls `visit` with the bytes of each loss, counted in what would be extracted: of a flat frame
/// one range, of an array one for each run of elements.
void for_each_range(const RepairPlan& plan, const Loss& loss,
                    const std::function<void(const ByteRange&)>& visit);

/// Bytes of contents: of all, of what is sound and in its place, and by kinds.
struct LossSummary {
  std::int64_t contents = 0, intact = 0, lost = 0, doubtful = 0, guessed = 0;
  bool is_all_intact() const { return intact == contents; }
};
LossSummary sum_losses(const RepairPlan& plan);

}  // namespace bloscfs::frame::inline repair
