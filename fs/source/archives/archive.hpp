#pragma once
// A file whose contents a mount shows as a directory, read only, and the nodes of what it holds.

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

/// What a group of an archive holds under one name. A key can be a group and a leaf: these are two
/// entries.
struct ArchiveEntry {
  std::string key;        ///< "/a/b", from the archive's root
  std::string full_name;  ///< what it is shown by where two want the same name
  ShownAs shown = ShownAs::itself;
  mode_t type = S_IFDIR;  ///< or S_IFREG, a frame; or S_IFLNK

  bool is_group() const { return type == S_IFDIR; }
};

/// So many archives stay open though nobody uses them. One with 100,000 members takes 15 MB.
inline constexpr std::size_t kRecentArchives = 4;

/// One state of an archive. Groups are "/" and "/a/b". Thread-safe. Throws std::system_error,
/// codec::Error for damage, ENOENT for what is not there.
class Archive {
 public:
  Archive() = default;
  virtual ~Archive() = default;
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  /// All of a group, in the order of full names. Opens at most what no name tells whether it is an
  /// array. Takes of `charge` what the result needs, and what a caller needs who lists it.
  virtual std::vector<ArchiveEntry> list(Request& request, const std::string& group,
                                         frame::MemoryCharge& charge) const = 0;
  /// What has that full name; nothing if there is none.
  virtual std::optional<ArchiveEntry> find(Request& request, const std::string& group,
                                           const std::string& full_name) const = 0;
  /// A leaf's frame.
  virtual std::shared_ptr<const frame::Snapshot> open(const ArchiveEntry& leaf) const = 0;
  virtual std::string link_text(const ArchiveEntry& link) const = 0;
  /// The frame that has the metalayers of a group; null if it has none.
  virtual std::shared_ptr<const frame::Snapshot> frame_of(const std::string& group) const = 0;
  /// Another attribute of a group. Nothing if it has none of that name.
  virtual std::optional<std::string> attribute(const std::string& group,
                                               const std::string& name) const = 0;
  /// False where damage has left unknown what it holds.
  virtual bool is_complete() const = 0;
  /// What is to be told of it when it is opened.
  virtual std::vector<std::string> messages() const = 0;
};

/// EIO where damage has left entries unknown, of which `name` may be one.
void require_complete(const Archive& archive, const std::string& name);
/// What is shown as `name`; nothing if there is none, or EIO as of require_complete().
std::optional<ArchiveEntry> find_shown(Request& request, const Archive& archive,
                                       const std::string& group, const std::string& name);
/// Any attribute of a group: its own, or a metalayer.
std::optional<std::string> group_attribute(const Archive& archive, const std::string& group,
                                           const std::string& name);

/// What a node stands for that is in an archive.
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
std::vector<DirectoryEntry> list_shown(Request& request, const Archive& archive,
                                       const std::string& group, frame::MemoryCharge& charge,
                                       const std::function<ino_t(const ArchiveEntry&)>& inode_of);
/// The part with its size: opens a leaf whose size is not known yet. Null if it is known, and for a
/// group. Throws as Archive::open(); ESTALE without an archive; NoSlot.
std::shared_ptr<const ArchivePart> measured(Request& request, const ArchivePart& part, bool raw);
/// A number for each entry of an archive's file, the same whenever that is asked.
ino_t inode_in_archive(const struct stat& file, const ArchiveEntry& entry);
/// The attributes of a leaf or a link; `file` are those of what holds it, of whose mode it has the
/// bits `may`. The inode number is the caller's.
struct stat status_of(const ArchivePart& part, struct stat file, mode_t may);

}  // namespace bloscfs::fs
