// Shuffles elements of any size, tile by tile. Compiled once for each instruction set. The include
// guard is of Highway's "-inl" kind: it opens again for each target.
#if defined(BLOSCFS_CODEC_FILTER_SHUFFLE_TILES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef BLOSCFS_CODEC_FILTER_SHUFFLE_TILES_INL_HPP
#undef BLOSCFS_CODEC_FILTER_SHUFFLE_TILES_INL_HPP
#else
#define BLOSCFS_CODEC_FILTER_SHUFFLE_TILES_INL_HPP
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "codec/filter/transpose-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bloscfs::codec::HWY_NAMESPACE {

/// Streams at any addresses.
using Streams = const std::uint8_t* const*;

#if HWY_TARGET != HWY_SCALAR  // which has no vectors of 16 bytes

// Handles 16 streams at a time, or 8 if no more are left. The last group may overlap another one,
// with the same result. The distance of streams is often a power of two, so that their cache lines
// evict each other. So a run of each stream passes through a buffer.
constexpr std::size_t kRun = 512;

/// Returns how many of `n` elements are in whole tiles of `step`. Leaves some narrow elements, so
/// that the 16-byte pieces of a tile stay inside the buffer.
HWY_INLINE std::size_t tiled_elements(std::size_t n, std::size_t width, std::size_t step) {
  const std::size_t margin = width < 16 ? 16 / width + 1 : 0;
  return n < margin ? 0 : (n - margin) / step * step;
}

/// Streams that are handled together.
struct Group {
  std::size_t first;
  std::size_t count;
};

/// Returns the group of streams from `begin` on, for elements of `width` bytes.
HWY_INLINE Group group_at(std::size_t begin, std::size_t width) {
  const std::size_t most = width - begin <= 8 ? 8 : 16;
  const std::size_t count = width < most ? width : most;
  return {begin + count <= width ? begin : width - count, count};
}

/// Converts `count` <= 8 streams, `stride` apart, into pieces of 8 bytes, one for each element. A
/// piece that is longer than an element spills into the next element, which is stored later.
HWY_INLINE void unshuffle_tile_8(const std::uint8_t* in, std::size_t stride, std::size_t count,
                                 std::size_t width, std::uint8_t* out) {
  const Wide d;
  hn::Vec<Wide> v[8];
  BLOSCFS_UNROLL
  for (std::size_t j = 0; j < 8; ++j) {
    v[j] = j < count ? hn::LoadU(d, in + j * stride) : hn::Zero(d);
  }
  rotate_stage(v);
  rotate_stage(v);
  rotate_stage(v);
  BLOSCFS_UNROLL
  for (std::size_t k = 0; k < 8; ++k) store_lower_halves(v[k], width, out + 2 * k * width);
  BLOSCFS_UNROLL
  for (std::size_t k = 0; k < 8; ++k) store_upper_halves(v[k], width, out + (16 + 2 * k) * width);
}

/// Converts up to 16 streams into pieces of 16 bytes.
HWY_INLINE void unshuffle_tile(const std::uint8_t* in, std::size_t stride, std::size_t count,
                               std::size_t width, std::uint8_t* out) {
  if (count <= 8) return unshuffle_tile_8(in, stride, count, width, out);
  const Wide d;
  hn::Vec<Wide> v[16];
  BLOSCFS_UNROLL
  for (std::size_t j = 0; j < 16; ++j) {
    v[j] = j < count ? hn::LoadU(d, in + j * stride) : hn::Zero(d);
  }
  rotate_stage(v);
  rotate_stage(v);
  rotate_stage(v);
  rotate_stage(v);
  BLOSCFS_UNROLL
  for (std::size_t e = 0; e < 16; ++e) store_lower(v[e], out + e * width);
  BLOSCFS_UNROLL
  for (std::size_t e = 0; e < 16; ++e) store_upper(v[e], out + (16 + e) * width);
}

/// Unshuffles the first elements. Returns how many.
HWY_INLINE std::size_t unshuffle_any(Streams in, std::size_t n, std::size_t width,
                                     std::uint8_t* out) {
  const std::size_t step = hn::Lanes(Wide());
  const std::size_t end = tiled_elements(n, width, step);
  HWY_ALIGN std::uint8_t runs[16 * kRun];
  for (std::size_t i = 0; i < end; i += kRun) {
    const std::size_t size = end - i < kRun ? end - i : kRun;
    for (std::size_t begin = 0; begin < width; begin += 16) {
      const auto [first, count] = group_at(begin, width);
      for (std::size_t j = 0; j < count; ++j) {
        std::memcpy(runs + j * kRun, in[first + j] + i, size);
      }
      for (std::size_t k = 0; k < size; k += step) {
        unshuffle_tile(runs + k, kRun, count, width, out + (i + k) * width + first);
      }
    }
  }
  return end;
}

/// Converts pieces of 8 bytes of 16 elements, `width` apart, into 8 streams, `stride` apart.
HWY_INLINE void shuffle_tile_8(const std::uint8_t* in, std::size_t width, std::size_t stride,
                               std::uint8_t* out) {
  const Block d;
  hn::Vec<Block> v[8];
  BLOSCFS_UNROLL
  for (std::size_t k = 0; k < 8; ++k) v[k] = load_halves(in + 2 * k * width, width);
  rotate_stage(v);
  rotate_stage(v);
  rotate_stage(v);
  rotate_stage(v);
  BLOSCFS_UNROLL
  for (std::size_t j = 0; j < 8; ++j) hn::StoreU(v[j], d, out + j * stride);
}

/// Converts pieces of 16 bytes into 16 streams.
HWY_INLINE void shuffle_tile(const std::uint8_t* in, std::size_t width, std::size_t stride,
                             std::size_t count, std::uint8_t* out) {
  if (count <= 8) return shuffle_tile_8(in, width, stride, out);
  const Block d;
  hn::Vec<Block> v[16];
  BLOSCFS_UNROLL
  for (std::size_t e = 0; e < 16; ++e) v[e] = hn::LoadU(d, in + e * width);
  rotate_stage(v);
  rotate_stage(v);
  rotate_stage(v);
  rotate_stage(v);
  BLOSCFS_UNROLL
  for (std::size_t j = 0; j < 16; ++j) hn::StoreU(v[j], d, out + j * stride);
}

/// Shuffles the first elements. Returns how many.
HWY_INLINE std::size_t shuffle_any(const std::uint8_t* in, std::size_t n, std::size_t width,
                                   std::uint8_t* out) {
  const std::size_t end = tiled_elements(n, width, 16);
  HWY_ALIGN std::uint8_t runs[16 * kRun];
  for (std::size_t i = 0; i < end; i += kRun) {
    const std::size_t size = end - i < kRun ? end - i : kRun;
    for (std::size_t begin = 0; begin < width; begin += 16) {
      const auto [first, count] = group_at(begin, width);
      for (std::size_t k = 0; k < size; k += 16) {
        shuffle_tile(in + (i + k) * width + first, width, kRun, count, runs + k);
      }
      for (std::size_t j = 0; j < count; ++j) {
        std::memcpy(out + (first + j) * n + i, runs + j * kRun, size);
      }
    }
  }
  return end;
}

#endif

}  // namespace bloscfs::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
