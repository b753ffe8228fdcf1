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

/// An open directory, and a path relative to it. The path is short enough for one system call, even
/// after "/" and one more name are appended.
struct NearPath {
  frame::SharedFd above;
  std::string rest;  ///< path, relative to `above`

  int directory() const { return above->get(); }
};

/// Whether paths may enter filesystems that are mounted below SOURCE. With `leave_out`, those mount
/// points appear absent. Otherwise a user who can mount there could make the daemon wait for a
/// filesystem that does not answer.
enum class OtherMounts { leave_out, enter };

/// The root of SOURCE. Paths may be of any length: a path that is too long for one system call is
/// followed in steps. No step leaves SOURCE or follows a symlink. After watch_directories(),
/// directories that are looked at often are watched (watched_directories.hpp).
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
  /// Stops watching directories that are no longer used. To be called about once a second while it
  /// returns true; it returns false if no directories are watched.
  bool tidy() const;

  int descriptor() const { return directory_->get(); }

  /// Opens an object below the root with O_CLOEXEC. `flags` must contain O_PATH, or be flags for
  /// opening a directory.
  frame::UniqueFd open(const SourcePath& path, int flags, OneLook* within = nullptr) const;
  /// Opens the first directories of a long path, until the remaining path is short enough.
  NearPath approach(const SourcePath& path) const;

  // The functions below see all that other programs changed before the call. With `within`, they
  // may miss what changed after the first call with the same OneLook.

  /// Returns the lstat(2) of the object that has the path's last name now, even if it is not the
  /// object meant; nullopt if the name does not exist.
  std::optional<struct stat> stat(const SourcePath& path, OneLook* within = nullptr) const;
  /// Like stat(), but the kernel must ask the filesystem again. To be used after our own change.
  std::optional<struct stat> stat_anew(const SourcePath& path, OneLook* within = nullptr) const;
  /// True if it is known, without asking the filesystem, that `directory` still leads to the
  /// directory `object`, and that this has no entry `name`.
  bool is_known_absent(const SourcePath& directory, const Identity& object, const std::string& name,
                       OneLook* within = nullptr) const;
  std::string read_link(const SourcePath& path, OneLook* within = nullptr) const;
  SourceObject object(const SourcePath& path, OneLook* within = nullptr) const;
  /// Returns null if the path leads nowhere, or to another object than the one meant.
  std::shared_ptr<const SourceObject> find(const SourcePath& path, OneLook* within = nullptr) const;
  /// Returns the object that has the path's last name now, even if it is not the object meant; null
  /// if the name does not exist. If the object is still `made`, a file that this mount has made,
  /// returns `made` without opening it again.
  std::shared_ptr<const SourceObject> find_any(
      const SourcePath& path, OneLook* within = nullptr,
      const std::shared_ptr<const SourceObject>& made = nullptr) const;
  /// True if the path leads to that object.
  bool leads_to(const SourcePath& path, const Identity& object, OneLook* within = nullptr) const;
  SourceDirectory directory(const SourcePath& path, OneLook* within = nullptr) const;
  /// Opens a directory with O_PATH. Other paths to the directory may share the descriptor.
  frame::SharedFd enter(const SourcePath& directory, OneLook* within = nullptr) const;
  /// Throws ESTALE if the directory is gone. ESTALE makes the kernel look the path up again.
  void require(const SourcePath& directory, OneLook* within = nullptr) const;

  struct statvfs stat_filesystem() const;
  /// Makes all changes in SOURCE's filesystem durable (syncfs(2)).
  void sync_all() const;
  /// Announces that the caller will look at `count` entries of the directory, one by one. For many
  /// entries it is worth watching the directory.
  void expect_lookups(const SourcePath& directory, std::size_t count) const;
  /// Drops the descriptor that is kept for a name that this mount has removed. The object is then
  /// open only for its other users, so that its space is freed when they close it.
  void drop_object(const SourcePath& directory, const std::string& name) const;

  struct Entry {
    std::string name;
    unsigned char type;  ///< DT_*
    ino_t inode;
  };
  /// A directory with more entries takes much time and memory to list.
  static constexpr std::size_t kManyEntries = 256;
  /// Lists a directory without "." and "..".
  std::vector<Entry> list(const SourcePath& path) const;
  /// Lists a directory. Calls `on_many_entries` before it reads more than kMany entries. Returns
  /// nullopt if `on_many_entries` returns false.
  std::optional<std::vector<Entry>> list(const SourcePath& path,
                                         const OnManyEntries& on_many_entries) const;

 private:
  /// The next functions return null, nullopt or -1 on failure, with errno set.
  frame::SharedFd try_enter(SourcePath::Step& step, OneLook* within) const;
  std::optional<NearPath> try_approach(SourcePath::Step* above, const std::string& rest,
                                       OneLook* within) const;
  int try_open(SourcePath::Step* above, const std::string& rest, int flags, OneLook* within) const;

  int step_into(int directory, const std::string& name, int flags) const;
  int open_beneath(int directory, const std::string& path, int flags) const;
  bool has_expected_identity(int fd, const std::optional<Identity>& meant) const;
  bool is_own_mount(int fd) const;
  bool names_object(const SourcePath& path, const Identity& object, OneLook* within) const;
  std::shared_ptr<const SourceObject> try_find(
      const SourcePath& path, const std::optional<Identity>& meant, OneLook* within,
      const std::shared_ptr<const SourceObject>& made = nullptr) const;
  std::shared_ptr<const SourceObject> found_or_throw(std::shared_ptr<const SourceObject> found,
                                                     const SourcePath& path) const;

  const frame::SharedFd directory_;
  const OtherMounts others_;
  const dev_t own_device_;     ///< of the mount that this object serves; 0: none
  const std::uint64_t mount_;  ///< ID of the only mount that paths may enter; 0: any mount
  std::unique_ptr<WatchedDirectories> watched_;
  Identity identity_;  ///< of SOURCE, if directories are watched
};

}  // namespace bloscfs::fs
