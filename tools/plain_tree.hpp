#pragma once
// A local directory tree, entry by entry.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "fs/source/local/files/source_root.hpp"

namespace bloscfs::tools {

struct PlainEntry {
  std::string path;  ///< below the root; empty for that itself
  struct stat st {};
  std::shared_ptr<const fs::SourceObject> object;
  std::exception_ptr problem;  ///< why what is in it cannot be looked at
};

/// Depth first, in the order of names, directories before what is in them; symlinks are not
/// followed. What vanishes meanwhile is passed over.
class PlainTree {
 public:
  /// Throws std::system_error where `directory`, which may be a symlink, is none.
  explicit PlainTree(const std::string& directory);

  /// nullopt behind the last one.
  std::optional<PlainEntry> next();
  const fs::SourceRoot& root() const { return root_; }

 private:
  struct Level {
    fs::SourcePath path;
    std::vector<std::string> names;  ///< the next one last
  };

  std::optional<PlainEntry> visit(const fs::SourcePath& path);

  fs::SourceRoot root_;
  std::vector<Level> levels_;
  bool is_begun_ = false;
};

}  // namespace bloscfs::tools
