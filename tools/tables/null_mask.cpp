#include "tools/tables/null_mask.hpp"

#include <algorithm>
#include <utility>

namespace bloscfs::tools {

NullMask::NullMask(std::shared_ptr<const frame::Snapshot> notnull, RunLimits& limits) {
  if (!notnull) return;
  array_ = std::make_unique<ArrayReader>(std::move(notnull), limits);
  array_->require_items("|b1", "its mask of absent values is");
}

void NullMask::load(std::int64_t first, std::int64_t count) {
  if (!array_) return;
  first_ = first;
  count = std::clamp<std::int64_t>(array_->rows() - first, 0, count);
  has_value_.resize(static_cast<std::size_t>(count));
  array_->read(first, has_value_);
}

}  // namespace bloscfs::tools
