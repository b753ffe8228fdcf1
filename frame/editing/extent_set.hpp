#pragma once
// Sets of byte ranges, kept as disjoint, coalesced extents.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace bloscfs::frame {

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
  /// The lowest run of `size` bytes that starts at `from` or later.
  std::optional<Extent> first_fit(std::uint64_t size, std::uint64_t from = 0) const;
  /// Where the run that ends exactly at `end` starts; `end` when there is none.
  std::uint64_t run_start(std::uint64_t end) const;
  /// Where the run that holds `position` ends; `position` when there is none.
  std::uint64_t run_end(std::uint64_t position) const;

  bool empty() const { return extents_.empty(); }
  std::size_t count() const { return extents_.size(); }
  std::uint64_t total() const { return total_; }
  /// Start to end, in ascending order.
  const std::map<std::uint64_t, std::uint64_t>& extents() const { return extents_; }

 private:
  void insert(const Extent& extent);

  std::map<std::uint64_t, std::uint64_t> extents_;
  std::uint64_t total_ = 0;
  /// For each size class that was searched for: no extent of that class or a larger one starts
  /// below.
  mutable std::vector<std::uint64_t> search_from_;
};

}  // namespace bloscfs::frame
