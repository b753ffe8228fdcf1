#include "fs/dirty_budget.hpp"

namespace bloscfs::fs {

void DirtyBudget::wait_for_room() {
  bool much = false;
  {
    const MutexLock lock(mutex_);
    if (taken_ < limit_ / 8) return;
    much = taken_ >= limit_ / 2;
  }
  press_(much);
  const MutexLock lock(mutex_);
  const std::uint64_t failures = failures_;
  while (taken_ >= limit_) {
    changed_.wait(mutex_);
    if (failures_ != failures) throw std::system_error(last_error_, "dirty data");
  }
}

void DirtyBudget::change(std::size_t before, std::size_t after) {
  const MutexLock lock(mutex_);
  taken_ += after - before;  // modulo 2^64, so that it may also shrink
  stats_.dirty_bytes = taken_;
  if (after < before) changed_.notify_all();
}

void DirtyBudget::commit_ended(const std::error_code& error) {
  const MutexLock lock(mutex_);
  if (error) {
    failures_++;
    last_error_ = error;
  }
  changed_.notify_all();
}

}  // namespace bloscfs::fs
