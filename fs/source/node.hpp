#pragma once
// What a mount knows of the files of its SOURCE: their numbers, their attributes, what a listing
// tells of them, and which attributes can be set.

#include <cerrno>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <sys/stat.h>
#include <sys/types.h>

#include "frame/store/byte_source.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/support/timestamps.hpp"

namespace bloscfs::fs {

/// The number of a file or directory that the kernel knows. Never used again for another one.
using NodeId = std::uint64_t;
inline constexpr NodeId kRootId = 1;
/// Throws ESTALE.
[[noreturn]] inline void throw_stale(NodeId id) {
  frame::throw_errno(ESTALE, "inode " + std::to_string(id));
}

/// The unit of st_blocks.
inline constexpr std::int64_t kStatBlock = 512;

/// A node that was found by a name.
struct FoundNode {
  NodeId id = 0;
  struct stat attributes {};
  /// The shown name depends on the other entries of its directory, and may change with them.
  bool is_fallback = false;
  bool is_cacheable = true;  ///< the kernel may keep name and attributes for a while
};

/// What a listing tells of an entry.
struct DirectoryEntry {
  std::string shown_name;
  std::string full_name;
  mode_t type = 0;  ///< S_IF*
  ino_t inode = 0;
  bool is_beside = false;  ///< no entry of SOURCE (fs/source/local/tree/beside.hpp)
  bool operator==(const DirectoryEntry&) const = default;
};

/// Called where a directory turns out to have many entries. False where nobody needs the listing
/// any more.
using IfMany = std::function<bool()>;

/// Tells one state of a source file from another; sframes are their index file's states.
struct FileState {
  frame::FileStamp stamp;
  std::int64_t ctime_ns = 0;  ///< times can be set back, this one cannot
  bool operator==(const FileState&) const = default;
};
inline FileState state_of(const struct stat& st) {
  return {frame::stamp_of(st), nanoseconds(st.st_ctim)};
}

/// As an owner to set: there is the same one as before, but that counts as a change.
inline constexpr uid_t kUnchangedOwner = static_cast<uid_t>(-1);

/// Attributes to set; those without a value stay as they are.
struct NewAttributes {
  std::optional<mode_t> mode;  ///< permission bits
  std::optional<uid_t> owner;
  std::optional<gid_t> group;
  std::optional<timespec> accessed, modified;  ///< or UTIME_NOW
};

}  // namespace bloscfs::fs
