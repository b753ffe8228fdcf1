#pragma once
// Users take turns at what takes long. A request's thread serves it only in a turn, and there are
// fewer turns than such threads: so there is always one for what is quick.
//
// The kernel holds locks while a request waits: the pages that are read, the file that is flushed
// or searched for holes, the directory that is read again. Who owns the file may need them, and
// nobody can see that. So one user's requests for different owners' files wait in different queues,
// which take turns as well: what waits for a turn of its user waits for one turn for each other
// owner whose files that user uses, and for the user's requests for files of the same owner.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>

#include <sys/types.h>

#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Thread-safe. No thread waits here: what cannot have a turn at once is kept until somebody else's
/// ends, whose thread goes on with it. Those kept are small, and the kernel bounds their number:
/// one for each thread that waits for a file, and its `max_background`.
class Turns {
 public:
  /// One user may have as many as `most_of_one`, at least 1; there is one more, for who has none.
  explicit Turns(unsigned most_of_one) : most_(most_of_one + 1), free_(most_) {}

  /// Turns that all users have together.
  unsigned most() const { return most_; }

  /// Begins a turn if there is one for that user.
  bool begin(uid_t user) EXCLUDES(mutex_);

  struct Waiting {
    const void* name = nullptr;  ///< for leave()
    std::function<void()> work;  ///< does not throw
  };
  enum class Answer : std::uint8_t { has_begun, waits, is_over };
  /// The same; without one `waiting` is kept, unless it is not wanted any more. Asked under the
  /// lock, so that leave() finds what is over later.
  /// `owner` is that of the file which the request is for.
  Answer begin_or_wait(uid_t user, uid_t owner, Waiting& waiting,
                       const std::function<bool()>& is_over) EXCLUDES(mutex_);
  /// What was kept under that name, and will not be called now.
  std::optional<Waiting> leave(const void* name) EXCLUDES(mutex_);

  struct Turn {
    uid_t user;
    std::function<void()> work;
  };
  /// Ends a turn of that user. The caller goes on with the next one, which has begun, if somebody
  /// waits: with that of the user who has the fewest, or of these who has waited longest. Of the
  /// owners whose files that user waits for it is the next one's turn.
  std::optional<Turn> end(uid_t user) EXCLUDES(mutex_);

 private:
  struct User {
    unsigned turns = 0;
    std::uint64_t last_begun = 0;                  ///< number of the last turn
    std::map<uid_t, std::deque<Waiting>> waiting;  ///< by owner; no queue is empty
    uid_t last_owner = 0;                          ///< for whose file the last one has waited
  };
  static Waiting take_next(User& user);
  bool begin_locked(User& user) REQUIRES(mutex_);
  bool may_begin(const User& user) const REQUIRES(mutex_);
  void forget_idle(std::map<uid_t, User>::iterator user) REQUIRES(mutex_);

  const unsigned most_;
  Mutex mutex_;
  unsigned free_ GUARDED_BY(mutex_);
  std::uint64_t begun_ GUARDED_BY(mutex_) = 0;
  /// Users who have a turn, or wait. Nobody waits who could begin.
  std::map<uid_t, User> users_ GUARDED_BY(mutex_);
};

/// Thrown through a request for which no turn is to be had. No std::exception, for it is no
/// failure: nothing was done, and the request is served later.
struct NoTurn {};

/// While one lives, its thread serves a request that has no turn yet. One at a time in a thread.
class TurnAtNeed {
 public:
  TurnAtNeed(Turns& turns, uid_t user);
  virtual ~TurnAtNeed();
  TurnAtNeed(const TurnAtNeed&) = delete;
  TurnAtNeed& operator=(const TurnAtNeed&) = delete;

  bool has_begun() const { return has_begun_; }

  /// To be called before whatever may take long, or waits for what others do. Begins the turn of
  /// the thread's request, if that has none yet; throws NoTurn.
  static void need();
  /// The rest of the thread's request changes something, and goes on without a turn.
  static void need_no_more();

 protected:
  /// Begins the turn. False if there is none to be had.
  virtual bool begin();

 private:
  Turns& turns_;
  const uid_t user_;
  bool has_begun_ = false;
};

}  // namespace bloscfs::fs
