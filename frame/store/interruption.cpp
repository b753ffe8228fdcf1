#include "frame/store/interruption.hpp"

#include <utility>

namespace bloscfs::frame::inline store {

const Interruption*& Interruption::innermost() {
  thread_local const Interruption* innermost = nullptr;
  return innermost;
}

Interruption::Interruption(std::function<void()> check, std::function<void()> refuse)
    : check_(std::move(check)),
      refuse_(std::move(refuse)),
      outer_(std::exchange(innermost(), this)) {}

Interruption::~Interruption() { innermost() = outer_; }

void Interruption::check() {
  if (innermost() != nullptr) innermost()->check_();
}

void Interruption::before_wait() {
  if (innermost() != nullptr && innermost()->refuse_) innermost()->refuse_();
}

std::unique_lock<std::timed_mutex> Interruption::lock(std::timed_mutex& mutex) {
  std::unique_lock lock(mutex, std::try_to_lock);
  if (lock) return lock;
  const WaitMark mark(WaitReason::commit);
  while (!lock) {
    check();
    lock = std::unique_lock(mutex, kBetweenChecks);
  }
  return lock;
}

}  // namespace bloscfs::frame::inline store
