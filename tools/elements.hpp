#pragma once
// Reads the contents of a container item by item. Items of an array come in C order, whatever its
// order, chunks and blocks are.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codec/bytes.hpp"
#include "fs/numpy/numpy_dtype.hpp"
#include "fs/view/file_view.hpp"
#include "tools/input.hpp"

namespace bloscfs::tools {

/// Several threads may call read() at a time. No thread may do so during reinterpret().
class Elements {
 public:
  /// `input` must outlive this object. Throws Error(unsupported) if the container does not store
  /// contents.
  explicit Elements(Input& input);

  /// Treats the contents of a flat frame as items of that type.
  void reinterpret(const fs::NumpyDtype& dtype);

  /// Absent if the container is not an array.
  const std::optional<std::vector<std::int64_t>>& shape() const { return shape_; }
  /// Returns the dtype in NumPy's own spelling, or nullopt if the container has none.
  const std::optional<std::string>& dtype() const { return dtype_; }
  std::int64_t itemsize() const { return itemsize_; }
  /// Returns the bytes of all items. The last item of a flat frame may be incomplete.
  std::int64_t nbytes() const { return view_.size(); }
  /// Returns the number of whole items.
  std::int64_t count() const { return nbytes() / itemsize_; }
  /// True if the view has the items in Fortran order.
  bool is_fortran() const { return is_fortran_; }
  const fs::FileView& view() const { return view_; }
  const Input& input() const { return input_; }

  /// Fills `out` with bytes of the items in C order, from byte `offset`. If is_fortran(), `out`
  /// must begin and end with whole items. Throws what FileView::read() throws.
  void read(std::int64_t offset, codec::MutableBytes out);

 private:
  void read_in_order(std::int64_t offset, codec::MutableBytes out);
  /// Returns the place of an item in Fortran order. `item` is its place in C order.
  std::int64_t place_of(std::int64_t item) const;

  Input& input_;
  fs::FileView view_;
  std::int64_t itemsize_;
  std::optional<std::vector<std::int64_t>> shape_;
  std::optional<std::string> dtype_;
  bool is_fortran_ = false;
};

}  // namespace bloscfs::tools
