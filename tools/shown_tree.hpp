#pragma once
// A directory as a mount would show it, entry by entry, without a mount.

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "fs/mount/filesystem.hpp"
#include "tools/frame_tree.hpp"
#include "tools/verifier.hpp"

namespace bloscfs::tools {

/// What a mount shows under one name.
struct ShownEntry {
  std::string path;    ///< below the root, by shown names; empty for that itself
  std::string stored;  ///< the same by stored names; of a leaf of a store FILE:/KEY
  struct stat st {};
  std::string link;                             ///< text of a symlink
  fs::SourceEntry source;                       ///< of a file that is no part of a store
  fs::SourcePath source_path;                   ///< the same
  std::shared_ptr<const frame::Snapshot> leaf;  ///< of a store
  std::exception_ptr problem;                   ///< why it cannot be looked at
};

/// What keeps the contents of an entry from being read.
struct Readable {
  Health health = Health::ok;
  std::string reason;
};

/// A read-only filesystem as the daemon has it, without a kernel. Depth first, in the order of
/// names, directories before what is in them. next(): one thread at a time; the others: any number.
class ShownTree {
 public:
  /// Errors as fs::open_source(). Waits for mounts of it that have ended.
  explicit ShownTree(const std::string& source, Subdirectories below = Subdirectories::enter);

  /// nullopt behind the last one.
  std::optional<ShownEntry> next();
  /// The container of a regular file; null where it is shown as it is stored.
  std::shared_ptr<const frame::Snapshot> open(const ShownEntry& entry) const;
  /// Throws codec::Error where the bytes of an entry announce a frame and contradict that; says why
  /// contents cannot be read: the status unsupported, no_contents or ok.
  Readable readable(const ShownEntry& entry);

 private:
  struct Level {
    fs::NodeId node;
    std::string path;
    std::vector<fs::Tree::DirectoryEntry> entries;  ///< the next one last
  };

  fs::Tree& tree() { return filesystem_.tree(); }
  fs::Stores& stores() { return filesystem_.stores(); }
  void enter(fs::NodeId node, const std::string& path);
  void leave();
  bool look(fs::NodeId directory, const fs::Tree::DirectoryEntry& entry, ShownEntry& shown);
  bool look_at_node(fs::NodeId directory, const fs::Tree::DirectoryEntry& entry, ShownEntry& shown);
  void forget(fs::NodeId node);

  const Subdirectories below_;
  fs::PagePool pages_;
  mutable fs::Filesystem filesystem_;
  std::uint64_t readers_ = 0;
  std::vector<Level> levels_;
  bool is_begun_ = false;
};

}  // namespace bloscfs::tools
