#pragma once
// A directory as a mount would show it, entry by entry, without a mount.

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "fs/mount/mount_source.hpp"
#include "fs/stores/stores.hpp"
#include "fs/tree/classifier.hpp"
#include "fs/tree/tree.hpp"
#include "fs/view/block_cache.hpp"

namespace bloscfs::tools {

/// What a mount shows under one name.
struct ShownEntry {
  std::string path;  ///< below the root, by shown names; empty for that itself
  struct stat st {};
  std::string link;                             ///< text of a symlink
  fs::SourceEntry source;                       ///< of a file that is no part of a store
  fs::SourcePath source_path;                   ///< the same
  std::shared_ptr<const frame::Snapshot> leaf;  ///< of a store
  std::exception_ptr problem;                   ///< why it cannot be looked at
};

/// Depth first, in the order of names, directories before what is in them. next(): one thread at a
/// time; open(): any number.
class ShownTree {
 public:
  /// Errors as fs::open_source(). Waits for mounts of it that have ended.
  explicit ShownTree(const std::string& source);

  /// nullopt behind the last one.
  std::optional<ShownEntry> next();
  /// The container of a regular file; null where it is shown as it is stored.
  std::shared_ptr<const frame::Snapshot> open(const ShownEntry& entry) const;

 private:
  struct Level {
    fs::NodeId node;
    std::string path;
    std::vector<fs::Tree::DirectoryEntry> entries;  ///< the next one last
  };

  ShownTree(fs::MountSource source, int);
  void enter(fs::NodeId node, const std::string& path);
  void leave();
  std::optional<ShownEntry> visit(const Level& level, const fs::Tree::DirectoryEntry& entry,
                                  std::string path);
  bool look(fs::NodeId directory, const fs::Tree::DirectoryEntry& entry, ShownEntry& shown);
  bool look_at_node(fs::NodeId directory, const fs::Tree::DirectoryEntry& entry, ShownEntry& shown);
  void forget(fs::NodeId node);

  fs::SourceRoot root_;
  fs::Classifier classifier_;
  fs::Tree tree_;
  fs::Stats stats_;
  fs::PagePool pages_;
  fs::BlockCache cache_;
  fs::Stores stores_;
  std::vector<Level> levels_;
  bool is_begun_ = false;
};

}  // namespace bloscfs::tools
