#pragma once
// Reads elements of an array that lie far from each other, block by block.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "fs/survey/element_values.hpp"
#include "fs/view/file_view.hpp"

namespace bloscfs::fs {

/// For one thread. If a block cannot be decoded, its elements are reported as unreadable. Errors
/// that concern all elements are thrown: codec::Error(unsupported), and std::system_error if memory
/// is missing.
class ElementSampler {
 public:
  /// Returns a sampler of an array of numbers. Otherwise returns the reason why it cannot be
  /// read, such as "it does not say of which type its elements are".
  static std::variant<ElementSampler, std::string> open(Request& request,
                                                        const FrameReader& reader);

  const frame::ArrayInfo& array() const { return *view_->reader().snapshot().info().array; }
  const ElementValues& values() const { return values_; }
  std::int64_t element_count() const { return view_->shape().content_size / values_.itemsize(); }

  /// Returns the offset of an element's first byte in the array's contents. `place` has one index
  /// for each dimension.
  std::int64_t offset_of(const std::vector<std::int64_t>& place) const;

  /// The elements of one block, which are decoded together. Identifies the block among those of a
  /// plane, whose elements have different indexes in only two dimensions.
  struct Unit {
    std::int64_t row = 0, column = 0;
    bool operator==(const Unit&) const = default;
    bool operator<(const Unit& other) const {
      return std::tie(row, column) < std::tie(other.row, other.column);
    }
  };
  Unit unit_of(const std::vector<std::int64_t>& place, std::size_t row_axis,
               std::size_t column_axis) const;
  /// Returns the bytes that are decoded for one unit.
  std::int64_t unit_size() const { return unit_size_; }

  struct Wanted {
    Unit unit;
    std::int64_t offset = 0;
    std::size_t target = 0;  ///< the caller's number for this element
    bool operator<(const Wanted& other) const {
      return std::tie(unit, offset, target) < std::tie(other.unit, other.offset, other.target);
    }
  };
  /// `value` is nullopt if the element cannot be decoded.
  using Use = std::function<void(std::size_t target, std::optional<double> value)>;
  /// Calls `use` once for each wanted element, in any order.
  void read(Request& request, std::vector<Wanted> wanted, const Use& use) const;
  /// Calls `use` for `count` elements that follow each other in the array's contents, starting at
  /// `offset`. Their targets are 0, 1, and so on.
  void read_run(Request& request, std::int64_t offset, std::int64_t count, const Use& use) const;

 private:
  ElementSampler(std::shared_ptr<const FileView> view, ElementValues values);

  /// Returns the number of elements from `element` on that are decoded together with it.
  std::int64_t rest_of_unit(std::int64_t element) const;
  /// Reads into `bytes_`. Returns false if the bytes cannot be decoded.
  bool fetch(Request& request, std::int64_t offset, std::int64_t size) const;

  std::shared_ptr<const FileView> view_;
  ElementValues values_;
  std::vector<std::int64_t> strides_;  ///< bytes from one index to the next
  std::int64_t unit_size_ = 1;
  mutable std::vector<std::uint8_t> bytes_;
};

}  // namespace bloscfs::fs
