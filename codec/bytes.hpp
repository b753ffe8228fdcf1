#pragma once
// Byte spans and the checked arithmetic that every parser uses.

#include <cstddef>
#include <cstdint>
#include <span>

namespace bloscfs::codec {

using Bytes = std::span<const std::uint8_t>;
using MutableBytes = std::span<std::uint8_t>;

/// ceil(n / d) without overflow, for n >= 0 and d > 0.
template <typename T>
constexpr T ceil_div(T n, T d) {
  return n / d + (n % d != 0 ? 1 : 0);
}

}  // namespace bloscfs::codec
