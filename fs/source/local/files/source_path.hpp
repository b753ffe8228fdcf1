#pragma once
// Paths below SOURCE that know which directories they go through.

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <sys/stat.h>

#include "frame/store/byte_source.hpp"

namespace bloscfs::fs {

/// Which object of SOURCE something is.
using Identity = frame::FileId;
Identity identity_of(const struct stat& st);

/// Whoever may rename in SOURCE can put another object under any name of the path between two looks
/// at it. So a path is of objects: a directory that is not the one that was meant is not entered,
/// and what has the last name is not opened if another object was meant. Each directory is opened
/// once, and serves all paths that were joined from the same one; for one operation, of one thread.
class SourcePath {
 public:
  /// SOURCE itself.
  SourcePath() = default;
  /// A path through whatever objects have these names.
  SourcePath(std::string text) : text_(std::move(text)), rest_(text_) {}
  /// A path that leads to that object, or to nothing.
  SourcePath(SourcePath path, const Identity& meant) : SourcePath(std::move(path)) {
    meant_ = meant;
    entered_ = nullptr;
  }

  /// Relative to SOURCE; empty for that itself.
  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }

  /// "a/b" from "a" and "b"; "b" from "" and "b".
  friend SourcePath join_path(const SourcePath& directory, const std::string& name);

 private:
  friend class SourceRoot;

  /// A directory on the way, opened with O_PATH when it is first gone through.
  struct Step {
    std::string text;             ///< as SourcePath's
    std::shared_ptr<Step> above;  ///< null: SOURCE
    std::string rest;             ///< from there
    std::optional<Identity> meant;
    frame::SharedFd fd;
  };
  const std::shared_ptr<Step>& as_step() const;

  std::string text_;
  std::shared_ptr<Step> above_;  ///< null: SOURCE
  std::string rest_;             ///< from there
  std::optional<Identity> meant_;
  mutable std::shared_ptr<Step> entered_;  ///< this one as a step of others
};

/// Joins texts alone.
std::string join_path(const std::string& directory, const std::string& name);

}  // namespace bloscfs::fs
