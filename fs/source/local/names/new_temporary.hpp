#pragma once
// A new file that has no node yet.

#include <string>

#include <sys/stat.h>

#include "fs/source/caller.hpp"
#include "fs/source/local/files/source_directory.hpp"

namespace bloscfs::fs {

/// Is removed again with this, unless it was kept.
class NewTemporary {
 public:
  /// Made as the caller, who outlives it, by a temporary's name. Throws std::system_error.
  NewTemporary(const SourceDirectory& directory, mode_t mode, const Caller& caller);
  ~NewTemporary();
  NewTemporary(const NewTemporary&) = delete;
  NewTemporary& operator=(const NewTemporary&) = delete;

  /// True if it is there: neither has another directory taken that path, nor was it cleared away
  /// with what a removed directory has hidden in it.
  bool is_in(const SourceDirectory& directory) const;
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
