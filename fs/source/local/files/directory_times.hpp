#pragma once
// Keeps a directory's time of modification over changes that no user made.

#include <functional>

#include <sys/stat.h>

#include "fs/source/local/files/source_object.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// Gives the directory the time back that it had. The daemon's own files come and go while it
/// lives; names that users see must not change meanwhile.
class DirectoryTimes {
 public:
  /// Told of the times of change, which cannot be given back, where they differ at the end.
  using TellChange = std::function<void(const timespec& before, const timespec& after)>;
  DirectoryTimes(Request& request, SourceObject directory, TellChange tell = {})
      : request_(request),
        directory_(std::move(directory)),
        tell_(std::move(tell)),
        before_(directory_.stat()) {}
  ~DirectoryTimes();
  DirectoryTimes(const DirectoryTimes&) = delete;
  DirectoryTimes& operator=(const DirectoryTimes&) = delete;

 private:
  Request& request_;
  const SourceObject directory_;
  const TellChange tell_;
  const struct stat before_;
};

}  // namespace bloscfs::fs
