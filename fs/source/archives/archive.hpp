#pragma once
// Archives: files whose contents a mount shows as a directory, read only. Also the nodes of what
// they hold.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "frame/container/snapshot.hpp"
#include "frame/store/memory_charge.hpp"
#include "fs/source/naming.hpp"
#include "fs/source/node.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// An entry of a group in an archive. A key can be both a group and a leaf: these are two entries.
struct ArchiveEntry {
  std::string key;        ///< "/a/b", from the archive's root
  std::string full_name;  ///< shown if two entries want the same name
  ShownAs shown = ShownAs::itself;
  mode_t type = S_IFDIR;  ///< or S_IFREG, a frame; or S_IFLNK

  bool is_group() const { return type == S_IFDIR; }
};

/// How many archives stay open without being used. One with 100,000 members takes 15 MB.
inline constexpr std::size_t kRecentArchives = 4;

/// One state of an archive. Groups are "/" and "/a/b". Thread-safe. Throws std::system_error,
/// codec::Error for damage, and ENOENT for missing entries.
class Archive {
 public:
  Archive() = default;
  virtual ~Archive() = default;
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  /// Lists a group in the order of full names. Opens only leaves whose names do not tell whether
  /// they are arrays. Takes from `charge` what the result needs, and what the caller needs to make
  /// a listing of it.
  virtual std::vector<ArchiveEntry> list(Request& request, const std::string& group,
                                         frame::MemoryCharge& charge) const = 0;
  /// Returns the entry of that full name; nullopt if there is none.
  virtual std::optional<ArchiveEntry> find(Request& request, const std::string& group,
                                           const std::string& full_name) const = 0;
  /// Opens the frame of a leaf.
  virtual std::shared_ptr<const frame::Snapshot> open(const ArchiveEntry& leaf) const = 0;
  virtual std::string link_text(const ArchiveEntry& link) const = 0;
  /// Returns the frame that has the metalayers of a group; null if there is none.
  virtual std::shared_ptr<const frame::Snapshot> frame_of(const std::string& group) const = 0;
  /// Returns an attribute of a group that is no metalayer; nullopt if the group has none of that
  /// name.
  virtual std::optional<std::string> attribute(const std::string& group,
                                               const std::string& name) const = 0;
  /// False if damage has left some entries unknown.
  virtual bool is_complete() const = 0;
  /// Returns messages to be logged when the archive is opened.
  virtual std::vector<std::string> messages() const = 0;
};

/// Throws EIO if damage has left entries unknown, of which `name` may be one.
void require_complete(const Archive& archive, const std::string& name);
/// Returns the entry shown as `name`. If there is none, returns nullopt or throws EIO as
/// require_complete() does.
std::optional<ArchiveEntry> find_shown(Request& request, const Archive& archive,
                                       const std::string& group, const std::string& name);
/// Returns any attribute of a group: its own, or a metalayer.
std::optional<std::string> group_attribute(const Archive& archive, const std::string& group,
                                           const std::string& name);

/// The part of an archive that a node stands for.
struct ArchivePart {
  std::shared_ptr<const Archive> archive;  ///< null: released, since another state has replaced it
  NodeId root = 0;  ///< node of the archive's file, or of the store directory
  ArchiveEntry entry;
  /// Embedded in a store directory: the status of the file that holds it. Else null.
  std::shared_ptr<const struct stat> embed;
  std::int64_t size = -1;  ///< shown size of a leaf or a link; -1: not known yet
  std::int64_t stored_size = 0;
};

/// Lists a group as a directory. `charge` as in Archive::list().
std::vector<DirectoryEntry> list_shown(Request& request, const Archive& archive,
                                       const std::string& group, frame::MemoryCharge& charge,
                                       const std::function<ino_t(const ArchiveEntry&)>& inode_of);
/// Returns the part with its size, for which it opens a leaf. Null if the size is known already,
/// and for a group. Throws as Archive::open(); ESTALE if the part has no archive; NoSlot.
std::shared_ptr<const ArchivePart> measured(Request& request, const ArchivePart& part, bool raw);
/// Returns an inode number for an entry of the archive with status `file`. An entry always gets the
/// same number.
ino_t inode_in_archive(const struct stat& file, const ArchiveEntry& entry);
/// Returns the attributes of a leaf or a link. `file` has those of the file that holds it, of whose
/// mode only the bits `may` are kept. The caller sets the inode number.
struct stat status_of(const ArchivePart& part, struct stat file, mode_t may);

}  // namespace bloscfs::fs
