#pragma once
// What a container holds, item by item: of an array in C order, whatever its order, chunks and
// blocks are.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codec/bytes.hpp"
#include "fs/numpy/numpy_dtype.hpp"
#include "fs/view/file_view.hpp"
#include "tools/input.hpp"

namespace bloscfs::tools {

/// For one thread.
class Elements {
 public:
  /// `input` outlives it. Throws Error(unsupported) where the contents are not stored.
  explicit Elements(Input& input);

  /// Takes the contents of a flat frame for items of that type.
  void reinterpret(const fs::NumpyDtype& dtype);

  /// Of an array.
  const std::optional<std::vector<std::int64_t>>& shape() const { return shape_; }
  /// NumPy's own spelling; nothing where it has none.
  const std::optional<std::string>& dtype() const { return dtype_; }
  std::int64_t itemsize() const { return itemsize_; }
  /// Of all items; the last one of a flat frame may be cut short.
  std::int64_t nbytes() const { return view_.size(); }
  /// Whole ones.
  std::int64_t count() const { return nbytes() / itemsize_; }
  /// True if the bytes of the view are in another order.
  bool is_fortran() const { return is_fortran_; }
  const fs::FileView& view() const { return view_; }
  const Input& input() const { return input_; }

  /// Fills `out` with bytes of the items in C order, from byte `offset` of them on; where
  /// is_fortran() it begins and ends with an item. Errors as FileView's.
  void read(std::int64_t offset, codec::MutableBytes out);

 private:
  void read_in_order(std::int64_t offset, codec::MutableBytes out);
  /// Where an item is among those in Fortran order.
  std::int64_t place_of(std::int64_t item) const;

  Input& input_;
  fs::FileView view_;
  std::int64_t itemsize_;
  std::optional<std::vector<std::int64_t>> shape_;
  std::optional<std::string> dtype_;
  bool is_fortran_ = false;
};

}  // namespace bloscfs::tools
