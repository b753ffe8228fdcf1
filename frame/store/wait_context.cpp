#include "frame/store/wait_context.hpp"

#include <cerrno>
#include <utility>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline store {
namespace {

constexpr int kThreadsWithLongTimeout = 2;
constexpr std::chrono::milliseconds kLongTimeout{10'000}, kShortTimeout{500};

/// Null: the system's clock.
std::atomic<const Clock*> set_clock{nullptr};
std::atomic<int> counted_threads{0};

}  // namespace

WaitContext& WaitContext::current() {
  thread_local WaitContext context;
  return context;
}

const Clock& wait_clock() {
  const Clock* const clock = set_clock;
  return clock == nullptr ? system_clock() : *clock;
}

WaitClock::WaitClock(const Clock& clock) { set_clock = &clock; }

WaitClock::~WaitClock() { set_clock = nullptr; }

const char* name_of(WaitReason reason) {
  switch (reason) {
    case WaitReason::nothing:
      break;
    case WaitReason::slot:
      return "slot";
    case WaitReason::network:
      return "network";
    case WaitReason::other_program:
      return "other_program";
    case WaitReason::commit:
      return "commit";
    case WaitReason::room:
      return "room";
    case WaitReason::memory:
      return "memory";
    case WaitReason::other_request:
      return "other_request";
    case WaitReason::disk:
      return "disk";
    case WaitReason::kernel:
      return "kernel";
  }
  return "";
}

void WaitState::begin(WaitReason what) {
  since = std::chrono::steady_clock::now().time_since_epoch().count();
  reason = what;
}

WaitMark::WaitMark(WaitReason reason) {
  WaitState* const state = WaitContext::current().state;
  if (state == nullptr) return;
  before_ = state->reason;
  before_since_ = state->since;
  state->begin(reason);
}

WaitMark::~WaitMark() {
  WaitState* const state = WaitContext::current().state;
  if (state == nullptr) return;
  state->reason = before_;
  state->since = before_since_;
}

Interruption::Interruption(std::function<void()> check, std::function<void()> refuse)
    : check_(std::move(check)),
      refuse_(std::move(refuse)),
      outer_(std::exchange(WaitContext::current().interruption, this)) {}

Interruption::~Interruption() { WaitContext::current().interruption = outer_; }

void Interruption::check() {
  if (const Interruption* const innermost = WaitContext::current().interruption)
    innermost->check_();
}

void Interruption::before_wait() {
  const Interruption* const innermost = WaitContext::current().interruption;
  if (innermost != nullptr && innermost->refuse_) innermost->refuse_();
}

std::unique_lock<std::timed_mutex> Interruption::lock(std::timed_mutex& mutex) {
  std::unique_lock lock(mutex, std::try_to_lock);
  if (lock) return lock;
  const WaitMark mark(WaitReason::commit);
  while (!lock) {
    check();
    lock = std::unique_lock(mutex, kCheckInterval);
  }
  return lock;
}

void Interruption::pause(Clock::Duration time) {
  const WaitMark mark(WaitReason::network);
  const Clock& clock = wait_clock();
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  for (const auto end = clock.now() + time; clock.now() < end;) {
    check();
    clock.wait_until(never, lock, std::min(end, clock.now() + kCheckInterval));
  }
}

BeforeLocks::BeforeLocks(std::function<void()> call)
    : call_(std::move(call)), outer_(std::exchange(WaitContext::current().before_locks, &call_)) {}

void BeforeLocks::call() {
  if (const auto* const before = WaitContext::current().before_locks) (*before)();
}

LockedByOthers::LockedByOthers(const char* what) : std::system_error(errno_code(ETIMEDOUT), what) {}

LockTimeout::LockTimeout(Clock::Duration most)
    : outer_(std::exchange(WaitContext::current().locks_until, end_of(most))) {}

LockTimeout::~LockTimeout() { WaitContext::current().locks_until = outer_; }

Clock::TimePoint LockTimeout::end_of(Clock::Duration most) {
  return std::min(WaitContext::current().locks_until, wait_clock().now() + most);
}

SharedLockTimeout::SharedLockTimeout()
    : timeout_(++counted_threads <= kThreadsWithLongTimeout ? kLongTimeout : kShortTimeout) {}

SharedLockTimeout::~SharedLockTimeout() { --counted_threads; }

}  // namespace bloscfs::frame::inline store
