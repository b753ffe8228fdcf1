#pragma once
// A new file that has no node yet.

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <sys/stat.h>

#include "frame/store/temporary_name.hpp"
#include "fs/source/local/files/on_behalf.hpp"
#include "fs/source/local/files/source_directory.hpp"
#include "fs/source/local/files/source_path.hpp"
#include "fs/support/caller.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// A new file under a temporary's name. The destructor removes the file unless keep() was called.
class NewTemporary {
 public:
  /// Makes a file under a temporary's name. Throws std::system_error.
  NewTemporary(const Change& change, const SourceDirectory& directory, mode_t mode)
      : change_(change), directory_(directory), name_(frame::temporary_name()) {
    frame::UniqueFd fd = directory.make_file(change, name_, mode);
    stat_ = frame::status_of(fd.get());
    object_ = std::make_shared<const SourceObject>(std::move(fd), directory.path_of(name_),
                                                   identity_of(stat_));
  }
  ~NewTemporary() {
    if (is_kept_) return;
    try {
      directory_.remove_file(change_, name_);
    } catch (const std::exception&) {
      // The mount does not show the file, and a later mount removes it.
    }
  }
  NewTemporary(const NewTemporary&) = delete;
  NewTemporary& operator=(const NewTemporary&) = delete;

  /// True if the file is still in that directory. The directory may be another one that has taken
  /// the same path. Or the file was removed as a hidden entry when its directory was removed.
  bool is_in(const SourceDirectory& directory) const {
    const auto there = directory.stat(name_);
    return there && identity_of(*there) == identity_of(stat_);
  }
  const std::string& name() const { return name_; }
  const struct stat& stat() const { return stat_; }
  const std::shared_ptr<const SourceObject>& object() const { return object_; }
  /// To be called after a node stands for the file, which then must stay.
  void keep() { is_kept_ = true; }

 private:
  const Change change_;
  const SourceDirectory directory_;
  const std::string name_;
  struct stat stat_ {};
  std::shared_ptr<const SourceObject> object_;
  bool is_kept_ = false;
};

}  // namespace bloscfs::fs
