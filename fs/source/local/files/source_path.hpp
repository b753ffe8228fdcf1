#pragma once
// Paths below SOURCE that record the identities of the directories they pass through.

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <sys/stat.h>

#include "frame/store/byte_source.hpp"

namespace bloscfs::fs {

/// Device and inode of an object of SOURCE.
using Identity = frame::FileId;
Identity identity_of(const struct stat& st);

/// A path below SOURCE that can state which objects it passes through. Any program that may rename
/// in SOURCE can put another object under any name of the path between two looks. SourceRoot
/// therefore does not enter a directory, or open a last component, that is not the object meant.
///
/// Each directory is opened once, and all paths that were joined from the same SourcePath share it.
/// For one operation of one thread.
class SourcePath {
 public:
  /// SOURCE itself.
  SourcePath() = default;
  /// A path through any objects that have these names.
  SourcePath(std::string text) : text_(std::move(text)), relative_path_(text_) {}
  /// The same path, which must lead to the object `meant`.
  SourcePath(SourcePath path, const Identity& meant) : SourcePath(std::move(path)) {
    expected_identity_ = meant;
    entered_ = nullptr;
  }

  /// Relative to SOURCE; empty for SOURCE itself.
  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }

  /// Returns "a/b" for "a" and "b", and "b" for "" and "b".
  friend SourcePath join_path(const SourcePath& directory, const std::string& name);

 private:
  friend class SourceRoot;

  /// A directory that the path passes through. It is opened with O_PATH on first use.
  struct Step {
    std::string text;             ///< path, relative to SOURCE
    std::shared_ptr<Step> above;  ///< null: SOURCE
    std::string rest;             ///< path, relative to `above`
    std::optional<Identity> meant;
    frame::SharedFd fd;
  };
  const std::shared_ptr<Step>& as_step() const;

  std::string text_;
  std::shared_ptr<Step> above_;  ///< null: SOURCE
  std::string relative_path_;    ///< path, relative to `above_`
  std::optional<Identity> expected_identity_;
  mutable std::shared_ptr<Step> entered_;  ///< this path as a step of longer paths
};

/// Joins two paths as text.
std::string join_path(const std::string& directory, const std::string& name);

}  // namespace bloscfs::fs
