#include "codec/filter/shuffle.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "codec/filter/highest_target.hpp"

// Without SVE and RVV: the code has arrays of vectors, and theirs have no fixed length. Processors
// with SSSE3 but without SSE4 are too rare to compile for.
#define HWY_DISABLED_TARGETS \
  (BLOSCFS_ABOVE_AVX3 | HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/filter/shuffle.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "codec/filter/shuffle_tiles-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bloscfs::codec::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR  // g++ before 12.3, with which nothing is vectorised

std::size_t unshuffle_simd(Streams, std::size_t, std::size_t, std::uint8_t*) { return 0; }
std::size_t shuffle_simd(const std::uint8_t*, std::size_t, std::size_t, std::uint8_t*) { return 0; }

#else

using Full = hn::ScalableTag<std::uint8_t>;

// Each kernel processes the first elements, and returns how many.

std::size_t unshuffle_2(Streams in, std::size_t n, std::uint8_t* out) {
  const Full d;
  const std::size_t step = hn::Lanes(d);
  const std::uint8_t *const in0 = in[0], *const in1 = in[1];
  std::size_t i = 0;
  for (; i + step <= n; i += step) {
    hn::StoreInterleaved2(hn::LoadU(d, in0 + i), hn::LoadU(d, in1 + i), d, out + 2 * i);
  }
  return i;
}

std::size_t unshuffle_3(Streams in, std::size_t n, std::uint8_t* out) {
  const Full d;
  const std::size_t step = hn::Lanes(d);
  const std::uint8_t *const in0 = in[0], *const in1 = in[1], *const in2 = in[2];
  std::size_t i = 0;
  for (; i + step <= n; i += step) {
    hn::StoreInterleaved3(hn::LoadU(d, in0 + i), hn::LoadU(d, in1 + i), hn::LoadU(d, in2 + i), d,
                          out + 3 * i);
  }
  return i;
}

std::size_t unshuffle_4(Streams in, std::size_t n, std::uint8_t* out) {
  const Full d;
  const std::size_t step = hn::Lanes(d);
  const std::uint8_t *const in0 = in[0], *const in1 = in[1], *const in2 = in[2], *const in3 = in[3];
  std::size_t i = 0;
  for (; i + step <= n; i += step) {
    hn::StoreInterleaved4(hn::LoadU(d, in0 + i), hn::LoadU(d, in1 + i), hn::LoadU(d, in2 + i),
                          hn::LoadU(d, in3 + i), d, out + 4 * i);
  }
  return i;
}

std::size_t unshuffle_8(Streams in, std::size_t n, std::uint8_t* out) {
  const Wide d;
  const std::size_t step = hn::Lanes(d);
  const std::uint8_t* from[8];
  std::copy_n(in, 8, from);
  std::size_t i = 0;
  for (; i + step <= n; i += step) {
    hn::Vec<Wide> v[8];
    BLOSCFS_UNROLL
    for (std::size_t j = 0; j < 8; ++j) v[j] = hn::LoadU(d, from[j] + i);
    rotate_stage(v);
    rotate_stage(v);
    rotate_stage(v);
    store_rows(v, out + 8 * i);
  }
  return i;
}

std::size_t unshuffle_simd(Streams in, std::size_t n, std::size_t width, std::uint8_t* out) {
  switch (width) {
    case 2:
      return unshuffle_2(in, n, out);
    case 3:
      return unshuffle_3(in, n, out);
    case 4:
      return unshuffle_4(in, n, out);
    case 8:
      return unshuffle_8(in, n, out);
    default:
      return unshuffle_any(in, n, width, out);
  }
}

std::size_t shuffle_2(const std::uint8_t* in, std::size_t n, std::uint8_t* out) {
  const Full d;
  const std::size_t step = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + step <= n; i += step) {
    hn::Vec<Full> v0;
    hn::Vec<Full> v1;
    hn::LoadInterleaved2(d, in + 2 * i, v0, v1);
    hn::StoreU(v0, d, out + i);
    hn::StoreU(v1, d, out + n + i);
  }
  return i;
}

std::size_t shuffle_3(const std::uint8_t* in, std::size_t n, std::uint8_t* out) {
  const Full d;
  const std::size_t step = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + step <= n; i += step) {
    hn::Vec<Full> v0;
    hn::Vec<Full> v1;
    hn::Vec<Full> v2;
    hn::LoadInterleaved3(d, in + 3 * i, v0, v1, v2);
    hn::StoreU(v0, d, out + i);
    hn::StoreU(v1, d, out + n + i);
    hn::StoreU(v2, d, out + 2 * n + i);
  }
  return i;
}

std::size_t shuffle_4(const std::uint8_t* in, std::size_t n, std::uint8_t* out) {
  const Full d;
  const std::size_t step = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + step <= n; i += step) {
    hn::Vec<Full> v0;
    hn::Vec<Full> v1;
    hn::Vec<Full> v2;
    hn::Vec<Full> v3;
    hn::LoadInterleaved4(d, in + 4 * i, v0, v1, v2, v3);
    hn::StoreU(v0, d, out + i);
    hn::StoreU(v1, d, out + n + i);
    hn::StoreU(v2, d, out + 2 * n + i);
    hn::StoreU(v3, d, out + 3 * n + i);
  }
  return i;
}

std::size_t shuffle_8(const std::uint8_t* in, std::size_t n, std::uint8_t* out) {
  const Block d;
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    hn::Vec<Block> v[8];
    BLOSCFS_UNROLL
    for (std::size_t k = 0; k < 8; ++k) v[k] = hn::LoadU(d, in + 8 * i + 16 * k);
    rotate_stage(v);
    rotate_stage(v);
    rotate_stage(v);
    rotate_stage(v);
    BLOSCFS_UNROLL
    for (std::size_t j = 0; j < 8; ++j) hn::StoreU(v[j], d, out + j * n + i);
  }
  return i;
}

std::size_t shuffle_simd(const std::uint8_t* in, std::size_t n, std::size_t width,
                         std::uint8_t* out) {
  switch (width) {
    case 2:
      return shuffle_2(in, n, out);
    case 3:
      return shuffle_3(in, n, out);
    case 4:
      return shuffle_4(in, n, out);
    case 8:
      return shuffle_8(in, n, out);
    default:
      return shuffle_any(in, n, width, out);
  }
}

#endif

}  // namespace bloscfs::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bloscfs::codec {
namespace {

HWY_EXPORT(shuffle_simd);
HWY_EXPORT(unshuffle_simd);

void copy_from(Bytes in, MutableBytes out, std::size_t offset) {
  if (offset < in.size()) std::memcpy(out.data() + offset, in.data() + offset, in.size() - offset);
}

/// Shuffles the elements from `i` on, and copies the bytes after the last element.
void shuffle_rest(Bytes in, MutableBytes out, std::size_t width, std::size_t i) {
  const std::size_t n = in.size() / width;
  for (; i < n; ++i) {
    for (std::size_t j = 0; j < width; ++j) out[j * n + i] = in[i * width + j];
  }
  copy_from(in, out, n * width);
}

}  // namespace

void shuffle_scalar(Bytes in, MutableBytes out, std::size_t width) {
  shuffle_rest(in, out, width, 0);
}

void unshuffle_scalar(Bytes in, MutableBytes out, std::size_t width) {
  const std::size_t n = in.size() / width;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < width; ++j) out[i * width + j] = in[j * n + i];
  }
  copy_from(in, out, n * width);
}

void shuffle(Bytes in, MutableBytes out, std::size_t width) {
  if (width == 1) return copy_from(in, out, 0);
  const std::size_t n = in.size() / width;
  shuffle_rest(in, out, width, HWY_DYNAMIC_DISPATCH(shuffle_simd)(in.data(), n, width, out.data()));
}

void unshuffle_streams(std::span<const std::uint8_t* const> streams, MutableBytes out) {
  const std::size_t width = streams.size();
  const std::size_t n = out.size() / width;
  std::size_t i = HWY_DYNAMIC_DISPATCH(unshuffle_simd)(streams.data(), n, width, out.data());
  for (; i < n; ++i) {
    for (std::size_t j = 0; j < width; ++j) out[i * width + j] = streams[j][i];
  }
}

void unshuffle(Bytes in, MutableBytes out, std::size_t width) {
  if (width == 1) return copy_from(in, out, 0);
  const std::size_t n = in.size() / width;
  std::array<const std::uint8_t*, kMaxShuffleWidth> streams;
  for (std::size_t j = 0; j < width; ++j) streams[j] = in.data() + j * n;
  unshuffle_streams({streams.data(), width}, out.first(n * width));
  copy_from(in, out, n * width);
}

}  // namespace bloscfs::codec
#endif
