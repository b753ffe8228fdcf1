#pragma once
// A directory that a tree is written to: what is made stays below it, whatever names and symlinks
// there are.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "fs/source/local/files/source_directory.hpp"
#include "fs/source/local/files/source_root.hpp"
#include "fs/support/sync.hpp"
#include "tools/b2frame_commands.hpp"

namespace bloscfs::tools {

/// Thread-safe. Errors are std::system_error and std::runtime_error, without the path.
class TreeTarget {
 public:
  /// Makes the directory where there is none. Throws FileError; also where that is below `source`,
  /// or is mounted for writing.
  TreeTarget(const std::string& path, const std::string& source, const TreeOptions& options);

  /// As messages call what is there.
  std::string shown(const std::string& path) const { return path_ + "/" + path; }
  fs::SourceDirectory directory(const std::string& path) const;
  /// What is there; null for nothing.
  std::shared_ptr<const fs::SourceObject> find(const std::string& path) const;
  /// False where what is there, if anything, is to stay, or where nothing is written at all, which
  /// is told. Throws where it was changed after the run that made it: its size or its time is not
  /// what that run has noted.
  bool may_write(const std::string& path) const;
  /// Notes size and time of what was just made, in an extended attribute. Where the filesystem has
  /// none, it counts as changed from then on.
  void note_made(const std::string& path) const;
  /// Makes a directory, or takes the one that is there; finish() gives it mode and times.
  void make_directory(const std::string& path, const struct stat& st);
  /// Makes a symlink, or leaves the one that is there if it is the same; gives it its times.
  void make_symlink(const std::string& path, const std::string& text, const struct stat& st) const;
  /// To be called when all is in place. Makes it durable.
  void finish();

 private:
  struct MadeDirectory {
    std::string path;
    mode_t mode;
    timespec accessed, modified;
  };

  bool may_replace(const std::string& path, bool was_changed) const;

  std::string path_;
  const TreeOptions options_;
  std::optional<fs::SourceRoot> root_;  ///< none of a dry run before the first
  fs::Mutex mutex_{fs::LockLevel::request};
  std::vector<MadeDirectory> made_ GUARDED_BY(mutex_);
};

/// The directory and the last name of "a/b/c", and of "c".
struct SplitPath {
  std::string directory, name;
};
SplitPath split_path(const std::string& path);

/// True for a file that an earlier run has made of this one: as large, and of the same time.
bool is_done(const struct stat& made, std::int64_t made_size, const struct stat& source,
             std::int64_t size);

}  // namespace bloscfs::tools
