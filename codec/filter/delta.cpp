#include "codec/filter/delta.hpp"

#include <algorithm>

#include "codec/filter/highest_target.hpp"

#define HWY_DISABLED_TARGETS BLOSCFS_ABOVE_AVX3
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/filter/delta.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bloscfs::codec::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Each kernel processes the first bytes, and returns how many.

/// Computes out[k] = a[k] ^ b[k].
std::size_t xor_simd(const std::uint8_t* a, const std::uint8_t* b, std::size_t size,
                     std::uint8_t* out) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t step = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + step <= size; i += step) {
    hn::StoreU(hn::Xor(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
  }
  return i;
}

#if HWY_TARGET == HWY_SCALAR  // g++ before 12.3, with which nothing is vectorised
std::size_t running_xor_simd(std::uint8_t*, std::size_t, std::size_t) { return 0; }
#else
/// Computes the running XOR of words of kWord bytes, within 16 bytes, with a carry of the last
/// word.
template <int kWord>
std::size_t running_xor(std::uint8_t* data, std::size_t size) {
  const hn::FixedTag<std::uint8_t, 16> d;
  HWY_ALIGN std::uint8_t last_word[16];
  for (std::size_t k = 0; k < 16; ++k)
    last_word[k] = static_cast<std::uint8_t>(16 - kWord + k % kWord);
  const auto pick_last = hn::Load(d, last_word);
  auto carry = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 16 <= size; i += 16) {
    auto v = hn::LoadU(d, data + i);
    v = hn::Xor(v, hn::ShiftLeftBytes<kWord>(d, v));
    if constexpr (kWord <= 4) v = hn::Xor(v, hn::ShiftLeftBytes<2 * kWord>(d, v));
    if constexpr (kWord <= 2) v = hn::Xor(v, hn::ShiftLeftBytes<4 * kWord>(d, v));
    if constexpr (kWord == 1) v = hn::Xor(v, hn::ShiftLeftBytes<8>(d, v));
    hn::StoreU(hn::Xor(v, carry), d, data + i);
    carry = hn::Xor(carry, hn::TableLookupBytes(v, pick_last));
  }
  return i;
}

std::size_t running_xor_simd(std::uint8_t* data, std::size_t size, std::size_t word) {
  switch (word) {
    case 1:
      return running_xor<1>(data, size);
    case 2:
      return running_xor<2>(data, size);
    case 4:
      return running_xor<4>(data, size);
    default:
      return running_xor<8>(data, size);
  }
}

#endif

}  // namespace bloscfs::codec::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bloscfs::codec {
namespace {

HWY_EXPORT(xor_simd);
HWY_EXPORT(running_xor_simd);

std::size_t whole_words(std::size_t size, std::size_t word) { return size - size % word; }

void xor_bytes(Bytes in, Bytes reference, MutableBytes out, std::size_t size) {
  std::size_t i = HWY_DYNAMIC_DISPATCH(xor_simd)(in.data(), reference.data(), size, out.data());
  for (; i < size; ++i) out[i] = static_cast<std::uint8_t>(in[i] ^ reference[i]);
}

/// Undoes the bytes from `i` on. The first word stays as it is.
void undelta_rest(MutableBytes data, std::size_t word, std::size_t i) {
  const std::size_t end = whole_words(data.size(), word);
  for (i = std::max(i, word); i < end; ++i) {
    data[i] = static_cast<std::uint8_t>(data[i] ^ data[i - word]);
  }
}

}  // namespace

std::size_t delta_word(std::size_t typesize) {
  if (typesize == 2 || typesize == 4) return typesize;
  return typesize % 8 == 0 ? 8 : 1;
}

void delta_running(Bytes in, MutableBytes out, std::size_t typesize) {
  const std::size_t word = delta_word(typesize);
  const std::size_t end = whole_words(in.size(), word);
  const std::size_t first = std::min(word, end);
  std::copy_n(in.begin(), first, out.begin());
  std::size_t i = 0;
  if (end > word) {
    i = HWY_DYNAMIC_DISPATCH(xor_simd)(in.data() + word, in.data(), end - word, out.data() + word);
  }
  for (i += first; i < end; ++i) out[i] = static_cast<std::uint8_t>(in[i] ^ in[i - word]);
  std::copy(in.begin() + static_cast<std::ptrdiff_t>(end), in.end(),
            out.begin() + static_cast<std::ptrdiff_t>(end));
}

void undelta_running(MutableBytes data, std::size_t typesize) {
  const std::size_t word = delta_word(typesize);
  const std::size_t end = whole_words(data.size(), word);
  undelta_rest(data, word, HWY_DYNAMIC_DISPATCH(running_xor_simd)(data.data(), end, word));
}

void delta_reference(MutableBytes data, Bytes reference, std::size_t typesize) {
  xor_bytes(data, reference, data, whole_words(data.size(), delta_word(typesize)));
}

void delta_reference(Bytes in, Bytes reference, MutableBytes out, std::size_t typesize) {
  const std::size_t end = whole_words(in.size(), delta_word(typesize));
  xor_bytes(in, reference, out, end);
  std::copy(in.begin() + static_cast<std::ptrdiff_t>(end), in.end(),
            out.begin() + static_cast<std::ptrdiff_t>(end));
}

void delta_running_scalar(Bytes in, MutableBytes out, std::size_t typesize) {
  const std::size_t word = delta_word(typesize);
  const std::size_t end = whole_words(in.size(), word);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const bool plain = i < word || i >= end;
    out[i] = plain ? in[i] : static_cast<std::uint8_t>(in[i] ^ in[i - word]);
  }
}

void undelta_running_scalar(MutableBytes data, std::size_t typesize) {
  undelta_rest(data, delta_word(typesize), 0);
}

void delta_reference_scalar(MutableBytes data, Bytes reference, std::size_t typesize) {
  const std::size_t end = whole_words(data.size(), delta_word(typesize));
  for (std::size_t i = 0; i < end; ++i) {
    data[i] = static_cast<std::uint8_t>(data[i] ^ reference[i]);
  }
}

}  // namespace bloscfs::codec
#endif
