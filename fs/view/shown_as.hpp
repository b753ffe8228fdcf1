#pragma once
// How an entry of SOURCE is shown.

#include <cstdint>

namespace bloscfs::fs {

/// How an entry is shown, as far as its name depends on that.
enum class ShownAs : std::uint8_t {
  itself,
  flat,
  array,
  store,        ///< a ZIP file or a directory of python-blosc2, as a directory
  frame_store,  ///< a frame of python-blosc2 that is a store, as a directory
};

constexpr bool is_store(ShownAs shown) {
  return shown == ShownAs::store || shown == ShownAs::frame_store;
}

}  // namespace bloscfs::fs
