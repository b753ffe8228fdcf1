#include "tools/tables/null_mask.hpp"

#include <utility>

#include <fmt/core.h>

#include "codec/error.hpp"

namespace bloscfs::tools {

NullMask::NullMask(std::shared_ptr<const frame::Snapshot> notnull, RunLimits& limits) {
  if (!notnull) return;
  array_ = std::make_unique<ArrayReader>(std::move(notnull), limits);
  array_->require_items("|b1", "its mask of absent values is");
}

void NullMask::load(std::int64_t first, std::int64_t count) {
  if (!array_) return;
  if (count > array_->rows() - first)
    codec::throw_malformed(
        fmt::format("its mask of absent values ends behind row {}", array_->rows() - 1));
  first_ = first;
  has_value_.resize(static_cast<std::size_t>(count));
  array_->read(first, has_value_);
}

}  // namespace bloscfs::tools
