#pragma once
// Access to the objects below SOURCE, by paths that can neither leave SOURCE nor follow symlinks.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dirent.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "frame/store/clock.hpp"
#include "fs/source/local/files/source_directory.hpp"
#include "fs/source/local/files/source_object.hpp"
#include "fs/source/local/files/source_path.hpp"
#include "fs/source/local/files/watched_directories.hpp"
#include "fs/source/node.hpp"

namespace bloscfs::fs {

/// A directory, and a path from there that is short enough for one system call, even with a suffix.
struct NearPath {
  frame::SharedFd above;
  std::string rest;  ///< path, relative to `above`

  int directory() const { return above->get(); }
};

/// Whether paths may enter other mounts below SOURCE. If they are left out, they appear absent. A
/// user who may mount there could make the daemon wait.
enum class OtherMounts { leave_out, enter };

/// The root of SOURCE. Paths may be of any length. Those that are too long for one system call are
/// followed in steps, none of which leaves the root or follows a symlink. After
/// watch_directories(), directories that are looked at often are watched (watched_directories.hpp).
///
/// Errors are std::system_error with the errno; ESTALE if a path leads to another object than the
/// one meant. Thread-safe.
class SourceRoot {
 public:
  /// `directory` is an open directory (O_PATH is enough). `own_device` is the device of the mount
  /// that this object serves, or 0. That mount is never entered: the daemon would wait for itself.
  explicit SourceRoot(frame::UniqueFd directory, OtherMounts others = OtherMounts::leave_out,
                      dev_t own_device = 0);

  /// Starts to watch directories, with at most `descriptors` open files. Must be called before
  /// other threads use this object.
  void watch_directories(std::size_t descriptors,
                         const frame::Clock& clock = frame::system_clock());
  /// As WatchedDirectories::tidy(). Returns false if no directories are watched.
  bool tidy() const;

  int descriptor() const { return directory_->get(); }

  /// Opens an object below the root with O_CLOEXEC. `flags` must contain O_PATH, or be flags for
  /// opening a directory.
  frame::UniqueFd open(const SourcePath& path, int flags, OneLook* within = nullptr) const;
  /// Follows a long path until the rest is short. Leaves a short path as it is.
  NearPath approach(const SourcePath& path) const;

  // The functions below see what other programs changed before the call. With `within`, they see
  // what changed before the first call of that look.

  /// Returns the lstat(2) of the object under the last name, whichever that is; nullopt if there is
  /// none.
  std::optional<struct stat> stat(const SourcePath& path, OneLook* within = nullptr) const;
  /// As SourceObject::stat_anew(); nullopt if there is no object.
  std::optional<struct stat> stat_anew(const SourcePath& path, OneLook* within = nullptr) const;
  /// True if it is known, without asking the filesystem, that the directory `object` at that path
  /// has no such name.
  bool is_known_absent(const SourcePath& directory, const Identity& object, const std::string& name,
                       OneLook* within = nullptr) const;
  std::string read_link(const SourcePath& path, OneLook* within = nullptr) const;
  SourceObject object(const SourcePath& path, OneLook* within = nullptr) const;
  /// Returns null if the path leads nowhere, or to another object than the one meant.
  std::shared_ptr<const SourceObject> find(const SourcePath& path, OneLook* within = nullptr) const;
  /// Returns the object under the last name, whichever that is; null if there is none. If that is
  /// still `made`, a file that this mount has made, returns `made` without opening it again.
  std::shared_ptr<const SourceObject> find_any(
      const SourcePath& path, OneLook* within = nullptr,
      const std::shared_ptr<const SourceObject>& made = nullptr) const;
  /// True if the path leads to that object.
  bool leads_to(const SourcePath& path, const Identity& object, OneLook* within = nullptr) const;
  SourceDirectory directory(const SourcePath& path, OneLook* within = nullptr) const;
  /// Returns an O_PATH descriptor of a directory, which may be shared with others.
  frame::SharedFd enter(const SourcePath& directory, OneLook* within = nullptr) const;
  /// Throws ESTALE if the directory is gone. ESTALE makes the kernel look the path up again.
  void require(const SourcePath& directory, OneLook* within = nullptr) const;

  struct statvfs stat_filesystem() const;
  /// Makes all changes in SOURCE's filesystem durable (syncfs(2)).
  void sync_all() const;
  /// Announces that the caller will look at `count` entries of the directory, one by one.
  void expect_looks(const SourcePath& directory, std::size_t count) const;
  /// Drops the descriptor that is kept for a name that this mount has removed. The object is then
  /// open only for its other users, so that its space is freed when they close it.
  void drop_object(const SourcePath& directory, const std::string& name) const;

  struct Entry {
    std::string name;
    unsigned char type;  ///< DT_*
    ino_t inode;
  };
  /// A listing with more entries is long: it takes time and memory.
  static constexpr std::size_t kMany = 256;
  /// Lists a directory without "." and "..".
  std::vector<Entry> list(const SourcePath& path) const;
  /// Lists a directory. Calls `if_many` before it reads more than kMany entries, and returns
  /// nullopt if that returns false.
  std::optional<std::vector<Entry>> list(const SourcePath& path, const IfMany& if_many) const;

 private:
  /// The next functions return null, nullopt or -1 on failure, with errno set.
  frame::SharedFd try_enter(SourcePath::Step& step, OneLook* within) const;
  std::optional<NearPath> try_approach(SourcePath::Step* above, const std::string& rest,
                                       OneLook* within) const;
  int try_open(SourcePath::Step* above, const std::string& rest, int flags, OneLook* within) const;

  int step_into(int directory, const std::string& name, int flags) const;
  int open_beneath(int directory, const std::string& path, int flags) const;
  bool is_meant(int fd, const std::optional<Identity>& meant) const;
  bool is_own_mount(int fd) const;
  bool names_object(const SourcePath& path, const Identity& object, OneLook* within) const;
  std::shared_ptr<const SourceObject> try_find(
      const SourcePath& path, const std::optional<Identity>& meant, OneLook* within,
      const std::shared_ptr<const SourceObject>& made = nullptr) const;
  std::shared_ptr<const SourceObject> found_or_throw(std::shared_ptr<const SourceObject> found,
                                                     const SourcePath& path) const;

  const frame::SharedFd directory_;
  const OtherMounts others_;
  const dev_t own_device_;     ///< 0: none
  const std::uint64_t mount_;  ///< the only one to be entered; 0: any
  std::unique_ptr<WatchedDirectories> watched_;
  Identity identity_;  ///< of SOURCE, if directories are watched
};

}  // namespace bloscfs::fs
