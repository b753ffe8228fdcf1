#pragma once
// Everything that a mount shows, for comparison.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/fuzz/fuse_channel.hpp"

namespace bloscfs::fuzz {

struct ShownFile {
  std::uint32_t type = 0;
  std::uint64_t size = 0;  ///< of regular files
  /// The first and last bytes of a regular file, or the target of a symlink; nullopt if they could
  /// not be read.
  std::optional<std::vector<std::uint8_t>> bytes = {};
};

/// By path. Holds only a part of a large tree.
using ShownTree = std::map<std::string, ShownFile>;

ShownTree read_tree(FuseChannel& channel);

/// Aborts unless `after` shows the same files, with the same bytes as far as they could be read. A
/// file may have changed its shown name: it had its full name while another file would have been
/// shown under the same name, and that file was committed.
void require_same(const ShownTree& before, const ShownTree& after);

}  // namespace bloscfs::fuzz
