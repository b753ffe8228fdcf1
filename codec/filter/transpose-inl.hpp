// Transposes bytes in registers. Compiled once for each instruction set. The include guard is of
// Highway's "-inl" kind: it opens again for each target.
#if defined(BLOSCFS_CODEC_FILTER_TRANSPOSE_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef BLOSCFS_CODEC_FILTER_TRANSPOSE_INL_HPP
#undef BLOSCFS_CODEC_FILTER_TRANSPOSE_INL_HPP
#else
#define BLOSCFS_CODEC_FILTER_TRANSPOSE_INL_HPP
#endif

#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

// g++ -O2 keeps arrays of vectors in memory unless a pragma unrolls their loops.
#undef BLOSCFS_UNROLL
#if HWY_COMPILER_GCC_ACTUAL
#define BLOSCFS_UNROLL _Pragma("GCC unroll 16")
#else
#define BLOSCFS_UNROLL _Pragma("unroll")
#endif

HWY_BEFORE_NAMESPACE();
namespace bloscfs::codec::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR  // which has no vectors of 16 bytes

using Block = hn::FixedTag<std::uint8_t, 16>;
using Wide = hn::CappedTag<std::uint8_t, 32>;  // one or two blocks

/// The vectors are N rows of 16 bytes. A byte's place is a number whose bits are the row and then
/// the column. One stage rotates these bits left by one. So 4 stages transpose 16 rows. With 8
/// rows, 3 stages interleave them, and 4 stages undo that. Wide vectors do this for each block of
/// 16 bytes.
template <class V, std::size_t N>
HWY_INLINE void rotate_stage(V (&v)[N]) {
  V t[N];
  const hn::DFromV<V> d;
  BLOSCFS_UNROLL
  for (std::size_t i = 0; i < N / 2; ++i) {
    t[2 * i] = hn::InterleaveLower(d, v[i], v[i + N / 2]);
    t[2 * i + 1] = hn::InterleaveUpper(d, v[i], v[i + N / 2]);
  }
  BLOSCFS_UNROLL
  for (std::size_t i = 0; i < N; ++i) v[i] = t[i];
}

/// Stores the first 16 bytes of a wide vector.
template <class V>
HWY_INLINE void store_lower(V v, std::uint8_t* to) {
  if constexpr (hn::MaxLanes(hn::DFromV<V>()) == 32) {
    hn::StoreU(hn::LowerHalf(Block(), v), Block(), to);
  } else {
    hn::StoreU(v, Block(), to);
  }
}

/// Stores the second 16 bytes of a wide vector, if there are any.
template <class V>
HWY_INLINE void store_upper(V v, std::uint8_t* to) {
  if constexpr (hn::MaxLanes(hn::DFromV<V>()) == 32) {
    hn::StoreU(hn::UpperHalf(Block(), v), Block(), to);
  }
}

/// Loads 8 bytes at `from`, and 8 bytes at `distance` from there.
HWY_INLINE hn::Vec<Block> load_halves(const std::uint8_t* from, std::size_t distance) {
  const hn::Half<Block> d;
  return hn::Combine(Block(), hn::LoadU(d, from + distance), hn::LoadU(d, from));
}

/// Stores 8 bytes at `to`, and 8 bytes at `distance` from there.
HWY_INLINE void store_halves(hn::Vec<Block> v, std::size_t distance, std::uint8_t* to) {
  const hn::Half<Block> d;
  hn::StoreU(hn::LowerHalf(d, v), d, to);
  hn::StoreU(hn::UpperHalf(d, v), d, to + distance);
}

/// Stores the first 16 bytes of a wide vector as store_halves() does.
template <class V>
HWY_INLINE void store_lower_halves(V v, std::size_t distance, std::uint8_t* to) {
  if constexpr (hn::MaxLanes(hn::DFromV<V>()) == 32) {
    store_halves(hn::LowerHalf(Block(), v), distance, to);
  } else {
    store_halves(v, distance, to);
  }
}

/// Stores the second 16 bytes of a wide vector, if there are any, as store_halves() does.
template <class V>
HWY_INLINE void store_upper_halves(V v, std::size_t distance, std::uint8_t* to) {
  if constexpr (hn::MaxLanes(hn::DFromV<V>()) == 32) {
    store_halves(hn::UpperHalf(Block(), v), distance, to);
  }
}

/// Stores 8 wide vectors: first all first blocks, then all second blocks.
template <class V>
HWY_INLINE void store_rows(const V (&v)[8], std::uint8_t* to) {
  BLOSCFS_UNROLL
  for (std::size_t k = 0; k < 8; ++k) {
    store_lower(v[k], to + 16 * k);
    store_upper(v[k], to + 128 + 16 * k);
  }
}

#endif

}  // namespace bloscfs::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
