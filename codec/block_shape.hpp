#pragma once
// The shape of an array's blocks. Codecs and filters that depend on dimensions need it
// (codec/formats/plugins.md). Plain values.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace bloscfs::codec {

class BlockShape {
 public:
  /// The maximum for codecs and filters that need a shape.
  static constexpr std::size_t kMaxDimensions = 8;

  /// An unknown shape: the contents are no array.
  BlockShape() = default;
  /// `extents`: items of a block along each dimension, the slowest dimension first. The shape is
  /// unknown if there are none, or more than kMaxDimensions.
  explicit BlockShape(std::span<const std::int32_t> extents);

  bool is_known() const { return dimensions_ > 0; }
  std::span<const std::int32_t> extents() const { return std::span(extents_).first(dimensions_); }
  /// Returns why blocks of `size` bytes, with items of `typesize` bytes, cannot have this shape, as
  /// text. Empty if they can. No block can have an unknown shape.
  std::string problem(std::int32_t typesize, std::int64_t size) const;
  /// Returns the bytes of a block of this shape; 0 if an extent is below 1, or the size exceeds the
  /// limit of blocks.
  std::int64_t block_size(std::int32_t typesize) const;

  bool operator==(const BlockShape&) const = default;

 private:
  std::array<std::int32_t, kMaxDimensions> extents_{};
  std::size_t dimensions_ = 0;
};

}  // namespace bloscfs::codec
