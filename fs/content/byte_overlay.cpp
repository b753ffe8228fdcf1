#include "fs/content/byte_overlay.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

namespace bloscfs::fs {
namespace {

/// The cost of an extent or a range of zeros in addition to its bytes: tree node, vector,
/// allocator.
constexpr std::size_t kEntryCost = 112;

std::int64_t length(const PooledBuffer& bytes) { return static_cast<std::int64_t>(bytes.size()); }

}  // namespace

void ByteOverlay::write(std::int64_t offset, codec::Bytes bytes) {
  while (!bytes.empty()) {
    const std::int64_t cell_end = (offset / cell_size_ + 1) * cell_size_;
    const auto part = static_cast<std::size_t>(
        std::min(static_cast<std::int64_t>(bytes.size()), cell_end - offset));
    write_in_cell(offset, bytes.first(part), cell_end);
    bytes = bytes.subspan(part);
    offset += static_cast<std::int64_t>(part);
  }
}

void ByteOverlay::write(std::int64_t offset, PooledBuffer& bytes) {
  const std::int64_t cell_end = offset + cell_size_;
  const auto next = extents_.lower_bound(offset);
  // Take the memory over only if the bytes begin a cell, and no other bytes of the cell would stay
  // behind them. Otherwise copy: within a cell, bytes that touch must be in one extent.
  const bool is_first = next == extents_.end() || next->first >= cell_end;
  const bool is_large = length(bytes) >= cell_size_ / 4 && length(bytes) <= cell_size_;
  if (offset % cell_size_ != 0 || !is_large || !(is_first || length(bytes) == cell_size_))
    return write(offset, codec::Bytes(bytes));
  remove_extents(offset, cell_end);
  memory_ += kEntryCost + bytes.capacity();
  extents_.emplace(offset, std::move(bytes));
}

/// Returns the extent of the cell that reaches `offset`. If there is none, adds an empty one there.
ByteOverlay::Extents::iterator ByteOverlay::extent_to_grow(std::int64_t offset,
                                                           std::int64_t cell_begin) {
  const auto after = extents_.upper_bound(offset);
  if (after != extents_.begin()) {
    const auto before = std::prev(after);
    if (before->first >= cell_begin && before->first + length(before->second) >= offset)
      return before;
  }
  memory_ += kEntryCost;
  return extents_.emplace_hint(after, offset, PooledBuffer(*pages_));
}

void ByteOverlay::grow(PooledBuffer& bytes, std::size_t size, std::size_t limit) {
  if (size <= bytes.size()) return;
  memory_ -= bytes.capacity();
  // A writer that has filled a quarter of a cell most likely fills the rest, so take room for the
  // whole cell at once.
  const std::size_t ahead = size >= limit / 4 ? limit : 2 * bytes.size();
  bytes.reserve(std::min(std::max(size, ahead), limit));
  bytes.resize(size);
  memory_ += bytes.capacity();
}

ByteOverlay::Extents::iterator ByteOverlay::erase(Extents::iterator extent) {
  memory_ -= kEntryCost + extent->second.capacity();
  return extents_.erase(extent);
}

void ByteOverlay::write_in_cell(std::int64_t offset, codec::Bytes bytes, std::int64_t cell_end) {
  const auto extent = extent_to_grow(offset, cell_end - cell_size_);
  PooledBuffer& target = extent->second;
  const auto from = static_cast<std::size_t>(offset - extent->first);
  const auto limit = static_cast<std::size_t>(cell_end - extent->first);
  grow(target, from + bytes.size(), limit);
  std::memcpy(target.data() + from, bytes.data(), bytes.size());
  // Merge the extents that the bytes reach now. Extents must not overlap, or touch within a cell.
  auto next = std::next(extent);
  while (next != extents_.end() && next->first < cell_end &&
         next->first <= extent->first + length(target)) {
    const std::int64_t hidden = extent->first + length(target) - next->first;
    if (hidden < length(next->second)) {
      const std::size_t kept = next->second.size() - static_cast<std::size_t>(hidden);
      const std::size_t end = target.size();
      grow(target, end + kept, limit);
      std::memcpy(target.data() + end, next->second.data() + hidden, kept);
    }
    next = erase(next);
  }
}

void ByteOverlay::remove_extents(std::int64_t begin, std::int64_t end) {
  auto extent = extents_.upper_bound(begin);
  if (extent != extents_.begin()) --extent;
  while (extent != extents_.end() && extent->first < end) {
    const std::int64_t extent_end = extent->first + length(extent->second);
    if (extent_end <= begin) {
      ++extent;
      continue;
    }
    if (extent_end > end) {  // the bytes from `end` on stay
      const auto rest = static_cast<std::size_t>(end - extent->first);
      PooledBuffer tail(*pages_, codec::Bytes(extent->second).subspan(rest));
      memory_ += kEntryCost + tail.capacity();
      extents_.emplace(end, std::move(tail));
    }
    if (extent->first < begin) {  // the bytes before `begin` stay
      extent->second.resize(static_cast<std::size_t>(begin - extent->first));
      ++extent;
    } else {
      extent = erase(extent);
    }
  }
}

void ByteOverlay::zero(std::int64_t offset, std::int64_t size) {
  if (size <= 0) return;
  const std::int64_t end = size > std::numeric_limits<std::int64_t>::max() - offset
                               ? std::numeric_limits<std::int64_t>::max()
                               : offset + size;
  remove_extents(offset, end);
  // Merge ranges that touch: a file that is zeroed block by block costs one entry.
  std::int64_t begin = offset;
  std::int64_t last = end;
  auto range = zeros_.upper_bound(offset);
  if (range != zeros_.begin() && std::prev(range)->second >= offset) --range;
  while (range != zeros_.end() && range->first <= end) {
    begin = std::min(begin, range->first);
    last = std::max(last, range->second);
    range = zeros_.erase(range);
    memory_ -= kEntryCost;
  }
  zeros_.emplace(begin, last);
  memory_ += kEntryCost;
}

void ByteOverlay::truncate(std::int64_t size) {
  remove_extents(size, std::numeric_limits<std::int64_t>::max());
  auto range = zeros_.lower_bound(size);
  while (range != zeros_.end()) {
    range = zeros_.erase(range);
    memory_ -= kEntryCost;
  }
  if (!zeros_.empty()) {
    auto& end = std::prev(zeros_.end())->second;
    end = std::min(end, size);
  }
}

void ByteOverlay::merge(const ByteOverlay& upper) {
  for (const auto& [begin, end] : upper.zeros_) zero(begin, end - begin);
  for (const auto& [offset, bytes] : upper.extents_) write(offset, bytes);
}

ByteOverlay ByteOverlay::split_off_first(std::size_t least) {
  ByteOverlay first(*pages_, cell_size_);
  // Extents lie over zeros. So the first part may take all zeros, even those behind its extents.
  first.memory_ = zeros_.size() * kEntryCost;
  first.zeros_ = std::exchange(zeros_, {});
  for (std::size_t bytes = 0; bytes < least && !extents_.empty();) {
    auto extent = extents_.extract(extents_.begin());
    bytes += extent.mapped().size();
    first.memory_ += kEntryCost + extent.mapped().capacity();
    first.extents_.insert(first.extents_.end(), std::move(extent));
  }
  memory_ -= first.memory_;
  return first;
}

ByteOverlay::Extents::const_iterator ByteOverlay::first_extent(std::int64_t offset) const {
  auto extent = extents_.upper_bound(offset);
  if (extent == extents_.begin()) return extent;
  const auto before = std::prev(extent);
  return before->first + length(before->second) > offset ? before : extent;
}

ByteOverlay::Zeros::const_iterator ByteOverlay::first_zeros(std::int64_t offset) const {
  auto range = zeros_.upper_bound(offset);
  if (range == zeros_.begin()) return range;
  const auto before = std::prev(range);
  return before->second > offset ? before : range;
}

void ByteOverlay::for_each(std::int64_t offset, std::int64_t size,
                           const std::function<void(const Part&)>& visit) const {
  const std::int64_t end = offset + size;
  for (auto range = first_zeros(offset); range != zeros_.end() && range->first < end; ++range) {
    const std::int64_t begin = std::max(range->first, offset);
    visit({begin, std::min(range->second, end) - begin, nullptr});
  }
  for (auto extent = first_extent(offset); extent != extents_.end() && extent->first < end;
       ++extent) {
    const std::int64_t begin = std::max(extent->first, offset);
    const std::int64_t extent_end = extent->first + length(extent->second);
    visit({begin, std::min(extent_end, end) - begin,
           extent->second.data() + (begin - extent->first)});
  }
}

void ByteOverlay::apply(std::int64_t offset, codec::MutableBytes out) const {
  for_each(offset, static_cast<std::int64_t>(out.size()), [&](const Part& part) {
    const auto target = out.subspan(static_cast<std::size_t>(part.offset - offset),
                                    static_cast<std::size_t>(part.size));
    if (part.bytes == nullptr)
      std::memset(target.data(), 0, target.size());
    else
      std::memcpy(target.data(), part.bytes, target.size());
  });
}

bool ByteOverlay::touches(std::int64_t offset, std::int64_t size) const {
  const std::int64_t end = offset + size;
  const auto extent = first_extent(offset);
  if (extent != extents_.end() && extent->first < end) return true;
  const auto range = first_zeros(offset);
  return range != zeros_.end() && range->first < end;
}

std::optional<std::int64_t> ByteOverlay::next_written(std::int64_t offset) const {
  const auto extent = first_extent(offset);
  if (extent == extents_.end()) return std::nullopt;
  return std::max(extent->first, offset);
}

std::int64_t ByteOverlay::end_of_zeros(std::int64_t offset) const {
  const auto range = first_zeros(offset);
  return range != zeros_.end() && range->first <= offset ? range->second : offset;
}

codec::Bytes ByteOverlay::extent(std::int64_t offset, std::int64_t size) const {
  const auto found = first_extent(offset);
  if (found == extents_.end() || found->first > offset ||
      found->first + length(found->second) < offset + size)
    return {};
  return codec::Bytes(found->second)
      .subspan(static_cast<std::size_t>(offset - found->first), static_cast<std::size_t>(size));
}

}  // namespace bloscfs::fs
