#pragma once
// Reads slices of arrays.

#include <functional>
#include <vector>

#include "tools/elements.hpp"
#include "tools/slice.hpp"

namespace bloscfs::tools {

/// Returns the shape of an array. A flat frame counts as an array of one dimension.
Shape shape_of(const Elements& elements);

/// The items of a slice, in C order. For one thread.
class SlicedItems {
 public:
  /// `elements` must outlive the object. The slice must fit shape_of(elements).
  SlicedItems(Elements& elements, Slice slice);

  const Elements& elements() const { return elements_; }
  /// Returns the shape of the slice.
  const Shape& shape() const { return shape_; }
  std::int64_t count() const;
  std::int64_t nbytes() const { return count() * elements_.itemsize(); }

  /// Calls `use` with about 1 MiB of whole items at a time, in order. Decodes only blocks with
  /// items of the slice. Throws what Elements::read() throws.
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
