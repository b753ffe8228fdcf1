#pragma once
// A directory as a mount would show it, entry by entry, without a mount.

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

/// What a mount shows under one name.
struct ShownEntry {
  std::string path;       ///< below the root, by shown names; empty for the root itself
  std::string stored;     ///< below SOURCE, or a URL; of a leaf of a store FILE:/KEY
  std::string full_name;  ///< last part of the stored name; of a leaf that is embedded a.b2nd
  std::string key;        ///< where SOURCE is a store
  struct stat st {};
  std::string link;                        ///< text of a symlink
  std::shared_ptr<const fs::NodeId> node;  ///< kept until the last copy goes
  std::exception_ptr problem;              ///< why it cannot be looked at
};

/// What keeps the contents of an entry from being read.
struct Readable {
  Health health = Health::ok;
  std::string reason;
};

/// What becomes of directories below the one that is gone through.
enum class Subdirectories { enter, give };

/// A read-only filesystem as the daemon has it, without a kernel. Depth first, in the order of
/// names, directories before what is in them. next(): one thread at a time; the others: any number.
class ShownTree {
 public:
  struct Settings {
    Subdirectories below = Subdirectories::enter;
    std::string key = "/";  ///< of a store that is SOURCE: what stands under that key alone
  };

  /// `source`: a path or a URL. Errors as fs::open_source(), RemoteSource and
  /// frame::open_remote(). Waits for mounts of it that have ended.
  ShownTree(const std::string& source, const RemoteFiles& remote, Settings settings);

  /// True where SOURCE is no directory: the root holds that alone, or, of a store, what is in it.
  bool is_single() const { return is_single_; }
  /// True where SOURCE is a store of python-blosc2.
  bool is_store() const { return is_store_; }
  /// Also the groups of a store that is SOURCE.
  bool enters_directories() const {
    return is_store_ || is_single_ || settings_.below == Subdirectories::enter;
  }
  /// nullopt behind the last one.
  std::optional<ShownEntry> next();
  /// Of a regular file. Errors as Source's.
  fs::StoredForm stored_form(const ShownEntry& entry);
  /// True for a directory of a store that is a table.
  bool is_table(const ShownEntry& entry);
  /// Why the contents of a frame cannot be read: the status unsupported, no_contents or ok.
  Readable readable(const fs::StoredForm& form);

 private:
  struct Level {
    std::shared_ptr<const fs::NodeId> node;
    std::string path;
    std::string key;                          ///< "" for the root, "/a/b"
    std::vector<fs::DirectoryEntry> entries;  ///< the next one last
  };

  void enter(std::shared_ptr<const fs::NodeId> node, const std::string& path, std::string key);
  void leave();
  bool is_wanted(const std::string& key, bool is_directory) const;
  bool look(const fs::DirectoryEntry& entry, ShownEntry& shown);

  const Settings settings_;
  fs::PagePool pages_;
  fs::Stats stats_;
  fs::BlockCache cache_;  ///< for indexes alone
  std::unique_ptr<fs::Mount> mount_;
  fs::Request request_;
  bool is_single_ = false;
  bool is_store_ = false;
  std::uint64_t readers_ = 0;
  std::vector<Level> levels_;
  bool is_begun_ = false;
};

}  // namespace bloscfs::tools
