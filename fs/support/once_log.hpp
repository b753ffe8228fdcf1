#pragma once
// Logs an error that occurs again and again only once.

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_set>

#include <sys/types.h>

#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Thread-safe. Remembers 10,000 messages, then forgets them all.
class OnceLog {
 public:
  /// `user` has the same meaning as for log::error().
  void error(std::optional<uid_t> user, const std::string& message) EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  std::unordered_set<std::size_t> logged_ GUARDED_BY(mutex_);  ///< hashes of messages
};

}  // namespace bloscfs::fs
