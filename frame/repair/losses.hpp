#pragma once
// The contents that a repair does not restore with certainty, as ranges of the contents and as
// boxes of arrays.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "frame/repair/repair_plan.hpp"

namespace bloscfs::frame::inline repair {

enum class LossKind {
  lost,      ///< zeros, or left out
  doubtful,  ///< from a chunk that is damaged, or that cannot be decoded or compared here
  guessed,   ///< from a sound chunk that may belong elsewhere
};
/// Returns "lost", "doubtful" or "guessed".
const char* loss_name(LossKind kind);

/// Coordinates of elements, half open along each dimension.
struct ArrayBox {
  std::vector<std::int64_t> start, stop;
};

struct Loss {
  LossKind kind = LossKind::lost;
  std::int64_t first_chunk = 0, chunk_count = 1;
  ByteRange content;            ///< of flat contents
  std::optional<ArrayBox> box;  ///< of an array, instead of `content`; never empty
};

/// Calls `visit` in the order of the chunks, with ranges as long as possible. For an array, calls
/// it with boxes, and joins neighbours that form one box.
void for_each_loss(const RepairPlan& plan, const std::function<void(const Loss&)>& visit);

/// Calls `visit` with the byte ranges of a loss in the extracted file. A flat frame has one range,
/// an array one for each run of elements.
void for_each_range(const RepairPlan& plan, const Loss& loss,
                    const std::function<void(const ByteRange&)>& visit);

/// Bytes of contents: all, those that are sound and in their place, and those of each kind of loss.
struct LossSummary {
  std::int64_t contents = 0, intact = 0, lost = 0, doubtful = 0, guessed = 0;
  bool is_all_intact() const { return intact == contents; }
};
LossSummary sum_losses(const RepairPlan& plan);

}  // namespace bloscfs::frame::inline repair
