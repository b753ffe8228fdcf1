#pragma once
// Types for what a mount knows of the files of its SOURCE: numbers, attributes, what listings show,
// and which attributes can be set.

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

/// The number by which the kernel knows a file or directory. Numbers are never used again.
using NodeId = std::uint64_t;
inline constexpr NodeId kRootId = 1;
/// Throws ESTALE.
[[noreturn]] inline void throw_stale(NodeId id) {
  frame::throw_errno(ESTALE, "inode " + std::to_string(id));
}

/// The unit of st_blocks.
inline constexpr std::int64_t kStatBlock = 512;

/// The node that a lookup found.
struct FoundNode {
  NodeId id = 0;
  struct stat attributes {};
  /// The entry is shown under its full name because other entries want its preferred name. So its
  /// shown name may change when other entries of its directory change.
  bool is_fallback = false;
  bool is_cacheable = true;  ///< the kernel may keep name and attributes for a while
};

/// An entry as a listing shows it.
struct DirectoryEntry {
  std::string shown_name;
  std::string full_name;
  mode_t type = 0;  ///< S_IF*
  ino_t inode = 0;
  /// Embedded in a store, so no entry of SOURCE (fs/source/local/tree/embedded_entries.hpp).
  bool is_embedded = false;
  bool operator==(const DirectoryEntry&) const = default;
};

/// Called when a directory turns out to have many entries. Returns false if the listing is not
/// needed any more.
using OnManyEntries = std::function<bool()>;

/// Identifies one state of a source file. For a sparse frame it is the state of its index file.
struct FileState {
  frame::FileStamp stamp;
  std::int64_t ctime_ns = 0;  ///< unlike other times it cannot be set back
  bool operator==(const FileState&) const = default;
};
inline FileState state_of(const struct stat& st) {
  return {frame::stamp_of(st), nanoseconds(st.st_ctim)};
}

/// Value of NewAttributes::owner that keeps the present owner, but counts as a change of owner.
inline constexpr uid_t kUnchangedOwner = static_cast<uid_t>(-1);

/// Attributes to set. Those without a value stay as they are.
struct NewAttributes {
  std::optional<mode_t> mode;  ///< permission bits
  std::optional<uid_t> owner;
  std::optional<gid_t> group;
  std::optional<timespec> accessed, modified;  ///< tv_nsec may be UTIME_NOW
};

}  // namespace bloscfs::fs
