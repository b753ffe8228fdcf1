#pragma once
// The shape of an array's blocks, as codecs and filters need it that go by dimensions and not by
// bytes alone (codec/formats/plugins.md). Plain values.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace bloscfs::codec {

class BlockShape {
 public:
  /// What such codecs and filters take at most.
  static constexpr std::size_t kMaxDimensions = 8;

  /// Not known: of contents that are no array.
  BlockShape() = default;
  /// Items of a block along each dimension, the slowest first. Not known where there are none, or
  /// more than kMaxDimensions.
  explicit BlockShape(std::span<const std::int32_t> extents);

  bool is_known() const { return dimensions_ > 0; }
  std::span<const std::int32_t> extents() const { return std::span(extents_).first(dimensions_); }
  /// What keeps blocks of `size` bytes of items of `typesize` bytes from having that shape, in
  /// words; empty: nothing. A shape that is not known is no block's.
  std::string problem(std::int32_t typesize, std::int64_t size) const;
  /// Bytes of such a block; 0 where an extent is below 1, or a block cannot be that large.
  std::int64_t block_size(std::int32_t typesize) const;

  bool operator==(const BlockShape&) const = default;

 private:
  std::array<std::int32_t, kMaxDimensions> extents_{};
  std::size_t dimensions_ = 0;
};

}  // namespace bloscfs::codec
