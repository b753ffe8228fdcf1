#include "fs/support/fair_share.hpp"

namespace bloscfs::fs {

FairShare::Part FairShare::take(uid_t user, std::size_t amount) {
  const MutexLock lock(mutex_);
  return take_locked(user, amount, false);
}

FairShare::Part FairShare::take_one(uid_t user, std::size_t amount) {
  const MutexLock lock(mutex_);
  return take_locked(user, amount, true);
}

FairShare::Part FairShare::take(uid_t user, std::size_t amount, std::chrono::milliseconds timeout,
                                const frame::Clock& clock) {
  const auto end = clock.now() + timeout;
  const MutexLock lock(mutex_);
  for (;;) {
    if (Part part = take_locked(user, amount, false)) return part;
    if (clock.now() >= end) return {};
    given_back_.wait_until(mutex_, clock, end);
  }
}

FairShare::Part FairShare::take_locked(uid_t user, std::size_t amount, bool first_is_free) {
  const auto known = by_user_.find(user);
  const std::size_t mine = known == by_user_.end() ? 0 : known->second;
  // With a limit of 100, A alone may have 50. B may then have 25 of the remaining 50, and C 12. If
  // A gives back everything, C may grow to 37.
  const std::size_t others = taken_ - mine;
  const std::size_t share = others < limit_ ? (limit_ - others) / 2 : 0;
  const bool fits = mine <= share && amount <= share - mine;
  if (!fits && !(first_is_free && mine == 0)) return {};
  if (amount > 0) by_user_[user] += amount;
  taken_ += amount;
  return {*this, user, amount};
}

bool FairShare::grow(uid_t user, std::size_t amount) {
  const MutexLock lock(mutex_);
  Part more = take_locked(user, amount, false);
  // The caller's part gives this amount back later, so `more` must not.
  return static_cast<bool>(std::exchange(more.share_, nullptr));
}

void FairShare::give_back(uid_t user, std::size_t amount) {
  if (amount == 0) return;
  const MutexLock lock(mutex_);
  taken_ -= amount;
  const auto known = by_user_.find(user);
  if ((known->second -= amount) == 0) by_user_.erase(known);
  given_back_.notify_all();
}

}  // namespace bloscfs::fs
