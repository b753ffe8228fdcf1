#pragma once
// A request takes a slot for long work. There are fewer slots than request threads, so a thread is
// always free for quick requests. Users share the slots fairly.
//
// The kernel holds locks while a request waits: on pages that are read, a file that is flushed or
// searched for holes, a directory that is read again. The file's owner may need these locks, but
// the daemon cannot see that. So each user has one queue for each owner of files, and the queues
// are served round robin. Before a request gets a slot, its user may get one slot for each other
// owner of files, and those for the user's earlier requests for files of the same owner.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>

#include <sys/types.h>

#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Thread-safe. No thread waits here. If no slot is free, the request is kept. The thread that next
/// gives back a slot goes on with a kept request. Kept requests are small, and the kernel limits
/// their number: one for each thread that waits for a file, and its `max_background`.
class RequestSlots {
 public:
  /// One user may have up to `max_per_user` slots, which is at least 1. One more slot is reserved
  /// for a user who has none.
  explicit RequestSlots(unsigned max_per_user) : most_(max_per_user + 1), free_(most_) {}

  /// The number of slots of all users together.
  unsigned most() const { return most_; }

  /// Takes a slot for the user; returns false if none is free for that user.
  bool take(uid_t user) EXCLUDES(mutex_);

  struct Waiting {
    const void* name = nullptr;  ///< identifies the request for leave()
    std::function<void()> work;  ///< does not throw
  };
  enum class Answer : std::uint8_t { taken, waits, is_over };
  /// Takes a slot like take(). If none is free, keeps `waiting` until one is, unless `is_over`
  /// returns true. `is_over` is called under the lock of leave(), so that leave() finds every
  /// request that is interrupted later. `owner` owns the file that the request is for.
  Answer take_or_wait(uid_t user, uid_t owner, Waiting& waiting,
                      const std::function<bool()>& is_over) EXCLUDES(mutex_);
  /// Removes the kept request with that name, and returns it. Its work will not be called then.
  std::optional<Waiting> leave(const void* name) EXCLUDES(mutex_);

  struct Taken {
    uid_t user;
    std::function<void()> work;
  };
  /// Gives back a slot of that user. If requests wait, returns one, which now has the slot; the
  /// caller goes on with it. Chooses the waiting user with the fewest slots; among several, the one
  /// whose last slot is oldest. Serves that user's queues round robin.
  std::optional<Taken> give_back(uid_t user) EXCLUDES(mutex_);

 private:
  struct User {
    unsigned slots = 0;
    std::uint64_t last_taken = 0;                  ///< sequence number of the user's last slot
    std::map<uid_t, std::deque<Waiting>> waiting;  ///< by owner; no queue is empty
    uid_t last_owner = 0;                          ///< owner whose queue was served last
  };
  static Waiting take_next(User& user);
  bool take_locked(User& user) REQUIRES(mutex_);
  bool may_take(const User& user) const REQUIRES(mutex_);
  void forget_idle(std::map<uid_t, User>::iterator user) REQUIRES(mutex_);

  const unsigned most_;
  Mutex mutex_{LockLevel::slots};
  unsigned free_ GUARDED_BY(mutex_);
  std::uint64_t taken_ GUARDED_BY(mutex_) = 0;
  /// Users who have a slot or wait. A user waits only while may_take() is false.
  std::map<uid_t, User> users_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fs
