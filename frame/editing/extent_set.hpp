#pragma once
// Sets of byte ranges, kept as disjoint, coalesced extents.

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
  /// The lowest run of `size` bytes that starts at `from` or later. Looks at extents of about that
  /// size one by one, and not at smaller ones.
  std::optional<Extent> first_fit(std::uint64_t size, std::uint64_t from = 0) const;
  /// Where the run that ends exactly at `end` starts; `end` when there is none.
  std::uint64_t run_start(std::uint64_t end) const;
  /// Where the run that holds `position` ends; `position` when there is none.
  std::uint64_t run_end(std::uint64_t position) const;

  bool empty() const { return extents_.empty(); }
  std::size_t count() const { return extents_.size(); }
  /// Bytes that this object takes, about: two nodes of trees for each extent.
  std::size_t memory() const { return sizeof(*this) + 96 * count(); }
  std::uint64_t total() const { return total_; }
  /// Start to end, in ascending order.
  const std::map<std::uint64_t, std::uint64_t>& extents() const { return extents_; }

 private:
  using Extents = std::map<std::uint64_t, std::uint64_t>;

  void insert(const Extent& extent);
  Extents::iterator erase(Extents::iterator extent);
  void sort_by_size() const;

  Extents extents_;
  std::uint64_t total_ = 0;
  /// Where the extents of each class of sizes start; empty before the first search.
  mutable std::vector<std::set<std::uint64_t>> starts_;
};

}  // namespace bloscfs::frame::inline editing
