#include "frame/editing/extent_set.hpp"

#include <algorithm>
#include <bit>

namespace bloscfs::frame::inline editing {
namespace {

/// Returns the class of a size; each power of two has eight. In wider classes a search would meet
/// many extents that are too small.
std::size_t size_class(std::uint64_t size) {
  const auto power = static_cast<std::size_t>(std::bit_width(size)) - 1;
  return 8 * power + ((power < 3 ? size << (3 - power) : size >> (power - 3)) & 7);
}

}  // namespace

void ExtentSet::insert(const Extent& extent) {
  extents_.emplace(extent.start, extent.end());
  total_ += extent.size;
  if (starts_.empty()) return;
  const std::size_t which = size_class(extent.size);
  if (which >= starts_.size()) starts_.resize(which + 1);
  starts_[which].insert(extent.start);
}

ExtentSet::Extents::iterator ExtentSet::erase(Extents::iterator extent) {
  const auto [start, end] = *extent;
  total_ -= end - start;
  if (!starts_.empty()) starts_[size_class(end - start)].erase(start);
  return extents_.erase(extent);
}

/// Runs before the first search only, because most sets are never searched.
void ExtentSet::sort_by_size() const {
  starts_.resize(1);
  for (const auto& [start, end] : extents_) {
    const std::size_t which = size_class(end - start);
    if (which >= starts_.size()) starts_.resize(which + 1);
    starts_[which].insert(start);
  }
}

void ExtentSet::add(const Extent& extent) {
  if (extent.size == 0) return;
  std::uint64_t start = extent.start, end = extent.end();
  auto next = extents_.upper_bound(start);
  if (next != extents_.begin() && std::prev(next)->second >= start) --next;
  while (next != extents_.end() && next->first <= end) {
    start = std::min(start, next->first);
    end = std::max(end, next->second);
    next = erase(next);
  }
  insert({start, end - start});
}

void ExtentSet::remove(const Extent& extent) {
  if (extent.size == 0) return;
  auto next = extents_.upper_bound(extent.start);
  if (next != extents_.begin() && std::prev(next)->second > extent.start) --next;
  while (next != extents_.end() && next->first < extent.end()) {
    const auto [start, end] = *next;
    next = erase(next);
    if (start < extent.start) insert({start, extent.start - start});
    if (end > extent.end()) insert({extent.end(), end - extent.end()});
  }
}

bool ExtentSet::contains(const Extent& extent) const {
  return extent.size == 0 || run_end(extent.start) >= extent.end();
}

std::optional<Extent> ExtentSet::first_fit(std::uint64_t size, std::uint64_t from) const {
  if (size == 0) return Extent{from, 0};
  if (starts_.empty()) sort_by_size();
  std::uint64_t lowest = UINT64_MAX;
  const auto lowest_of = [&](std::size_t which) {
    const auto found = starts_[which].lower_bound(from);
    return found == starts_[which].end() ? UINT64_MAX : *found;
  };
  // All extents of larger classes are large enough.
  for (std::size_t i = size_class(size) + 1; i < starts_.size(); ++i)
    lowest = std::min(lowest, lowest_of(i));
  // Some extents of the size class of `size` itself may be too small.
  if (const std::size_t own = size_class(size); own < starts_.size()) {
    const auto& starts = starts_[own];
    for (auto i = starts.lower_bound(from); i != starts.end() && *i < lowest; ++i)
      if (extents_.at(*i) - *i >= size) return Extent{*i, size};
  }
  if (lowest == UINT64_MAX) return std::nullopt;
  return Extent{lowest, size};
}

std::uint64_t ExtentSet::run_start(std::uint64_t end) const {
  const auto next = extents_.lower_bound(end);
  if (next == extents_.begin() || std::prev(next)->second != end) return end;
  return std::prev(next)->first;
}

std::uint64_t ExtentSet::run_end(std::uint64_t position) const {
  const auto next = extents_.upper_bound(position);
  if (next == extents_.begin() || std::prev(next)->second <= position) return position;
  return std::prev(next)->second;
}

}  // namespace bloscfs::frame::inline editing
