#pragma once
// Access to what lies below SOURCE by paths that can neither leave it nor follow symlinks.

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

/// An object by a path that one system call takes, also with a suffix.
struct NearPath {
  frame::SharedFd above;
  std::string rest;  ///< from there

  int directory() const { return above->get(); }
};

/// Whether what is mounted below SOURCE is entered. Where it is not it is as if it was not there:
/// who may mount there could keep the daemon waiting.
enum class OtherMounts { leave_out, enter };

/// Paths may be of any length: those that are too long for one system call are followed in steps,
/// none of which leaves the root or follows a symlink, either. Directories that are asked for again
/// and again are watched (watched_directories.hpp), if they are to be. Errors are std::system_error
/// with the errno, ESTALE where a path leads to another object than the one that was meant.
/// Thread-safe.
class SourceRoot {
 public:
  /// `directory` is an open directory (O_PATH is enough).
  /// `own_device` is the mount that this serves, if any, whose daemon would wait for itself there.
  explicit SourceRoot(frame::UniqueFd directory, OtherMounts others = OtherMounts::leave_out,
                      dev_t own_device = 0);

  /// From now on; before there are others who use this.
  void watch_directories(std::size_t descriptors,
                         const frame::Clock& clock = frame::system_clock());
  /// As WatchedDirectories::tidy(); false where no directories are watched.
  bool tidy() const;

  int descriptor() const { return directory_->get(); }

  /// Opens with O_CLOEXEC what is beneath the root; `flags` have O_PATH, or are those of a
  /// directory.
  frame::UniqueFd open(const SourcePath& path, int flags, OneLook* within = nullptr) const;
  /// Goes to where the rest of the path is short; all of a short one is left.
  NearPath approach(const SourcePath& path) const;

  // What others have done is known at each call, or at the first one `within` a look.

  /// lstat of whatever has the last name; nullopt when nothing is there.
  std::optional<struct stat> stat(const SourcePath& path, OneLook* within = nullptr) const;
  /// As SourceObject's.
  std::optional<struct stat> stat_anew(const SourcePath& path, OneLook* within = nullptr) const;
  /// True if it is known without asking the filesystem that a directory, which `object` is, has
  /// nothing of that name.
  bool is_known_absent(const SourcePath& directory, const Identity& object, const std::string& name,
                       OneLook* within = nullptr) const;
  std::string read_link(const SourcePath& path, OneLook* within = nullptr) const;
  SourceObject object(const SourcePath& path, OneLook* within = nullptr) const;
  /// Null when it is not there, or another object than the one that was meant.
  std::shared_ptr<const SourceObject> find(const SourcePath& path, OneLook* within = nullptr) const;
  /// Whatever has the last name; null when nothing is there. Where it is what this mount has `made`
  /// that need not be opened again.
  std::shared_ptr<const SourceObject> find_any(
      const SourcePath& path, OneLook* within = nullptr,
      const std::shared_ptr<const SourceObject>& made = nullptr) const;
  /// True if the last name leads to that object.
  bool leads_to(const SourcePath& path, const Identity& object, OneLook* within = nullptr) const;
  SourceDirectory directory(const SourcePath& path, OneLook* within = nullptr) const;
  /// A descriptor (O_PATH) of a directory, which others may have as well.
  frame::SharedFd enter(const SourcePath& directory, OneLook* within = nullptr) const;
  /// Throws unless it is there: ESTALE, which has the kernel look the path up again.
  void require(const SourcePath& directory, OneLook* within = nullptr) const;

  struct statvfs stat_filesystem() const;
  /// Makes all that was done in the filesystem of SOURCE durable.
  void sync_all() const;
  /// So many entries of a directory are about to be looked at, one by one.
  void expect_looks(const SourcePath& directory, std::size_t count) const;
  /// A name was taken away by this mount: what it led to is open only for who still has it.
  void let_go(const SourcePath& directory, const std::string& name) const;

  struct Entry {
    std::string name;
    unsigned char type;  ///< DT_*
    ino_t inode;
  };
  /// More entries of a directory take long, and much memory.
  static constexpr std::size_t kMany = 256;
  /// Entries of a directory without "." and "..".
  std::vector<Entry> list(const SourcePath& path) const;
  /// The same. Where there are more than kMany of them `if_many` is called before the others are
  /// read.
  std::optional<std::vector<Entry>> list(const SourcePath& path, const IfMany& if_many) const;

 private:
  /// The next ones set errno where they fail, with nullopt or -1.
  frame::SharedFd try_enter(SourcePath::Step& step, OneLook* within) const;
  std::optional<NearPath> try_approach(SourcePath::Step* above, const std::string& rest,
                                       OneLook* within) const;
  int try_open(SourcePath::Step* above, const std::string& rest, int flags, OneLook* within) const;

  int step_into(int directory, const std::string& name, int flags) const;
  int open_beneath(int directory, const std::string& path, int flags) const;
  bool is_meant(int fd, const std::optional<Identity>& meant) const;
  bool is_own_mount(int fd) const;
  bool has_there(const SourcePath& path, const Identity& object, OneLook* within) const;
  std::shared_ptr<const SourceObject> try_find(
      const SourcePath& path, const std::optional<Identity>& meant, OneLook* within,
      const std::shared_ptr<const SourceObject>& made = nullptr) const;
  std::shared_ptr<const SourceObject> found_or_throw(std::shared_ptr<const SourceObject> found,
                                                     const SourcePath& path) const;

  const frame::SharedFd directory_;
  const OtherMounts others_;
  const dev_t own_device_;     ///< 0: none
  const std::uint64_t mount_;  ///< which others are left out beside; 0: none
  std::unique_ptr<WatchedDirectories> watched_;
  Identity identity_;  ///< if directories are watched
};

}  // namespace bloscfs::fs
