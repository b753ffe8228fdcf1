#pragma once
// What was written to a file at one time, over what is below it: bytes, a new end, metalayers.

#include <cstdint>
#include <limits>

#include "fs/content/byte_overlay.hpp"
#include "fs/view/metalayer_changes.hpp"

namespace bloscfs::fs {

/// Not thread-safe.
struct Layer {
  static constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

  /// `pages` outlives it, and has the written bytes.
  explicit Layer(PagePool& pages) : bytes(pages, kCellSize) {}

  ByteOverlay bytes;
  /// From there on what is below reads as zeros.
  std::int64_t lower_end = kNoEnd;
  LayerChanges metalayers;

  bool has_contents() const { return !bytes.empty() || lower_end != kNoEnd; }
  bool empty() const { return !has_contents() && metalayers.empty(); }
  bool hides(std::int64_t offset, std::int64_t size) const {
    return bytes.touches(offset, size) || offset + size > lower_end;
  }
  /// Puts what the layer has of [offset, offset + out.size()) over what is in `out`.
  void apply(std::int64_t offset, codec::MutableBytes out) const;
  /// Puts all that `upper` has over this layer.
  void merge(const Layer& upper);
  /// Takes out what the rest does not need below it: all but the last written bytes, of which the
  /// first `least` go, too.
  Layer split_off_first(std::size_t least);
  /// Takes out everything.
  Layer take_all();
};

}  // namespace bloscfs::fs
