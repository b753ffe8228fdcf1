#pragma once
// The changes to a file in one period, on top of the state below: bytes, a new end, metalayers.

#include <cstdint>
#include <limits>

#include "fs/content/byte_overlay.hpp"
#include "fs/view/metalayer_changes.hpp"

namespace bloscfs::fs {

/// Not thread-safe.
struct Layer {
  static constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

  /// `pages` owns the memory of the written bytes, and outlives the layer.
  explicit Layer(PagePool& pages) : bytes(pages, kCellSize) {}

  ByteOverlay bytes;
  /// Bytes of the state below read as zeros from here on.
  std::int64_t lower_end = kNoEnd;
  LayerChanges metalayers;

  bool has_contents() const { return !bytes.empty() || lower_end != kNoEnd; }
  bool empty() const { return !has_contents() && metalayers.empty(); }
  bool hides(std::int64_t offset, std::int64_t size) const {
    return bytes.touches(offset, size) || offset + size > lower_end;
  }
  /// Applies the layer's changes in [offset, offset + out.size()) to `out`.
  void apply(std::int64_t offset, codec::MutableBytes out) const;
  /// Applies all changes of `upper` on top of this layer.
  void merge(const Layer& upper);
  /// Takes out zeros, truncation, metalayers, and the first written extents until they have at
  /// least `least` bytes. The taken changes may lie below the changes that stay.
  Layer split_off_first(std::size_t least);
  /// Takes out all changes, and leaves the layer empty.
  Layer take_all();
};

}  // namespace bloscfs::fs
