#pragma once
// Byte spans and the checked arithmetic that every parser uses.

#include <cstddef>
#include <cstdint>
#include <span>

#include <boost/endian/conversion.hpp>

namespace bloscfs::codec {

using Bytes = std::span<const std::uint8_t>;
using MutableBytes = std::span<std::uint8_t>;

/// A range of a source or of a chunk, in its stored bytes or its contents.
struct ByteRange {
  std::int64_t offset = 0;
  std::int64_t size = 0;
};

/// Returns ceil(n / d) without overflow, for n >= 0 and d > 0.
template <typename T>
constexpr T ceil_div(T n, T d) {
  return n / d + (n % d != 0 ? 1 : 0);
}

/// Returns the little-endian int32 at `offset`. The caller has checked that it lies inside `in`.
inline std::int32_t load_int32(Bytes in, std::size_t offset) {
  return boost::endian::load_little_s32(in.data() + offset);
}

}  // namespace bloscfs::codec
