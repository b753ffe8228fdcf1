#pragma once
// The interface by which the tree finds what a store directory shows in addition to its files:
// leaves embedded in embed.b2e, and groups that only embed.b2e's map knows.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "fs/source/archives/archive.hpp"
#include "fs/source/local/files/source_path.hpp"
#include "fs/source/local/tree/names_work.hpp"
#include "fs/source/local/tree/node_table.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// A directory that is a group of a store.
struct StorePlace {
  NodeId root = 0;       ///< the store's directory
  SourcePath root_path;  ///< its path
  std::string group;     ///< "/" or "/a/b"

  SourcePath path() const {
    return group == "/" ? root_path : join_path(root_path, group.substr(1));
  }
  std::string key(const std::string& name) const {
    return (group == "/" ? group : group + "/") + name;
  }
  StorePlace inside(const std::string& name) const { return {root, root_path, key(name)}; }
};

/// Finds embedded entries of store directories. Thread-safe. Throws std::system_error and
/// codec::Error.
class EmbeddedEntries {
 public:
  virtual ~EmbeddedEntries() = default;

  // The next functions are called with the lock on names held, so they must be quick. If they must
  // read a file, they throw ReadFirst, so that the file is read without the lock.

  /// Returns the embedded entry of that full name, even if a file hides it.
  virtual std::optional<ArchiveEntry> find(NamesWork& work, const StorePlace& place,
                                           const std::string& full_name) = 0;
  /// True if anything is embedded in that group or below it. Attributes of groups do not count.
  virtual bool has_any(NamesWork& work, const StorePlace& place) = 0;

  // The next functions are called without locks.

  /// Throws EIO if damage has left some embedded entries unknown, so that `name` may be one.
  virtual void require_complete(Request& request, const StorePlace& place,
                                const std::string& name) = 0;
  struct Listed {
    std::vector<ArchiveEntry> entries;
    std::shared_ptr<const struct stat> embed;  ///< status of embed.b2e, for inode_in_archive()
  };
  /// Lists everything embedded in the group, even entries that files hide. If there are any, calls
  /// `if_any` first; nullopt if that returns false.
  virtual std::optional<Listed> list(Request& request, const StorePlace& place,
                                     const OnManyEntries& if_any) = 0;
  /// Returns the embedded entry that has that full name now, with its size; null if there is none.
  virtual std::shared_ptr<const ArchivePart> part(Request& request, const StorePlace& place,
                                                  const std::string& full_name) = 0;
  virtual struct stat attributes(Request& request, const ArchivePart& part) = 0;
};

}  // namespace bloscfs::fs
