#pragma once
// Whether names of a directory have changed since a listing of it began, which keeps nobody from
// changing them.

#include <cstdint>
#include <map>

#include "fs/source/local/tree/node_table.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Thread-safe.
class ListedDirectories {
 public:
  /// While one lives, changes of that directory's names are counted.
  class Listing {
   public:
    Listing(ListedDirectories& all, NodeId directory) : all_(all), directory_(directory) {
      const MutexLock lock(all_.mutex_);
      all_.listed_[directory_].listings++;
    }
    ~Listing() {
      const MutexLock lock(all_.mutex_);
      if (--all_.listed_[directory_].listings == 0) all_.listed_.erase(directory_);
    }
    Listing(const Listing&) = delete;
    Listing& operator=(const Listing&) = delete;

    std::uint64_t changes() const {
      const MutexLock lock(all_.mutex_);
      return all_.listed_[directory_].changes;
    }

   private:
    ListedDirectories& all_;
    const NodeId directory_;
  };

  void note_change(NodeId directory) {
    const MutexLock lock(mutex_);
    if (const auto found = listed_.find(directory); found != listed_.end()) found->second.changes++;
  }

 private:
  struct Listed {
    int listings = 0;
    std::uint64_t changes = 0;
  };
  Mutex mutex_;
  std::map<NodeId, Listed> listed_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fs
