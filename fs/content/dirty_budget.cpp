#include "fs/content/dirty_budget.hpp"

#include <chrono>
#include <optional>

#include "frame/store/wait_mark.hpp"

namespace bloscfs::fs {
namespace {

constexpr std::chrono::seconds kPatience{1};
/// A user may have this many times what is left. Of 64 MiB one alone may have 48, since 16 are left
/// then; of two who write as much each may have 27.
constexpr std::size_t kTimesOfRest = 3;

}  // namespace

bool DirtyBudget::has_room(const User& user) const {
  // One write may be larger than all that others have left.
  return user.taken == 0 || (taken_ < limit_ && user.taken / kTimesOfRest < limit_ - taken_);
}

void DirtyBudget::set_limit(std::size_t limit) {
  const MutexLock lock(mutex_);
  limit_ = limit;
  stats_.dirty_limit = limit;
  changed_.notify_all();
}

void DirtyBudget::wait_for_room(uid_t user) {
  std::optional<std::uint64_t> failures;
  std::uint64_t freed = 0;
  std::optional<frame::WaitMark> mark;
  for (;;) {
    bool much = false;
    {
      const MutexLock lock(mutex_);
      if (taken_ < limit_ / 8) return;
      much = taken_ >= limit_ / 2;
      // Failures count from the last time that anything of the user's was freed: what fails may be
      // one file's trouble alone, as long as others make room.
      const User& mine = users_[user];
      if (!failures || freed != mine.freed) failures = mine.failures;
      freed = mine.freed;
    }
    // Pressed in every round: what was to make room may have been removed in the midst of it.
    press_(much);
    const MutexLock lock(mutex_);
    if (has_room(users_[user])) return;
    if (!mark) mark.emplace(frame::WaitReason::room);
    changed_.wait_for(mutex_, kPatience);
    const User& mine = users_[user];
    if (mine.failures > *failures && mine.freed == freed)
      throw std::system_error(mine.last_error, "dirty data");
  }
}

void DirtyBudget::change(uid_t user, std::size_t before, std::size_t after) {
  if (before == after) return;
  const MutexLock lock(mutex_);
  taken_ += after - before;  // modulo 2^64, so that it may also shrink
  stats_.dirty_bytes = taken_;
  User& mine = users_[user];
  mine.taken += after - before;
  if (after > before) return;
  mine.freed++;
  // A writer who waits makes the entry anew at the next look.
  if (mine.taken == 0) users_.erase(user);
  changed_.notify_all();
}

void DirtyBudget::commit_ended(uid_t user, const std::error_code& error) {
  const MutexLock lock(mutex_);
  if (const auto known = users_.find(user); error && known != users_.end()) {
    known->second.failures++;
    known->second.last_error = error;
  }
  changed_.notify_all();
}

}  // namespace bloscfs::fs
