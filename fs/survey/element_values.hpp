#pragma once
// Elements of arrays as numbers.

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace bloscfs::fs {

/// Reads elements of one item type.
class ElementValues {
 public:
  /// `dtype` as a frame stores it. nullopt for items that are no numbers (texts, dates, structured
  /// ones), or none that C++ has.
  static std::optional<ElementValues> of(std::string_view dtype);

  std::int64_t itemsize() const { return itemsize_; }
  /// The element whose first byte that is; of a complex number the magnitude. NaN stays NaN.
  double value(const std::uint8_t* element) const { return read_(element); }
  bool is_complex() const { return is_complex_; }

 private:
  using Read = std::function<double(const std::uint8_t*)>;

  Read read_;
  std::int64_t itemsize_ = 0;
  bool is_complex_ = false;
};

}  // namespace bloscfs::fs
