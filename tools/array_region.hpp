#pragma once
// Reads array contents in the shape of new chunks.

#include <cstdint>
#include <vector>

#include "tools/elements.hpp"

namespace bloscfs::tools {

/// Reads the contents of an array in chunks of another shape. Thread-safe.
class ArrayRegions {
 public:
  /// `target` has the array's shape and the new chunk shape. `elements` must outlive this object.
  ArrayRegions(Elements& elements, const frame::ArrayInfo& target);

  std::int64_t chunk_count() const { return chunk_count_; }
  /// Fills `contents`, which must have the size of a whole chunk, including padding. Throws what
  /// Elements::read() throws.
  void read_chunk(std::int64_t chunk, codec::MutableBytes contents) const;
  /// True if the whole chunk certainly reads as zeros. May be false for a chunk of zeros.
  bool is_hole(std::int64_t chunk) const;

 private:
  struct Box {
    std::vector<std::int64_t> start, extent;
  };
  Box box_of(std::int64_t chunk) const;
  /// Calls `use(offset, size)` for each contiguous run of bytes of a box, in order. `offset` counts
  /// bytes from the start of the array in C order.
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
