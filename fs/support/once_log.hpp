#pragma once
// Errors that are met again and again, and logged the first time.

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_set>

#include <sys/types.h>

#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Thread-safe. Remembers 10,000 messages, and then begins anew.
class OnceLog {
 public:
  /// `user` as log::error()'s.
  void error(std::optional<uid_t> user, const std::string& message) EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  std::unordered_set<std::size_t> logged_ GUARDED_BY(mutex_);  ///< hashes of messages
};

}  // namespace bloscfs::fs
