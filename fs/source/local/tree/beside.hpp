#pragma once
// What stands in the directories of a store beside what SOURCE has there: leaves that are embedded
// in its embed.b2e, and groups that only its map knows.

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

/// A directory of SOURCE that is a group of a store.
struct StorePlace {
  NodeId root = 0;       ///< the store's directory
  SourcePath root_path;  ///< the same
  std::string group;     ///< "/" or "/a/b"

  SourcePath path() const {
    return group == "/" ? root_path : join_path(root_path, group.substr(1));
  }
  std::string key(const std::string& name) const {
    return (group == "/" ? group : group + "/") + name;
  }
  StorePlace inside(const std::string& name) const { return {root, root_path, key(name)}; }
};

/// Thread-safe. Throws std::system_error, codec::Error.
class Beside {
 public:
  virtual ~Beside() = default;

  // Called with names locked, for moments: what has to be read is read without the lock, by
  // ReadFirst.

  /// What has that full name, hidden by a file or not.
  virtual std::optional<ArchiveEntry> find(NamesWork& work, const StorePlace& place,
                                           const std::string& full_name) = 0;
  /// True if something of the store is in that group or below it, groups' attributes displaced.
  virtual bool has_any(NamesWork& work, const StorePlace& place) = 0;

  // Called without locks.

  /// EIO where damage has left unknown what is embedded, of which `name` may be.
  virtual void require_complete(Request& request, const StorePlace& place,
                                const std::string& name) = 0;
  struct Listed {
    std::vector<ArchiveEntry> entries;
    std::shared_ptr<const struct stat> embed;  ///< for inode_in_archive()
  };
  /// Everything, hidden by files or not. Where there is anything `if_any` is called before.
  virtual std::optional<Listed> list(Request& request, const StorePlace& place,
                                     const IfMany& if_any) = 0;
  /// What has that full name now, with its size; null if nothing has.
  virtual std::shared_ptr<const ArchivePart> part(Request& request, const StorePlace& place,
                                                  const std::string& full_name) = 0;
  virtual struct stat attributes(Request& request, const ArchivePart& part) = 0;
};

}  // namespace bloscfs::fs
