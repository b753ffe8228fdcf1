#include "fs/support/once_log.hpp"

#include <functional>

#include "fs/support/log.hpp"

namespace bloscfs::fs {
namespace {

constexpr std::size_t kMaxLogged = 10'000;

}  // namespace

void OnceLog::error(std::optional<uid_t> user, const std::string& message) {
  {
    const MutexLock lock(mutex_);
    if (logged_.size() >= kMaxLogged) logged_.clear();
    if (!logged_.insert(std::hash<std::string>()(message)).second) return;
  }
  log::error(user, message);
}

}  // namespace bloscfs::fs
