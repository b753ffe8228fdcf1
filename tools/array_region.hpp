#pragma once
// Boxes of arrays, as new chunks want them.

#include <cstdint>
#include <vector>

#include "tools/elements.hpp"

namespace bloscfs::tools {

/// Reads chunks of an array that is to be cut in another way. Thread-safe.
class ArrayRegions {
 public:
  /// `target` has the array's shape; `elements` outlives it.
  ArrayRegions(Elements& elements, const frame::ArrayInfo& target);

  std::int64_t chunk_count() const { return chunk_count_; }
  /// Fills `contents`, which has a whole chunk's bytes, padding included. Errors as Elements'.
  void read_chunk(std::int64_t chunk, codec::MutableBytes contents) const;
  /// True if all of the chunk certainly reads as zeros.
  bool is_hole(std::int64_t chunk) const;

 private:
  struct Box {
    std::vector<std::int64_t> start, extent;
  };
  Box box_of(std::int64_t chunk) const;
  /// Calls `use(offset, size)` for the runs of bytes that a box has of the array in order.
  template <typename Use>
  void for_each_run(const Box& box, Use use) const;

  void read_runs(const Box& box, codec::MutableBytes out) const;
  void read_blocks(const Box& box, codec::MutableBytes out) const;

  Elements& elements_;
  frame::ArrayInfo target_;
  std::vector<std::int64_t> strides_;  ///< bytes
  std::int64_t chunk_count_ = 1;
};

}  // namespace bloscfs::tools
