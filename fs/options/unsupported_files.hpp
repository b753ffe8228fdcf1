#pragma once
// How a mount shows containers that it cannot decode (frame/container/missing_decoder.hpp).

#include <cstdint>

namespace bloscfs::fs {

enum class UnsupportedFiles : std::uint8_t {
  refused,  ///< listed, and reading fails
  hidden,   ///< left out, like frames of an unknown format version
  raw,      ///< shown as stored bytes
};

}  // namespace bloscfs::fs
