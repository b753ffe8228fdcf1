#pragma once
// A request that takes long is served in a slot. There are fewer slots than threads that serve
// requests, so that there is always a thread for what is quick; and users have them by turns.
//
// The kernel holds locks while a request waits: the pages that are read, the file that is flushed
// or searched for holes, the directory that is read again. The owner of the file may need them, and
// nobody can see that. So one user's requests for different owners' files wait in different queues,
// which are served by turns as well: a request waits for one slot for each other owner whose files
// its user uses, and for the user's earlier requests for files of the same owner.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>

#include <sys/types.h>

#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Thread-safe. No thread waits here: a request that cannot have a slot at once is kept until
/// somebody gives one back, whose thread goes on with it. Those kept are small, and the kernel
/// bounds their number: one for each thread that waits for a file, and its `max_background`.
class RequestSlots {
 public:
  /// One user may have as many as `most_of_one`, at least 1; there is one more, for who has none.
  explicit RequestSlots(unsigned most_of_one) : most_(most_of_one + 1), free_(most_) {}

  /// Slots that all users have together.
  unsigned most() const { return most_; }

  /// Takes a slot if there is one for that user.
  bool take(uid_t user) EXCLUDES(mutex_);

  struct Waiting {
    const void* name = nullptr;  ///< for leave()
    std::function<void()> work;  ///< does not throw
  };
  enum class Answer : std::uint8_t { taken, waits, is_over };
  /// As take(). Where there is none `waiting` is kept, unless `is_over` says that it is not wanted
  /// any more: asked under the lock, so that leave() finds what is over later.
  /// `owner` is that of the file which the request is for.
  Answer take_or_wait(uid_t user, uid_t owner, Waiting& waiting,
                      const std::function<bool()>& is_over) EXCLUDES(mutex_);
  /// What was kept under that name, and will not be called now.
  std::optional<Waiting> leave(const void* name) EXCLUDES(mutex_);

  struct Taken {
    uid_t user;
    std::function<void()> work;
  };
  /// Gives back a slot of that user. The caller goes on with the request that has it now, if one
  /// waits: of the user who has the fewest, or of these who has waited longest; among the owners
  /// whose files that user waits for it is the next one's turn.
  std::optional<Taken> give_back(uid_t user) EXCLUDES(mutex_);

 private:
  struct User {
    unsigned slots = 0;
    std::uint64_t last_taken = 0;                  ///< number of the last one that was taken
    std::map<uid_t, std::deque<Waiting>> waiting;  ///< by owner; no queue is empty
    uid_t last_owner = 0;                          ///< for whose file the last one has waited
  };
  static Waiting take_next(User& user);
  bool take_locked(User& user) REQUIRES(mutex_);
  bool may_take(const User& user) const REQUIRES(mutex_);
  void forget_idle(std::map<uid_t, User>::iterator user) REQUIRES(mutex_);

  const unsigned most_;
  Mutex mutex_{LockLevel::slots};
  unsigned free_ GUARDED_BY(mutex_);
  std::uint64_t taken_ GUARDED_BY(mutex_) = 0;
  /// Users who have a slot, or wait. Nobody waits who could have one.
  std::map<uid_t, User> users_ GUARDED_BY(mutex_);
};

}  // namespace bloscfs::fs
