#include "fs/dirty_budget.hpp"

#include <chrono>
#include <optional>

namespace bloscfs::fs {
namespace {

constexpr std::chrono::seconds kPatience{1};

}  // namespace

void DirtyBudget::wait_for_room() {
  std::optional<std::uint64_t> failures;
  std::uint64_t freed = 0;
  for (;;) {
    bool much = false;
    {
      const MutexLock lock(mutex_);
      if (taken_ < limit_ / 8) return;
      much = taken_ >= limit_ / 2;
      // What fails may be another file's trouble alone, as long as others make room.
      if (!failures || freed != freed_) failures = failures_;
      freed = freed_;
    }
    // Again after a while: what was to make room may have been removed in the midst of it.
    press_(much);
    const MutexLock lock(mutex_);
    if (taken_ < limit_) return;
    changed_.wait_for(mutex_, kPatience);
    if (failures_ != *failures && freed_ == freed)
      throw std::system_error(last_error_, "dirty data");
  }
}

void DirtyBudget::change(std::size_t before, std::size_t after) {
  const MutexLock lock(mutex_);
  taken_ += after - before;  // modulo 2^64, so that it may also shrink
  stats_.dirty_bytes = taken_;
  if (after >= before) return;
  freed_++;
  changed_.notify_all();
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
