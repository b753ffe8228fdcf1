#pragma once
// A new file that has no node yet.

#include <exception>
#include <string>

#include <sys/stat.h>

#include "frame/store/temporary_name.hpp"
#include "fs/source/caller.hpp"
#include "fs/source/local/files/on_behalf.hpp"
#include "fs/source/local/files/source_directory.hpp"
#include "fs/source/local/files/source_path.hpp"

namespace bloscfs::fs {

/// Is removed again with this, unless it was kept.
class NewTemporary {
 public:
  /// Made as the caller, who outlives it, by a temporary's name. Throws std::system_error.
  NewTemporary(const SourceDirectory& directory, mode_t mode, const Caller& caller)
      : directory_(directory), caller_(caller), name_(frame::temporary_name()) {
    const OnBehalfOf behalf(&caller);
    stat_ = frame::status_of(directory.make_file(name_, mode).get());
  }
  ~NewTemporary() {
    if (is_kept_) return;
    try {
      const OnBehalfOf behalf(&caller_);
      directory_.remove_file(name_);
    } catch (const std::exception&) {
      // Nobody sees it, and a later mount removes what this one has left.
    }
  }
  NewTemporary(const NewTemporary&) = delete;
  NewTemporary& operator=(const NewTemporary&) = delete;

  /// True if it is there: neither has another directory taken that path, nor was it cleared away
  /// with what a removed directory has hidden in it.
  bool is_in(const SourceDirectory& directory) const {
    const auto there = directory.stat(name_);
    return there && identity_of(*there) == identity_of(stat_);
  }
  const std::string& name() const { return name_; }
  const struct stat& stat() const { return stat_; }
  /// Somebody knows of it now.
  void keep() { is_kept_ = true; }

 private:
  const SourceDirectory directory_;
  const Caller& caller_;
  const std::string name_;
  struct stat stat_ {};
  bool is_kept_ = false;
};

}  // namespace bloscfs::fs
