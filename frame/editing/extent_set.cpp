#include "frame/editing/extent_set.hpp"

#include <algorithm>
#include <bit>

namespace bloscfs::frame {
namespace {

/// Four classes to each power of two: with wider ones, a search meets many that are too small.
std::size_t size_class(std::uint64_t size) {
  const auto power = static_cast<std::size_t>(std::bit_width(size)) - 1;
  return 4 * power + ((power < 2 ? size << (2 - power) : size >> (power - 2)) & 3);
}

}  // namespace

void ExtentSet::insert(const Extent& extent) {
  extents_.emplace(extent.start, extent.end());
  total_ += extent.size;
  const std::size_t end = std::min(search_from_.size(), size_class(extent.size) + 1);
  // An extent of class 9 is found by searches for class 9 and all smaller ones.
  for (std::size_t i = 0; i < end; ++i) search_from_[i] = std::min(search_from_[i], extent.start);
}

void ExtentSet::add(const Extent& extent) {
  if (extent.size == 0) return;
  std::uint64_t start = extent.start, end = extent.end();
  auto next = extents_.upper_bound(start);
  if (next != extents_.begin() && std::prev(next)->second >= start) --next;
  while (next != extents_.end() && next->first <= end) {
    start = std::min(start, next->first);
    end = std::max(end, next->second);
    total_ -= next->second - next->first;
    next = extents_.erase(next);
  }
  insert({start, end - start});
}

void ExtentSet::remove(const Extent& extent) {
  if (extent.size == 0) return;
  auto next = extents_.upper_bound(extent.start);
  if (next != extents_.begin() && std::prev(next)->second > extent.start) --next;
  while (next != extents_.end() && next->first < extent.end()) {
    const auto [start, end] = *next;
    total_ -= end - start;
    next = extents_.erase(next);
    if (start < extent.start) insert({start, extent.start - start});
    if (end > extent.end()) insert({extent.end(), end - extent.end()});
  }
}

bool ExtentSet::contains(const Extent& extent) const {
  return extent.size == 0 || run_end(extent.start) >= extent.end();
}

std::optional<Extent> ExtentSet::first_fit(std::uint64_t size, std::uint64_t from) const {
  if (size == 0) return Extent{from, 0};
  // Each class remembers where its search may begin, since nothing before that is large enough:
  // many takes from a fragmented file would look at the same small extents each time.
  if (search_from_.size() <= size_class(size)) search_from_.resize(size_class(size) + 1);
  std::uint64_t& low = search_from_[size_class(size)];
  const bool whole_class = from <= low;  // what is skipped is then skipped for later searches too
  bool skipped_all = whole_class;
  for (auto i = extents_.lower_bound(std::max(from, low)); i != extents_.end(); ++i) {
    const std::uint64_t length = i->second - i->first;
    if (skipped_all && size_class(length) >= size_class(size)) {
      low = i->first;
      skipped_all = false;
    }
    if (length >= size) return Extent{i->first, size};
  }
  if (skipped_all) low = UINT64_MAX;
  return std::nullopt;
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

}  // namespace bloscfs::frame
