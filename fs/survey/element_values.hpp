#pragma once
// Reads elements of arrays as numbers.

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace bloscfs::fs {

/// Reads elements of one item type.
class ElementValues {
 public:
  /// `dtype` is spelled as a frame stores it. Returns nullopt for items that are no numbers (texts,
  /// dates, structures), and for number types that C++ does not have.
  static std::optional<ElementValues> of(std::string_view dtype);

  std::int64_t itemsize() const { return itemsize_; }
  /// Returns the element whose first byte is `*element`; the magnitude of a complex number. NaN
  /// stays NaN.
  double value(const std::uint8_t* element) const { return read_(element); }
  bool is_complex() const { return is_complex_; }

 private:
  using Read = std::function<double(const std::uint8_t*)>;

  Read read_;
  std::int64_t itemsize_ = 0;
  bool is_complex_ = false;
};

}  // namespace bloscfs::fs
