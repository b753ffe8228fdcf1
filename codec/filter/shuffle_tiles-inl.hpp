// Shuffling elements of any size, tile by tile, compiled once per instruction set.
// Include guard of Highway's "-inl" kind: open again for every target.
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

/// Streams that lie anywhere.
using Streams = const std::uint8_t* const*;

#if HWY_TARGET != HWY_SCALAR  // has no vectors of 16 bytes

// Elements are handled 16 streams at a time, or 8 where no more are left; the last ones may
// overlap others, with the same result. Streams often lie a power of two apart, where their cache
// lines displace each other, so a run of each passes through a buffer.
constexpr std::size_t kRun = 512;

/// Elements of `n` in whole tiles of `step`. Some remain behind where elements are narrow, so that
/// the 16-byte pieces of a tile stay inside the buffer.
HWY_INLINE std::size_t tiled_elements(std::size_t n, std::size_t width, std::size_t step) {
  const std::size_t margin = width < 16 ? 16 / width + 1 : 0;
  return n < margin ? 0 : (n - margin) / step * step;
}

/// The streams that are handled together.
struct Group {
  std::size_t first;
  std::size_t count;
};

/// Those from `begin` on, in elements of `width` bytes.
HWY_INLINE Group group_at(std::size_t begin, std::size_t width) {
  const std::size_t most = width - begin <= 8 ? 8 : 16;
  const std::size_t count = width < most ? width : most;
  return {begin + count <= width ? begin : width - count, count};
}

/// `count` <= 8 streams, `stride` apart, become a piece of 8 bytes in each of some elements.
/// Pieces longer than the element spill into the next one, which is stored later.
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

/// The same with 16 streams and bytes.
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

/// 16 elements' pieces of 8 bytes, `width` apart, become 8 streams, `stride` apart.
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

/// The same with 16 bytes and streams.
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
