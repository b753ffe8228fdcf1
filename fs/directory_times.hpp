#pragma once
// Keeps a directory's time of modification over changes that no user made.

#include <sys/stat.h>

#include "fs/source_object.hpp"

namespace bloscfs::fs {

/// Gives the directory the time back that it had. The daemon's own files come and go while it
/// lives; names that users see must not change meanwhile.
class DirectoryTimes {
 public:
  explicit DirectoryTimes(SourceObject directory)
      : directory_(std::move(directory)), before_(directory_.stat()) {}
  ~DirectoryTimes();
  DirectoryTimes(const DirectoryTimes&) = delete;
  DirectoryTimes& operator=(const DirectoryTimes&) = delete;

 private:
  const SourceObject directory_;
  const struct stat before_;
};

}  // namespace bloscfs::fs
