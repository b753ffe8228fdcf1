#include "fs/content/dirty_budget.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace bloscfs::fs {
namespace {

/// While writes wait, the budget asks for commits again at this interval. The file whose commit was
/// to make room may have been removed.
constexpr std::chrono::seconds kPressInterval{1};
/// How long a request waits for a retry of a failed commit.
constexpr std::chrono::seconds kLongestTry{1};
/// A writer that was answered and has more to write does so within this time.
constexpr std::chrono::milliseconds kNextWriteDelay{20};
/// A user may have this many times the part of the limit that all users leave. With a limit of 64
/// MiB, one user alone may have 48, since 16 are left. Two users who write equally much may have 27
/// each.
constexpr std::size_t kTimesOfRest = 3;

constexpr const char* kNoRoom =
    "cannot write: dirty_limit is reached and commits fail (see \"cannot commit\" in the log)";

}  // namespace

DirtyBudget::DirtyBudget(std::size_t limit, Stats& stats, std::function<void(bool all)> press,
                         const frame::Clock& clock)
    : stats_(stats), request_commits_(std::move(press)), clock_(clock), limit_(limit) {
  stats_.dirty_limit = limit;
}

DirtyBudget::~DirtyBudget() {
  {
    const MutexLock lock(mutex_);
    is_ending_ = true;
    changed_.notify_all();
  }
  if (answering_.joinable()) answering_.join();
}

/// `expected`: bytes that the user will write in addition to the present ones.
bool DirtyBudget::has_room(const User& user, std::size_t expected) const {
  const std::size_t more = expected + (user.failure ? user.dirty.being_committed : 0);
  const std::size_t taken = taken_ + more, of_user = user.dirty.waiting + more;
  // A user who has nothing yet has room for any write, even for one that is larger than all that
  // other users leave.
  return is_open_to_all_ || of_user == 0 ||
         (taken < limit_ && of_user / kTimesOfRest < limit_ - taken);
}

void DirtyBudget::set_limit(std::size_t limit) {
  const MutexLock lock(mutex_);
  limit_ = limit;
  stats_.dirty_limit = limit;
  changed_.notify_all();
}

/// Returns the error to throw; none if the user may write.
std::error_code DirtyBudget::refusal(uid_t user) const {
  const auto known = users_.find(user);
  return known == users_.end() || has_room(known->second) ? std::error_code()
                                                          : known->second.failure;
}

void DirtyBudget::require_room(uid_t user) {
  std::uint64_t ended = 0;
  {
    const MutexLock lock(mutex_);
    const std::error_code failure = refusal(user);
    if (!failure) return;
    // One request at a time waits for a retry; the others get the error at once.
    if (std::exchange(is_retry_pending_, true)) throw std::system_error(failure, kNoRoom);
    ended = users_.at(user).ended;
  }
  request_commits_(true);
  const MutexLock lock(mutex_);
  const auto is_tried = [&]() REQUIRES(mutex_) {
    return !refusal(user) || users_.at(user).ended != ended;
  };
  const auto end = clock_.now() + kLongestTry;
  while (!is_tried() && clock_.now() < end) changed_.wait_until(mutex_, clock_, end);
  is_retry_pending_ = false;
  if (const std::error_code failure = refusal(user)) throw std::system_error(failure, kNoRoom);
}

bool DirtyBudget::has_room(uid_t user) {
  bool has_room = true, much = false;
  {
    const MutexLock lock(mutex_);
    if (taken_ < limit_ / 8) return true;
    much = taken_ >= limit_ / 2;
    if (const auto known = users_.find(user); known != users_.end())
      has_room = this->has_room(known->second);
  }
  request_commits_(much);
  return has_room;
}

bool DirtyBudget::reply_later(uid_t user, Waiting waiting, const std::function<bool()>& is_over) {
  const MutexLock lock(mutex_);
  if (is_over()) return false;
  if (!answering_.joinable()) answering_ = std::thread([this] { answer(); });
  users_[user].waiting.push_back(std::move(waiting));
  waiting_++;
  changed_.notify_all();
  return true;
}

std::optional<DirtyBudget::Waiting> DirtyBudget::leave(const void* name) {
  const MutexLock lock(mutex_);
  for (auto& [id, user] : users_) {
    const auto found = std::find_if(user.waiting.begin(), user.waiting.end(),
                                    [name](const Waiting& one) { return one.name == name; });
    if (found == user.waiting.end()) continue;
    std::optional<Waiting> left(std::move(*found));
    user.waiting.erase(found);
    waiting_--;
    changed_.notify_all();
    return left;
  }
  return std::nullopt;
}

void DirtyBudget::release_all() {
  const MutexLock lock(mutex_);
  is_open_to_all_ = true;
  changed_.notify_all();
  while (waiting_ > 0) changed_.wait(mutex_);
}

/// Removes and returns the waiting writes that can be answered now. Each user's writes are answered
/// in their order, and only as many as have room if each writer then writes as much again. If the
/// user's last commit has failed, all of them are answered; require_room() then refuses new writes.
std::deque<DirtyBudget::Waiting> DirtyBudget::take_answerable() {
  std::deque<Waiting> answerable;
  for (auto user = users_.begin(); user != users_.end();) {
    auto& waiting = user->second.waiting;
    std::size_t expected = 0;
    while (!waiting.empty() && (user->second.failure || has_room(user->second, expected))) {
      expected += waiting.front().written;
      answerable.push_back(std::move(waiting.front()));
      waiting.pop_front();
    }
    user = waiting.empty() && user->second.dirty == DirtyBytes{} ? users_.erase(user)
                                                                 : std::next(user);
  }
  return answerable;
}

/// The loop of the thread that answers waiting writes.
void DirtyBudget::answer() {
  for (;;) {
    std::deque<Waiting> answerable;
    bool keeps_waiting = false;
    {
      const MutexLock lock(mutex_);
      answerable = take_answerable();
      keeps_waiting = waiting_ > answerable.size();
      if (answerable.empty()) {
        if (is_ending_) return;
        if (keeps_waiting)
          changed_.wait_until(mutex_, clock_, clock_.now() + kPressInterval);
        else
          changed_.wait(mutex_);
      }
    }
    for (const Waiting& one : answerable) one.reply();
    if (keeps_waiting) request_commits_(true);
    if (answerable.empty()) continue;
    const MutexLock lock(mutex_);
    waiting_ -= answerable.size();
    changed_.notify_all();
    // The remaining writes wait until the answered writers have had time to send their next write.
    if (keeps_waiting) changed_.wait_until(mutex_, clock_, clock_.now() + kNextWriteDelay);
  }
}

void DirtyBudget::change(uid_t user, const DirtyBytes& before, const DirtyBytes& after) {
  if (before == after) return;
  const MutexLock lock(mutex_);
  User& mine = users_[user];
  // Unsigned arithmetic modulo 2^64, so the amounts may also shrink.
  taken_ += after.waiting - before.waiting;
  mine.dirty.waiting += after.waiting - before.waiting;
  mine.dirty.being_committed += after.being_committed - before.being_committed;
  stats_.dirty_bytes = taken_;
  if (mine.dirty == DirtyBytes{} && mine.waiting.empty()) users_.erase(user);
  if (after.waiting < before.waiting) changed_.notify_all();
}

void DirtyBudget::commit_ended(uid_t user, const std::error_code& error) {
  const MutexLock lock(mutex_);
  if (const auto known = users_.find(user); known != users_.end()) {
    known->second.failure = error;
    known->second.ended++;
  }
  changed_.notify_all();
}

}  // namespace bloscfs::fs
