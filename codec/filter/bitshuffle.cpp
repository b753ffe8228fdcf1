#include "codec/filter/bitshuffle.hpp"

#include <algorithm>
#include <cstring>

#include "codec/filter/highest_target.hpp"
#include "codec/filter/shuffle.hpp"

// Without SVE and RVV: the code has arrays of vectors, and theirs have no fixed length. Processors
// with SSSE3 but without SSE4 are too rare to compile for.
#define HWY_DISABLED_TARGETS \
  (BLOSCFS_ABOVE_AVX3 | HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/filter/bitshuffle.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "codec/filter/transpose-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bloscfs::codec::HWY_NAMESPACE {

// These functions convert between one stream (byte j of consecutive elements) and the 8 bit rows
// that it is stored as. Byte i of row k holds bit k of the stream's bytes 8*i .. 8*i+7.

#if HWY_TARGET != HWY_SCALAR

/// Exchanges the bits of `a` above `kShift` with those of `b` below it, in the bits of `mask`.
template <int kShift, class V>
HWY_INLINE void exchange_bits(V& a, V& b, V mask) {
  const hn::DFromV<V> d;
  const hn::Repartition<std::uint16_t, decltype(d)> d16;
  const auto high = hn::BitCast(d, hn::ShiftRight<kShift>(hn::BitCast(d16, a)));
  const V t = hn::And(hn::Xor(high, b), mask);
  b = hn::Xor(b, t);
  a = hn::Xor(a, hn::BitCast(d, hn::ShiftLeft<kShift>(hn::BitCast(d16, t))));
}

/// Transposes the 8x8 bits that the registers have in each byte. It is its own inverse.
template <class V>
HWY_INLINE void transpose_bits(V (&v)[8]) {
  const hn::DFromV<V> d;
  const V mask4 = hn::Set(d, std::uint8_t{0x0F});
  const V mask2 = hn::Set(d, std::uint8_t{0x33});
  const V mask1 = hn::Set(d, std::uint8_t{0x55});
  BLOSCFS_UNROLL
  for (std::size_t i = 0; i < 4; ++i) exchange_bits<4>(v[i], v[i + 4], mask4);
  BLOSCFS_UNROLL
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t at = i / 2 * 4 + i % 2;
    exchange_bits<2>(v[at], v[at + 2], mask2);
  }
  BLOSCFS_UNROLL
  for (std::size_t i = 0; i < 4; ++i) exchange_bits<1>(v[2 * i], v[2 * i + 1], mask1);
}

/// Converts bytes of each row, from `i` on and one vector of each row at a time. Returns where it
/// stopped.
template <class D>
HWY_INLINE std::size_t gather_rows(D d, const std::uint8_t* rows, std::size_t stride, std::size_t i,
                                   std::size_t count, std::uint8_t* stream) {
  const std::size_t step = hn::Lanes(d);
  for (; i + step <= count; i += step) {
    hn::Vec<D> v[8];
    BLOSCFS_UNROLL
    for (std::size_t k = 0; k < 8; ++k) v[k] = hn::LoadU(d, rows + k * stride + i);
    transpose_bits(v);
    rotate_stage(v);
    rotate_stage(v);
    rotate_stage(v);
    store_rows(v, stream + 8 * i);
  }
  return i;
}

HWY_INLINE std::size_t rows_to_stream_simd(const std::uint8_t* rows, std::size_t stride,
                                           std::size_t count, std::uint8_t* stream) {
  const std::size_t wide = gather_rows(Wide(), rows, stride, 0, count, stream);
  return gather_rows(Block(), rows, stride, wide, count, stream);
}

/// Converts the first bytes of the stream. Returns how many bytes of each row it has written.
HWY_INLINE std::size_t stream_to_rows_simd(const std::uint8_t* stream, std::size_t count,
                                           std::size_t stride, std::uint8_t* rows) {
  const Block d;
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    hn::Vec<Block> v[8];
    BLOSCFS_UNROLL
    for (std::size_t k = 0; k < 8; ++k) v[k] = hn::LoadU(d, stream + 8 * i + 16 * k);
    rotate_stage(v);
    rotate_stage(v);
    rotate_stage(v);
    rotate_stage(v);
    transpose_bits(v);
    BLOSCFS_UNROLL
    for (std::size_t k = 0; k < 8; ++k) hn::StoreU(v[k], d, rows + k * stride + i);
  }
  return i;
}

#else  // g++ before 12.3, with which nothing is vectorised

HWY_INLINE std::size_t rows_to_stream_simd(const std::uint8_t*, std::size_t, std::size_t,
                                           std::uint8_t*) {
  return 0;
}
HWY_INLINE std::size_t stream_to_rows_simd(const std::uint8_t*, std::size_t, std::size_t,
                                           std::uint8_t*) {
  return 0;
}

#endif

/// Transposes the 8x8 bits of one word. It is its own inverse.
HWY_INLINE std::uint64_t transpose_word(std::uint64_t x) {
  std::uint64_t t = ((x >> 28) ^ x) & 0x00000000F0F0F0F0ULL;
  x ^= t ^ (t << 28);
  t = ((x >> 14) ^ x) & 0x0000CCCC0000CCCCULL;
  x ^= t ^ (t << 14);
  t = ((x >> 7) ^ x) & 0x00AA00AA00AA00AAULL;
  return x ^ t ^ (t << 7);
}

/// Converts `count` bytes of each row to 8 * count bytes of stream. The rows are `stride` apart.
void rows_to_stream(const std::uint8_t* rows, std::size_t stride, std::size_t count,
                    std::uint8_t* stream) {
  std::size_t i = rows_to_stream_simd(rows, stride, count, stream);
  for (; i < count; ++i) {
    std::uint64_t word = 0;
    for (std::size_t k = 0; k < 8; ++k) word |= std::uint64_t{rows[k * stride + i]} << (8 * k);
    word = transpose_word(word);
    for (std::size_t b = 0; b < 8; ++b) {
      stream[8 * i + b] = static_cast<std::uint8_t>(word >> (8 * b));
    }
  }
}

/// Does the reverse of rows_to_stream().
void stream_to_rows(const std::uint8_t* stream, std::size_t count, std::size_t stride,
                    std::uint8_t* rows) {
  std::size_t i = stream_to_rows_simd(stream, count, stride, rows);
  for (; i < count; ++i) {
    std::uint64_t word = 0;
    for (std::size_t b = 0; b < 8; ++b) word |= std::uint64_t{stream[8 * i + b]} << (8 * b);
    word = transpose_word(word);
    for (std::size_t k = 0; k < 8; ++k) {
      rows[k * stride + i] = static_cast<std::uint8_t>(word >> (8 * k));
    }
  }
}

}  // namespace bloscfs::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bloscfs::codec {
namespace {

HWY_EXPORT(rows_to_stream);
HWY_EXPORT(stream_to_rows);

// Elements pass through a buffer that fits into the nearest caches.
constexpr std::size_t kTileBytes = 32768;

std::size_t tile_elements(std::size_t typesize) {
  return kTileBytes / typesize / 128 * 128;  // at least 128: 16 bytes of each row
}

std::size_t shuffled_elements(std::size_t size, std::size_t typesize) {
  return size / typesize / 8 * 8;
}

void copy_tail(Bytes in, MutableBytes out, std::size_t offset) {
  if (offset < in.size()) std::memcpy(out.data() + offset, in.data() + offset, in.size() - offset);
}

}  // namespace

void bitunshuffle(Bytes in, MutableBytes out, std::size_t typesize) {
  const std::size_t n = shuffled_elements(in.size(), typesize);
  const std::size_t row_size = n / 8;
  const auto to_stream = HWY_DYNAMIC_DISPATCH(rows_to_stream);
  std::uint8_t tile[kTileBytes];
  std::size_t count = 0;
  for (std::size_t first = 0; first < n; first += count) {
    count = std::min(tile_elements(typesize), n - first);
    MutableBytes elements = out.subspan(first * typesize, count * typesize);
    std::uint8_t* const streams = typesize == 1 ? elements.data() : tile;
    for (std::size_t j = 0; j < typesize; ++j) {
      to_stream(in.data() + 8 * j * row_size + first / 8, row_size, count / 8, streams + j * count);
    }
    if (typesize > 1) unshuffle({tile, elements.size()}, elements, typesize);
  }
  copy_tail(in, out, n * typesize);
}

void bitshuffle(Bytes in, MutableBytes out, std::size_t typesize) {
  const std::size_t n = shuffled_elements(in.size(), typesize);
  const std::size_t row_size = n / 8;
  const auto to_rows = HWY_DYNAMIC_DISPATCH(stream_to_rows);
  std::uint8_t tile[kTileBytes];
  std::size_t count = 0;
  for (std::size_t first = 0; first < n; first += count) {
    count = std::min(tile_elements(typesize), n - first);
    const Bytes elements = in.subspan(first * typesize, count * typesize);
    const std::uint8_t* const streams = typesize == 1 ? elements.data() : tile;
    if (typesize > 1) shuffle(elements, {tile, elements.size()}, typesize);
    for (std::size_t j = 0; j < typesize; ++j) {
      to_rows(streams + j * count, count / 8, row_size, out.data() + 8 * j * row_size + first / 8);
    }
  }
  copy_tail(in, out, n * typesize);
}

void bitshuffle_scalar(Bytes in, MutableBytes out, std::size_t typesize) {
  const std::size_t n = shuffled_elements(in.size(), typesize);
  const std::size_t bits = 8 * typesize;
  std::fill_n(out.begin(), n * typesize, std::uint8_t{0});
  for (std::size_t i = 0; i < n * bits; ++i) {
    const std::size_t to = i % bits * n + i / bits;
    const int bit = in[i / 8] >> (i % 8) & 1;
    out[to / 8] = static_cast<std::uint8_t>(out[to / 8] | bit << (to % 8));
  }
  copy_tail(in, out, n * typesize);
}

void bitunshuffle_scalar(Bytes in, MutableBytes out, std::size_t typesize) {
  const std::size_t n = shuffled_elements(in.size(), typesize);
  const std::size_t bits = 8 * typesize;
  std::fill_n(out.begin(), n * typesize, std::uint8_t{0});
  for (std::size_t i = 0; i < n * bits; ++i) {
    const std::size_t from = i % bits * n + i / bits;
    const int bit = in[from / 8] >> (from % 8) & 1;
    out[i / 8] = static_cast<std::uint8_t>(out[i / 8] | bit << (i % 8));
  }
  copy_tail(in, out, n * typesize);
}

}  // namespace bloscfs::codec
#endif
