#pragma once
// How an entry of SOURCE is shown.

#include <cstdint>

namespace bloscfs::fs {

/// As far as its name depends on it.
enum class ShownAs : std::uint8_t { itself, flat, array, store };

}  // namespace bloscfs::fs
