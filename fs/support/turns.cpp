#include "fs/support/turns.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace bloscfs::fs {
namespace {

thread_local TurnAtNeed* current_need = nullptr;

}  // namespace

bool Turns::may_begin(const User& user) const {
  // The last free turn is for a user who has none. With four: A may have three, and B begins at
  // once; then neither may have another, and C waits for the first that ends.
  return free_ > 1 || (free_ == 1 && user.turns == 0);
}

bool Turns::begin_locked(User& user) {
  if (!may_begin(user)) return false;
  free_--;
  user.turns++;
  user.last_begun = ++begun_;
  return true;
}

void Turns::forget_idle(std::map<uid_t, User>::iterator user) {
  if (user->second.turns == 0 && user->second.waiting.empty()) users_.erase(user);
}

bool Turns::begin(uid_t user) {
  const MutexLock lock(mutex_);
  const auto found = users_.try_emplace(user).first;
  const bool has_begun = begin_locked(found->second);
  forget_idle(found);
  return has_begun;
}

Turns::Answer Turns::begin_or_wait(uid_t user, uid_t owner, Waiting& waiting,
                                   const std::function<bool()>& is_over) {
  const MutexLock lock(mutex_);
  // Asked under the lock: a request that is interrupted after this is found by leave(), one before
  // it here.
  if (is_over()) return Answer::is_over;
  const auto found = users_.try_emplace(user).first;
  if (begin_locked(found->second)) return Answer::has_begun;
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

std::optional<Turns::Waiting> Turns::leave(const void* name) {
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

Turns::Waiting Turns::take_next(User& user) {
  // Owners take their turns in a circle, so that each waits for one turn of every other at most.
  auto queue = user.waiting.upper_bound(user.last_owner);
  if (queue == user.waiting.end()) queue = user.waiting.begin();
  user.last_owner = queue->first;
  Waiting next = std::move(queue->second.front());
  queue->second.pop_front();
  if (queue->second.empty()) user.waiting.erase(queue);
  return next;
}

std::optional<Turns::Turn> Turns::end(uid_t user) {
  const MutexLock lock(mutex_);
  const auto ended = users_.find(user);
  ended->second.turns--;
  free_++;
  // The user with the fewest turns goes on: whoever has none is among these, so that afterwards
  // nobody waits who could begin.
  auto next = users_.end();
  const auto rank = [](const User& one) { return std::tuple(one.turns, one.last_begun); };
  for (auto one = users_.begin(); one != users_.end(); ++one) {
    if (one->second.waiting.empty() || !may_begin(one->second)) continue;
    if (next == users_.end() || rank(one->second) < rank(next->second)) next = one;
  }
  std::optional<Turn> turn;
  if (next != users_.end()) {
    begin_locked(next->second);
    turn.emplace(Turn{next->first, take_next(next->second).work});
  }
  forget_idle(ended);
  return turn;
}

TurnAtNeed::TurnAtNeed(Turns& turns, uid_t user) : turns_(turns), user_(user) {
  current_need = this;
}

TurnAtNeed::~TurnAtNeed() { current_need = nullptr; }

void TurnAtNeed::need_no_more() { current_need = nullptr; }

void TurnAtNeed::need() {
  if (current_need == nullptr || current_need->has_begun_) return;
  // Thrown where nothing was done yet: the request waits in a queue, and is served from its
  // beginning.
  if (!current_need->begin()) throw NoTurn();
}

bool TurnAtNeed::begin() {
  has_begun_ = turns_.begin(user_);
  return has_begun_;
}

}  // namespace bloscfs::fs
