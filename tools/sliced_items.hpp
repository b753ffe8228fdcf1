#pragma once
// Reads slices of arrays.

#include <functional>
#include <vector>

#include "tools/elements.hpp"
#include "tools/slice.hpp"

namespace bloscfs::tools {

/// The shape of an array; of a flat frame that of its items in one row.
Shape shape_of(const Elements& elements);

/// Items of a slice, in C order. For one thread.
class SlicedItems {
 public:
  /// `elements` outlives it; the slice is one of shape_of(elements).
  SlicedItems(Elements& elements, Slice slice);

  const Elements& elements() const { return elements_; }
  /// Of the slice.
  const Shape& shape() const { return shape_; }
  std::int64_t count() const;
  std::int64_t nbytes() const { return count() * elements_.itemsize(); }

  /// Calls `use` for about 1 MiB of whole items at a time, in order. Decodes only blocks that have
  /// items of the slice. Errors as Elements'.
  void read(const std::function<void(codec::Bytes items)>& use);

 private:
  void read_box(const Slice& box, codec::MutableBytes out);
  void read_blocks(const Slice& box, codec::MutableBytes out);
  void read_rows(const Slice& box, codec::MutableBytes out);
  void read_row(std::int64_t first, const AxisSlice& axis, codec::MutableBytes out);

  Elements& elements_;
  const Slice slice_;
  const Shape shape_;
};

}  // namespace bloscfs::tools
