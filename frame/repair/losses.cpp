#include "frame/repair/losses.hpp"

#include <algorithm>
#include <deque>
#include <utility>

namespace bloscfs::frame::inline repair {
namespace {

using Extents = std::vector<std::int64_t>;

/// Returns the position of item `number`, in C order, along each dimension.
Extents unravel(std::int64_t number, const Extents& counts) {
  Extents at(counts.size());
  for (std::size_t i = counts.size(); i-- > 0;) {
    at[i] = number % counts[i];
    number /= counts[i];
  }
  return at;
}

/// Where chunks and blocks of an array are in the array.
class ArrayBoxes {
 public:
  explicit ArrayBoxes(const ArrayInfo& array) : array_(array) {
    for (std::size_t i = 0; i < array.shape.size(); ++i) {
      chunks_.push_back(codec::ceil_div<std::int64_t>(array.shape[i], array.chunkshape[i]));
      blocks_.push_back(codec::ceil_div(array.chunkshape[i], array.blockshape[i]));
    }
  }

  /// Returns the box of a chunk.
  ArrayBox chunk(std::int64_t number) const {
    ArrayBox box;
    const Extents at = unravel(number, chunks_);
    for (std::size_t i = 0; i < at.size(); ++i) {
      box.start.push_back(at[i] * array_.chunkshape[i]);
      box.stop.push_back(std::min(box.start[i] + array_.chunkshape[i], array_.shape[i]));
    }
    return box;
  }

  /// Returns the largest box of consecutive chunks that begins at `number`, and their number, at
  /// most `most`.
  std::pair<ArrayBox, std::int64_t> chunks(std::int64_t number, std::int64_t most) const {
    ArrayBox box = chunk(number);
    const Extents at = unravel(number, chunks_);
    std::int64_t stride = 1, count = 1;
    for (std::size_t i = at.size(); i-- > 0;) {
      const std::int64_t along = std::min(chunks_[i] - at[i], most / stride);
      if (along == 0) break;
      count = along * stride;
      box.stop[i] = std::min((at[i] + along) * array_.chunkshape[i], array_.shape[i]);
      if (at[i] != 0 || along != chunks_[i]) break;
      stride *= chunks_[i];
    }
    return {std::move(box), count};
  }

  /// Returns the box of a block; nullopt if the block is only padding.
  std::optional<ArrayBox> block(std::int64_t chunk_number, std::int64_t number) const {
    ArrayBox box = chunk(chunk_number);
    const Extents at = unravel(number, blocks_);
    for (std::size_t i = 0; i < at.size(); ++i) {
      box.start[i] += at[i] * array_.blockshape[i];
      box.stop[i] = std::min(box.start[i] + array_.blockshape[i], box.stop[i]);
      if (box.start[i] >= box.stop[i]) return std::nullopt;
    }
    return box;
  }

 private:
  const ArrayInfo& array_;
  Extents chunks_, blocks_;
};

std::int64_t array_bytes(const ArrayInfo& array, std::int32_t typesize) {
  // If one extent is 0, nothing bounds the others, and their product might overflow.
  if (std::find(array.shape.begin(), array.shape.end(), 0) != array.shape.end()) return 0;
  std::int64_t bytes = typesize;
  for (const std::int64_t extent : array.shape) bytes *= extent;
  return bytes;
}

/// Returns the loss that applies to a whole slot; nullopt if there is none.
std::optional<LossKind> kind_of(const Slot& slot) {
  if (slot.kind == SlotKind::missing) return LossKind::lost;
  if (slot.kind == SlotKind::stored && !slot.is_proven &&
      (slot.is_doubtful || slot.soundness != Soundness::whole))
    return LossKind::doubtful;
  if (slot.is_guess) return LossKind::guessed;
  return std::nullopt;
}

class LossWalk {
 public:
  LossWalk(const RepairPlan& plan, const std::function<void(const Loss&)>& visit)
      : plan_(plan), visit_(visit) {
    // An empty array has no chunks, and its chunk shape may have zeros, which would be divisors.
    if (plan.info.array && !plan.slots.empty()) boxes_.emplace(*plan.info.array);
  }

  void run() {
    for (const Slot& slot : plan_.slots) {
      const std::int64_t size = slot.count * slot.nbytes;
      const auto blocks = plan_.lost_blocks.find(number_);
      if (blocks != plan_.lost_blocks.end())
        add_damaged(slot, blocks->second);
      else if (const auto kind = kind_of(slot))
        add(*kind, slot.count, {offset_, size});
      number_ += slot.count;
      offset_ += size;
    }
    flush();
  }

 private:
  /// Adds a chunk that has lost some blocks. Its other blocks are doubtful.
  void add_damaged(const Slot& slot, const std::vector<ByteRange>& lost) {
    // Blocks of another size than the array's have no boxes.
    if (boxes_ && !are_blocks(slot, lost)) return add(LossKind::lost, 1, {offset_, slot.nbytes});
    std::int64_t at = 0;
    for (const ByteRange& range : lost) {
      add(LossKind::doubtful, 1, {offset_ + at, range.offset - at});
      add(LossKind::lost, 1, {offset_ + range.offset, range.size});
      at = range.offset + range.size;
    }
    add(LossKind::doubtful, 1, {offset_ + at, slot.nbytes - at});
  }

  bool are_blocks(const Slot& slot, const std::vector<ByteRange>& ranges) const {
    const std::int64_t blocksize = plan_.info.blocksize;
    return blocksize > 0 && std::all_of(ranges.begin(), ranges.end(), [&](const ByteRange& range) {
             const std::int64_t end = range.offset + range.size;
             return range.offset % blocksize == 0 && (end % blocksize == 0 || end == slot.nbytes);
           });
  }

  void add(LossKind kind, std::int64_t chunks, const ByteRange& content) {
    if (content.size <= 0) return;
    if (boxes_) return add_boxes(kind, chunks, content);
    if (!pending_.empty()) {
      Loss& last = pending_.back();
      if (last.kind == kind && last.content.offset + last.content.size == content.offset) {
        last.content.size += content.size;
        last.chunk_count = number_ + chunks - last.first_chunk;
        return;
      }
    }
    flush();
    pending_.push_back({kind, number_, chunks, content, std::nullopt});
  }

  void add_boxes(LossKind kind, std::int64_t chunks, const ByteRange& content) {
    const std::int64_t chunksize = plan_.info.chunksize, blocksize = plan_.info.blocksize;
    if (content.size == chunks * chunksize) {
      for (std::int64_t i = 0; i < chunks;) {
        auto [box, count] = boxes_->chunks(number_ + i, chunks - i);
        add_box({kind, number_ + i, count, {}, std::move(box)});
        i += count;
      }
      return;
    }
    const std::int64_t first = (content.offset - offset_) / blocksize;
    for (std::int64_t i = 0; i * blocksize < content.size; ++i) {
      auto box = boxes_->block(number_, first + i);
      if (box) add_box({kind, number_, 1, {}, std::move(box)});
    }
  }

  /// Joins blocks to rows of blocks, these to planes, and so on.
  void add_box(Loss loss) {
    for (; !pending_.empty() && join(pending_.back(), loss); pending_.pop_back())
      loss = std::move(pending_.back());
    pending_.push_back(std::move(loss));
    if (pending_.size() > plan_.info.array->shape.size()) {
      visit_(pending_.front());
      pending_.pop_front();
    }
  }

  /// Adds `next` to `loss` if both together are one box without a sound chunk between them.
  static bool join(Loss& loss, const Loss& next) {
    if (loss.kind != next.kind || loss.first_chunk + loss.chunk_count < next.first_chunk)
      return false;
    ArrayBox& box = *loss.box;
    std::optional<std::size_t> along;
    for (std::size_t i = 0; i < box.start.size(); ++i) {
      if (box.start[i] == next.box->start[i] && box.stop[i] == next.box->stop[i]) continue;
      if (along || box.stop[i] != next.box->start[i]) return false;
      along = i;
    }
    if (!along) return false;
    box.stop[*along] = next.box->stop[*along];
    loss.chunk_count = next.first_chunk + next.chunk_count - loss.first_chunk;
    return true;
  }

  void flush() {
    for (const Loss& loss : pending_) visit_(loss);
    pending_.clear();
  }

  const RepairPlan& plan_;
  const std::function<void(const Loss&)>& visit_;
  std::optional<ArrayBoxes> boxes_;
  std::deque<Loss> pending_;  ///< losses that the next one may join
  std::int64_t number_ = 0, offset_ = 0;
};

}  // namespace

const char* loss_name(LossKind kind) {
  switch (kind) {
    case LossKind::lost:
      return "lost";
    case LossKind::doubtful:
      return "doubtful";
    case LossKind::guessed:
      break;
  }
  return "guessed";
}

void for_each_loss(const RepairPlan& plan, const std::function<void(const Loss&)>& visit) {
  LossWalk(plan, visit).run();
}

void for_each_range(const RepairPlan& plan, const Loss& loss,
                    const std::function<void(const ByteRange&)>& visit) {
  if (!loss.box) return visit(loss.content);
  const Extents& shape = plan.info.array->shape;
  const ArrayBox& box = *loss.box;
  // Trailing dimensions that the box covers completely form one run.
  std::size_t split = shape.size();
  std::int64_t run = plan.info.typesize, item = plan.info.typesize;
  while (split > 0) {
    --split;
    run = (box.stop[split] - box.start[split]) * item;
    if (box.start[split] != 0 || box.stop[split] != shape[split]) break;
    item *= shape[split];
  }
  Extents at = box.start;
  for (;;) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) offset = offset * shape[i] + at[i];
    visit({offset * plan.info.typesize, run});
    std::size_t i = split;
    while (i > 0 && ++at[i - 1] == box.stop[i - 1]) {
      at[i - 1] = box.start[i - 1];
      --i;
    }
    if (i == 0) return;
  }
}

LossSummary sum_losses(const RepairPlan& plan) {
  LossSummary sum;
  sum.contents =
      plan.info.array ? array_bytes(*plan.info.array, plan.info.typesize) : plan.info.nbytes;
  for_each_loss(plan, [&](const Loss& loss) {
    std::int64_t bytes = loss.content.size;
    if (loss.box) {
      bytes = plan.info.typesize;
      for (std::size_t i = 0; i < loss.box->start.size(); ++i)
        bytes *= loss.box->stop[i] - loss.box->start[i];
    }
    std::int64_t& kind = loss.kind == LossKind::lost       ? sum.lost
                         : loss.kind == LossKind::doubtful ? sum.doubtful
                                                           : sum.guessed;
    kind += bytes;
  });
  sum.intact = sum.contents - sum.lost - sum.doubtful - sum.guessed;
  return sum;
}

}  // namespace bloscfs::frame::inline repair
