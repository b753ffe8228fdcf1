#pragma once
// What a mount does with containers whose contents it cannot decode: those that
// frame/container/missing_decoder.hpp tells of.

#include <cstdint>

namespace bloscfs::fs {

enum class UnsupportedFiles : std::uint8_t {
  refused,  ///< shown as what they are, and reading fails
  hidden,   ///< left out, as those of a format version that is not known
  raw,      ///< shown as they are stored
};

}  // namespace bloscfs::fs
