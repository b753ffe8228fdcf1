#pragma once
// What a node stands for that is in an archive.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "fs/source/archives/archive.hpp"
#include "fs/source/node.hpp"

namespace bloscfs::fs {

struct ArchivePart {
  std::shared_ptr<const Archive> archive;  ///< null: another state has come since
  NodeId root = 0;  ///< of the archive's file, or of the directory that it is embedded in
  ArchiveEntry entry;
  /// Embedded in a directory: the status of the file that holds it.
  std::shared_ptr<const struct stat> embed;
  std::int64_t size = -1;  ///< of a leaf as it is shown, or of a link, once that is known
  std::int64_t stored_size = 0;
};

/// A group as a directory that is listed. `charge` as of Archive::list().
std::vector<DirectoryEntry> list_shown(const Archive& archive, const std::string& group,
                                       frame::MemoryCharge& charge,
                                       const std::function<ino_t(const ArchiveEntry&)>& inode_of);
/// The part with its size: opens a leaf whose size is not known yet. Null if it is known, and for a
/// group. Throws as Archive::open(); ESTALE without an archive; NoTurn.
std::shared_ptr<const ArchivePart> measured(const ArchivePart& part, bool raw);
/// A number for each entry of an archive's file, the same whenever that is asked.
ino_t inode_in_archive(const struct stat& file, const ArchiveEntry& entry);
/// The attributes of a leaf or a link; `file` are those of what holds it, of whose mode it has the
/// bits `may`. The inode number is the caller's.
struct stat status_of(const ArchivePart& part, struct stat file, mode_t may);

}  // namespace bloscfs::fs
