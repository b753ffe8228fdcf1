#pragma once
// Lists the files of a directory tree that may be frames.

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frame/container/snapshot.hpp"
#include "frame/pystore/python_store.hpp"
#include "fs/source/local/files/source_root.hpp"

namespace bloscfs::tools {

/// A regular file, or a directory that looks like a sparse frame.
struct TreeFile {
  std::string shown;                               ///< as on the command line: DIR/a/b
  std::string path;                                ///< below DIR
  std::shared_ptr<const fs::SourceObject> object;  ///< null: not a local file
  bool is_sparse = false;
  std::int64_t size = 0;       ///< bytes of all its files; 0: not known
  std::exception_ptr problem;  ///< error of the file, or of the directory of that name

  /// Returns the bytes of a local file; -1 for others.
  std::int64_t stored_size() const { return object ? object->stat().st_size : -1; }
};

/// Walks a directory depth first, in the order of names. Leaves out temporaries and lock files of
/// mounts, and files that vanish during the walk. Only one thread at a time may call next(). The
/// other functions are thread-safe.
class FileTree {
 public:
  virtual ~FileTree() = default;

  /// Returns nullopt after the last file.
  virtual std::optional<TreeFile> next() = 0;
  /// Returns the container in a file, or null if the file is not a container or has vanished.
  /// Throws Error and std::system_error.
  virtual std::shared_ptr<const frame::Snapshot> open(const TreeFile& file) const = 0;
  /// Returns the store in a file called *.b2z, or null if the file is not a store or has vanished.
  /// Throws Error and std::system_error.
  virtual std::unique_ptr<frame::PythonStore> open_zip_store(const TreeFile& file) const = 0;
  /// False if the file has lost its name, or a sparse frame its index.
  virtual bool still_exists(const TreeFile& file) const = 0;
};

/// Walks a local directory. Does not follow symlinks. Memory: the names in all directories on the
/// path to the current file.
class FrameTree final : public FileTree {
 public:
  /// `directory` may be a symlink. Throws std::system_error if it is no directory.
  explicit FrameTree(const std::string& directory);

  std::optional<TreeFile> next() override;
  std::shared_ptr<const frame::Snapshot> open(const TreeFile& file) const override;
  std::unique_ptr<frame::PythonStore> open_zip_store(const TreeFile& file) const override;
  bool still_exists(const TreeFile& file) const override;

 private:
  struct Level {
    fs::SourcePath path;
    std::string shown;
    std::vector<std::string> names;  ///< the next one last
  };

  std::optional<TreeFile> visit(const fs::SourcePath& path, std::string shown);
  void enter(const fs::SourcePath& path, const std::string& shown);
  std::int64_t sparse_size(const fs::SourcePath& path) const;

  fs::SourceRoot root_;
  std::vector<Level> levels_;
};

/// Throws Error(malformed) if the name of a file that holds no frame has the suffix of a frame: its
/// header was lost.
void require_no_frame_suffix(std::string_view name, std::int64_t size);

/// True for a directory that is not a sparse frame. False if there is no such directory.
bool is_tree(const std::string& path);

/// Returns the bytes of all files that FrameTree lists.
std::int64_t tree_size(const std::string& directory);

}  // namespace bloscfs::tools
