#pragma once
// Files of a directory tree, one after the other, that may be frames.

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

/// A regular file, or a directory that has what a sparse frame has.
struct TreeFile {
  std::string shown;                               ///< as the command line names it: DIR/a/b
  std::string path;                                ///< below DIR
  std::shared_ptr<const fs::SourceObject> object;  ///< null: not a local one
  bool is_sparse = false;
  std::int64_t size =
      0;  ///< bytes of the file, of a sparse frame those of all its files; 0: not told
  std::exception_ptr problem;  ///< why what is below a directory, or this, cannot be looked at
};

/// Goes through a directory depth first, in the order of names; temporaries and lock files of
/// mounts are left out. What vanishes meanwhile is passed over. next(): one thread at a time; the
/// others: any number.
class FileTree {
 public:
  virtual ~FileTree() = default;

  /// nullopt behind the last one.
  virtual std::optional<TreeFile> next() = 0;
  /// The container in a file; null where its bytes announce none, or it has vanished. Throws Error
  /// and std::system_error.
  virtual std::shared_ptr<const frame::Snapshot> open(const TreeFile& file) const = 0;
  /// The store in a file called *.b2z; null where it is none, or has vanished. Errors: the same.
  virtual std::unique_ptr<frame::PythonStore> open_zip_store(const TreeFile& file) const = 0;
  /// False once the file has lost its name, or a sparse frame its index.
  virtual bool is_there(const TreeFile& file) const = 0;
};

/// A local directory. Symlinks are not followed. Memory: the names of the directories that lead to
/// the present file.
class FrameTree final : public FileTree {
 public:
  /// Throws std::system_error where `directory`, which may be a symlink, is none.
  explicit FrameTree(const std::string& directory);

  std::optional<TreeFile> next() override;
  std::shared_ptr<const frame::Snapshot> open(const TreeFile& file) const override;
  std::unique_ptr<frame::PythonStore> open_zip_store(const TreeFile& file) const override;
  bool is_there(const TreeFile& file) const override;

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

/// For a file that holds no frame. Throws Error(malformed) if its name has the suffix of one: the
/// frame's header was lost.
void require_no_frame_suffix(std::string_view name);

/// True for a directory that is to be gone through; false for what may be a frame itself, and for
/// what is not there.
bool is_tree(const std::string& path);

/// Bytes of all files that FrameTree gives.
std::int64_t tree_size(const std::string& directory);

}  // namespace bloscfs::tools
