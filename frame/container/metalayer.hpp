#pragma once
// Metalayers for the header of a new frame.

#include <cstdint>
#include <string>
#include <vector>

namespace bloscfs::frame::inline container {

/// A fixed metalayer of a new frame.
struct Metalayer {
  std::string name;  ///< 1 to 31 bytes without NUL
  std::vector<std::uint8_t> content;
};

}  // namespace bloscfs::frame::inline container
