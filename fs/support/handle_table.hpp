#pragma once
// Open handles by number.

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Thread-safe. Never uses a number twice.
template <typename Handle>
class HandleTable {
 public:
  std::uint64_t add(std::shared_ptr<Handle> handle) {
    const MutexLock lock(mutex_);
    handles_.emplace(++last_, std::move(handle));
    return last_;
  }
  /// Returns null if the number is not in use.
  std::shared_ptr<Handle> find(std::uint64_t number) const {
    const MutexLock lock(mutex_);
    const auto found = handles_.find(number);
    return found == handles_.end() ? nullptr : found->second;
  }
  void remove(std::uint64_t number) {
    std::shared_ptr<Handle> removed;  // declared first: destroyed after the lock is released
    const MutexLock lock(mutex_);
    const auto found = handles_.find(number);
    if (found == handles_.end()) return;
    removed = std::move(found->second);
    handles_.erase(found);
  }
  void clear() {
    std::unordered_map<std::uint64_t, std::shared_ptr<Handle>> removed;  // destroyed after the lock
                                                                         // is released
    const MutexLock lock(mutex_);
    removed.swap(handles_);
  }
  std::size_t size() const {
    const MutexLock lock(mutex_);
    return handles_.size();
  }

 private:
  mutable Mutex mutex_;
  std::uint64_t last_ GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::uint64_t, std::shared_ptr<Handle>> handles_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fs
