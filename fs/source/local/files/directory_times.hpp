#pragma once
// Restores a directory's modification time after changes that no user made.

#include <functional>

#include <sys/stat.h>

#include "fs/source/local/files/source_object.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// Restores the directory's modification time when it is destroyed. The daemon creates and removes
/// files of its own there; users see no change of names, so the directory must look unchanged.
class DirectoryTimes {
 public:
  /// Called with the directory's change times (ctime) if they differ at the end. Nothing can set a
  /// ctime back.
  using OnChange = std::function<void(const timespec& before, const timespec& after)>;
  DirectoryTimes(Request& request, SourceObject directory, OnChange tell = {})
      : request_(request),
        directory_(std::move(directory)),
        on_change_(std::move(tell)),
        before_(directory_.stat()) {}
  ~DirectoryTimes();
  DirectoryTimes(const DirectoryTimes&) = delete;
  DirectoryTimes& operator=(const DirectoryTimes&) = delete;

 private:
  Request& request_;
  const SourceObject directory_;
  const OnChange on_change_;
  const struct stat before_;
};

}  // namespace bloscfs::fs
