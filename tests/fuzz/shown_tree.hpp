#pragma once
// All that a mount shows, for comparison.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/fuzz/fuse_channel.hpp"

namespace bloscfs::fuzz {

struct ShownFile {
  std::uint32_t type = 0;
  std::uint64_t size = 0;  ///< of regular files
  /// Of regular files their first and last bytes, of symlinks the text; none where it could not be
  /// read.
  std::optional<std::vector<std::uint8_t>> bytes = {};
};

/// By path. A part of it where there is much.
using ShownTree = std::map<std::string, ShownFile>;

ShownTree read_tree(FuseChannel& channel);

/// Ends the process unless `after` shows the same files, with the bytes that could be read. What
/// had its full name since another one would have been shown the same may have got its own with the
/// commit of that.
void require_same(const ShownTree& before, const ShownTree& after);

}  // namespace bloscfs::fuzz
