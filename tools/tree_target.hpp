#pragma once
// A directory into which a tree is written. Everything stays below it, whatever names and symlinks
// exist in it.

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

/// Thread-safe. Throws std::system_error and std::runtime_error. Their messages do not name the
/// path.
class TreeTarget {
 public:
  /// Creates the directory if it does not exist. Throws FileError, also if the directory is inside
  /// of `source`, or is mounted for writing.
  TreeTarget(const std::string& path, const std::string& source, const TreeOptions& options);

  /// Returns the path of an entry for messages.
  std::string shown(const std::string& path) const { return path_ + "/" + path; }
  fs::SourceDirectory directory(const std::string& path) const;
  /// Returns the object at `path`, or null.
  std::shared_ptr<const fs::SourceObject> find(const std::string& path) const;
  /// Returns true if the caller may write `path`. Returns false if an existing entry must stay
  /// (--update), or in a dry run, which prints the path. Without --force, throws if the
  /// entry was changed after the run that made it. Then its size or modification time differs from
  /// what note_made() stored.
  bool may_write(const std::string& path) const;
  /// Stores the size and time of a new output in an extended attribute. If the filesystem has no
  /// such attributes, the output counts as changed from then on.
  void note_made(const std::string& path) const;
  /// Creates a directory, or uses the existing one. finish() sets its mode and times.
  void make_directory(const std::string& path, const struct stat& st);
  /// Creates a symlink and sets its times. Keeps an existing symlink with the same target.
  void make_symlink(const std::string& path, const std::string& text, const struct stat& st) const;
  /// Must be called when everything is written. Makes the tree durable.
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
  std::optional<fs::SourceRoot> root_;  ///< nullopt in a dry run if the directory does not exist
  fs::Mutex mutex_{fs::LockLevel::request};
  std::vector<MadeDirectory> made_ GUARDED_BY(mutex_);
};

/// Splits "a/b/c" into the directory and the last name. "c" has an empty directory.
struct SplitPath {
  std::string directory, name;
};
SplitPath split_path(const std::string& path);

/// True if an earlier run made the file `made` from `source`: size and time are the same.
bool is_done(const struct stat& made, std::int64_t made_size, const struct stat& source,
             std::int64_t size);

}  // namespace bloscfs::tools
