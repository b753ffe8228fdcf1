#pragma once
// Reads a number from the bytes of an item.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "codec/bytes.hpp"

namespace bloscfs::tools {

/// Reads the value from the first bytes of `item`, which must have at least that many bytes.
template <typename Value>
Value load_value(codec::Bytes item, bool is_big_endian) {
  std::array<std::uint8_t, sizeof(Value)> bytes{};
  std::copy_n(item.begin(), sizeof(Value), bytes.begin());
  if (is_big_endian) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<Value>(bytes);
}

}  // namespace bloscfs::tools
