#include "fs/support/request_slots.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace bloscfs::fs {

bool RequestSlots::may_take(const User& user) const {
  // The last free slot is for a user who has none. Example with four slots: A may have three, and B
  // gets one at once. Then neither may have another, and C waits for the first slot that is given
  // back.
  return free_ > 1 || (free_ == 1 && user.slots == 0);
}

bool RequestSlots::take_locked(User& user) {
  if (!may_take(user)) return false;
  free_--;
  user.slots++;
  user.last_taken = ++taken_;
  return true;
}

void RequestSlots::forget_idle(std::map<uid_t, User>::iterator user) {
  if (user->second.slots == 0 && user->second.waiting.empty()) users_.erase(user);
}

bool RequestSlots::take(uid_t user) {
  const MutexLock lock(mutex_);
  const auto found = users_.try_emplace(user).first;
  const bool is_taken = take_locked(found->second);
  forget_idle(found);
  return is_taken;
}

RequestSlots::Answer RequestSlots::take_or_wait(uid_t user, uid_t owner, Waiting& waiting,
                                                const std::function<bool()>& is_over) {
  const MutexLock lock(mutex_);
  // Called under the lock: a request that was interrupted before ends here. A request that is
  // interrupted later waits by then, so leave() finds it.
  if (is_over()) return Answer::is_over;
  const auto found = users_.try_emplace(user).first;
  if (take_locked(found->second)) return Answer::taken;
  auto& queues = found->second.waiting;
  try {
    queues[owner].push_back(std::move(waiting));
  } catch (...) {
    if (const auto queue = queues.find(owner); queue != queues.end() && queue->second.empty())
      queues.erase(queue);
    forget_idle(found);
    throw;
  }
  return Answer::waits;
}

std::optional<RequestSlots::Waiting> RequestSlots::leave(const void* name) {
  const MutexLock lock(mutex_);
  for (auto user = users_.begin(); user != users_.end(); ++user)
    for (auto queue = user->second.waiting.begin(); queue != user->second.waiting.end(); ++queue) {
      auto& waiting = queue->second;
      const auto found = std::find_if(waiting.begin(), waiting.end(),
                                      [name](const Waiting& one) { return one.name == name; });
      if (found == waiting.end()) continue;
      std::optional<Waiting> left(std::move(*found));
      waiting.erase(found);
      if (waiting.empty()) user->second.waiting.erase(queue);
      forget_idle(user);
      return left;
    }
  return std::nullopt;
}

RequestSlots::Waiting RequestSlots::take_next(User& user) {
  // Round robin: between two slots for files of one owner, each other owner gets at most one.
  auto queue = user.waiting.upper_bound(user.last_owner);
  if (queue == user.waiting.end()) queue = user.waiting.begin();
  user.last_owner = queue->first;
  Waiting next = std::move(queue->second.front());
  queue->second.pop_front();
  if (queue->second.empty()) user.waiting.erase(queue);
  return next;
}

std::optional<RequestSlots::Taken> RequestSlots::give_back(uid_t user) {
  const MutexLock lock(mutex_);
  const auto ended = users_.find(user);
  ended->second.slots--;
  free_++;
  // A user without slots has the fewest, and comes first. So after this call, no user without slots
  // waits while a slot is free.
  auto next = users_.end();
  const auto rank = [](const User& one) { return std::tuple(one.slots, one.last_taken); };
  for (auto one = users_.begin(); one != users_.end(); ++one) {
    if (one->second.waiting.empty() || !may_take(one->second)) continue;
    if (next == users_.end() || rank(one->second) < rank(next->second)) next = one;
  }
  std::optional<Taken> taken;
  if (next != users_.end()) {
    take_locked(next->second);
    taken.emplace(Taken{next->first, take_next(next->second).work});
  }
  forget_idle(ended);
  return taken;
}

}  // namespace bloscfs::fs
