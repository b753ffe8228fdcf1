#pragma once
// Sets of byte ranges, stored as disjoint, coalesced extents.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace bloscfs::frame::inline editing {

struct Extent {
  std::uint64_t start = 0;
  std::uint64_t size = 0;
  std::uint64_t end() const { return start + size; }
  bool operator==(const Extent&) const = default;
};

class ExtentSet {
 public:
  void add(const Extent& extent);
  void remove(const Extent& extent);

  bool contains(const Extent& extent) const;
  /// Returns the lowest run of `size` bytes that starts at `from` or later. Checks extents of about
  /// that size one by one, and skips smaller ones.
  std::optional<Extent> first_fit(std::uint64_t size, std::uint64_t from = 0) const;
  /// Returns the start of the run that ends exactly at `end`; `end` if no run does.
  std::uint64_t run_start(std::uint64_t end) const;
  /// Returns the end of the run that holds `position`; `position` if no run does.
  std::uint64_t run_end(std::uint64_t position) const;

  bool empty() const { return extents_.empty(); }
  std::size_t count() const { return extents_.size(); }
  /// Returns roughly how many bytes this object takes: two tree nodes for each extent.
  std::size_t memory() const { return sizeof(*this) + 96 * count(); }
  std::uint64_t total() const { return total_; }
  /// Start and end of each extent, in ascending order.
  const std::map<std::uint64_t, std::uint64_t>& extents() const { return extents_; }

 private:
  using Extents = std::map<std::uint64_t, std::uint64_t>;

  void insert(const Extent& extent);
  Extents::iterator erase(Extents::iterator extent);
  void sort_by_size() const;

  Extents extents_;
  std::uint64_t total_ = 0;
  /// Start positions of the extents of each size class; empty before the first search.
  mutable std::vector<std::set<std::uint64_t>> starts_;
};

}  // namespace bloscfs::frame::inline editing
