#pragma once
// Access to what lies below SOURCE by relative paths that can neither leave it nor follow symlinks.

#include <optional>
#include <string>
#include <vector>

#include <dirent.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "fs/source_directory.hpp"
#include "fs/source_object.hpp"

namespace bloscfs::fs {

/// An object by a path that one system call takes, also with a suffix.
struct NearPath {
  frame::UniqueFd above;  ///< owns `directory` unless that is the root
  int directory = -1;
  std::string rest;  ///< from there
};

/// Paths are relative to the root, and of any length: those that are too long for one system call
/// are followed in steps, none of which leaves the root or follows a symlink, either; the empty
/// path is the root itself. Errors are std::system_error with the errno. Thread-safe.
class SourceRoot {
 public:
  /// `directory` is an open directory (O_PATH is enough).
  explicit SourceRoot(frame::UniqueFd directory) : directory_(std::move(directory)) {}

  int descriptor() const { return directory_.get(); }

  /// openat2 with O_CLOEXEC and O_NOFOLLOW, kept beneath the root.
  frame::UniqueFd open(const std::string& path, int flags) const;
  /// Goes to where the rest of the path is short; all of a short one is left.
  NearPath approach(const std::string& path) const;
  /// lstat; nullopt when nothing is there.
  std::optional<struct stat> stat(const std::string& path) const;
  std::string read_link(const std::string& path) const;
  struct statvfs stat_filesystem() const;
  /// Makes all that was done in the filesystem of SOURCE durable.
  void sync_all() const;
  SourceObject object(const std::string& path) const;
  SourceDirectory directory(const std::string& path) const;

  struct Entry {
    std::string name;
    unsigned char type;  ///< DT_*
    ino_t inode;
  };
  /// Entries of a directory without "." and "..".
  std::vector<Entry> list(const std::string& path) const;

 private:
  /// These set errno where they fail, with nullopt or -1.
  std::optional<NearPath> try_approach(const std::string& path) const;
  int try_open(const std::string& path, int flags) const;

  frame::UniqueFd directory_;
};

/// "a/b" from "a" and "b"; "b" from "" and "b".
std::string join_path(const std::string& directory, const std::string& name);

}  // namespace bloscfs::fs
