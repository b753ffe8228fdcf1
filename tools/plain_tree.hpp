#pragma once
// Walks a local directory tree, entry by entry.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "fs/source/local/files/source_root.hpp"

namespace bloscfs::tools {

struct PlainEntry {
  std::string path;  ///< below the root; empty for the root itself
  struct stat st {};
  std::shared_ptr<const fs::SourceObject> object;
  std::exception_ptr problem;  ///< error that keeps its contents from being read
};

/// Walks depth first, in the order of names, each directory before its contents. Does not follow
/// symlinks. Skips entries that vanish during the walk.
class PlainTree {
 public:
  /// Throws std::system_error if `directory`, which may be a symlink, is not a directory.
  explicit PlainTree(const std::string& directory);

  /// Returns nullopt behind the last entry.
  std::optional<PlainEntry> next();
  const fs::SourceRoot& root() const { return root_; }

 private:
  struct Level {
    fs::SourcePath path;
    std::vector<std::string> names;  ///< the next one is last
  };

  std::optional<PlainEntry> visit(const fs::SourcePath& path);

  fs::SourceRoot root_;
  std::vector<Level> levels_;
  bool is_begun_ = false;
};

}  // namespace bloscfs::tools
