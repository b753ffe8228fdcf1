#pragma once
// Walks a directory as a mount would show it, entry by entry, without a mount.

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "fs/mount/mount.hpp"
#include "fs/support/page_pool.hpp"
#include "fs/view/block_cache.hpp"
#include "tools/remote_files.hpp"
#include "tools/verifier.hpp"

namespace bloscfs::tools {

/// An entry as a mount shows it.
struct ShownEntry {
  std::string path;       ///< shown names below the root; empty for the root itself
  std::string stored;     ///< path below SOURCE, or URL; FILE:/KEY for a leaf of a store
  std::string full_name;  ///< last part of the stored name; a.b2nd for an embedded leaf
  std::string key;        ///< key in the store, if SOURCE is one
  struct stat st {};
  std::string link;                        ///< target of a symlink
  std::shared_ptr<const fs::NodeId> node;  ///< the node is forgotten with the last copy
  std::exception_ptr problem;              ///< error that keeps the entry from being read
};

/// Says whether the contents of an entry can be read.
struct Readable {
  Health health = Health::ok;
  std::string reason;
};

/// What happens to subdirectories: enter walks into them, give only returns them.
enum class Subdirectories { enter, give };

/// A read-only filesystem like the daemon's, but without a mount. Walks depth first, in the order
/// of names, each directory before its contents. Only one thread at a time may call next(). Any
/// number of threads may call the other functions.
class ShownTree {
 public:
  struct Settings {
    Subdirectories below = Subdirectories::enter;
    std::string key = "/";  ///< if SOURCE is a store, shows only what is below this key
    /// Logs damaged files. False for callers that report the errors of stored_form().
    bool logs_verdicts = true;
  };

  /// `source` is a path or a URL. Waits for mounts of it that have ended. Throws what
  /// fs::open_source(), RemoteSource and frame::open_remote() throw.
  ShownTree(const std::string& source, const RemoteFiles& remote, Settings settings);

  /// True if SOURCE is not a directory. The root then holds only that file, or the contents of that
  /// store.
  bool is_single() const { return is_single_; }
  /// True if SOURCE is a store of python-blosc2.
  bool is_store() const { return is_store_; }
  /// True if the walk enters directories. It always enters the groups of a store that is SOURCE.
  bool enters_directories() const {
    return is_store_ || is_single_ || settings_.below == Subdirectories::enter;
  }
  /// Returns nullopt behind the last entry.
  std::optional<ShownEntry> next();
  /// Returns how a regular file is stored. Throws what Source::stored_form() throws.
  fs::StoredForm stored_form(const ShownEntry& entry);
  /// True if the entry is a directory of a store and holds a table.
  bool is_table(const ShownEntry& entry);
  /// Returns whether the contents of a frame can be read: unsupported, no_contents or ok.
  Readable readable(const fs::StoredForm& form);

 private:
  struct Level {
    std::shared_ptr<const fs::NodeId> node;
    std::string path;
    std::string key;                          ///< "" for the root, else like "/a/b"
    std::vector<fs::DirectoryEntry> entries;  ///< the next one is last
  };

  void enter(std::shared_ptr<const fs::NodeId> node, const std::string& path, std::string key);
  void leave();
  bool is_wanted(const std::string& key, bool is_directory) const;
  bool look(const fs::DirectoryEntry& entry, ShownEntry& shown);

  const Settings settings_;
  fs::PagePool pages_;
  fs::Stats stats_;
  fs::BlockCache cache_;  ///< for indexes only
  std::unique_ptr<fs::Mount> mount_;
  fs::Request request_;
  bool is_single_ = false;
  bool is_store_ = false;
  std::uint64_t readers_ = 0;
  std::vector<Level> levels_;
  bool is_begun_ = false;
};

}  // namespace bloscfs::tools
