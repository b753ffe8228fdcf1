#pragma once
// Frames of at most some hundred KiB that claim very large contents. A careless reader would use
// gigabytes of memory, or never end.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

struct HostileFrame {
  std::string name;
  ByteVector bytes;
  std::int64_t block_memory = 0;  ///< bytes that decoding one of its blocks takes
};

std::vector<HostileFrame> hostile_frames();
/// Returns the frame with this name.
HostileFrame hostile_frame(const std::string& name);

}  // namespace bloscfs::test
