#pragma once
// Reads elements of an array that are far from each other, block by block.

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

/// For one thread. Errors of blocks are told of the elements in them; what concerns all of them is
/// thrown: Error(unsupported), std::system_error where memory is missing.
class ElementSampler {
 public:
  /// An array of numbers, or why there is none to be read: "its elements are no numbers".
  static std::variant<ElementSampler, std::string> open(Request& request,
                                                        const FrameReader& reader);

  const frame::ArrayInfo& array() const { return *view_->reader().snapshot().info().array; }
  const ElementValues& values() const { return values_; }
  std::int64_t element_count() const { return view_->shape().content_size / values_.itemsize(); }

  /// Of an element's first byte in the array's. `place` is one index for each dimension.
  std::int64_t offset_of(const std::vector<std::int64_t>& place) const;

  /// What is decoded together, among elements that differ along two dimensions.
  struct Unit {
    std::int64_t row = 0, column = 0;
    bool operator==(const Unit&) const = default;
    bool operator<(const Unit& other) const {
      return std::tie(row, column) < std::tie(other.row, other.column);
    }
  };
  Unit unit_of(const std::vector<std::int64_t>& place, std::size_t row_axis,
               std::size_t column_axis) const;
  /// Bytes that are decoded for one of them.
  std::int64_t unit_size() const { return unit_size_; }

  struct Wanted {
    Unit unit;
    std::int64_t offset = 0;
    std::size_t target = 0;  ///< what it is handed over with
    bool operator<(const Wanted& other) const {
      return std::tie(unit, offset, target) < std::tie(other.unit, other.offset, other.target);
    }
  };
  /// nullopt: it cannot be decoded.
  using Use = std::function<void(std::size_t target, std::optional<double> value)>;
  /// Calls `use` once for each of them, in any order.
  void read(Request& request, std::vector<Wanted> wanted, const Use& use) const;
  /// Calls `use` for elements that follow each other in the array's bytes from `offset` on, with
  /// their numbers from 0 on as targets.
  void read_run(Request& request, std::int64_t offset, std::int64_t count, const Use& use) const;

 private:
  ElementSampler(std::shared_ptr<const FileView> view, ElementValues values);

  /// Elements from that one on that are decoded together.
  std::int64_t rest_of_unit(std::int64_t element) const;
  /// Into `bytes_`; false where that cannot be decoded.
  bool fetch(Request& request, std::int64_t offset, std::int64_t size) const;

  std::shared_ptr<const FileView> view_;
  ElementValues values_;
  std::vector<std::int64_t> strides_;  ///< bytes from one index to the next
  std::int64_t unit_size_ = 1;
  mutable std::vector<std::uint8_t> bytes_;
};

}  // namespace bloscfs::fs
