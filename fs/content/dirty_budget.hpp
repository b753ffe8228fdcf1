#pragma once
// Bounds the bytes that all files of a mount hold uncommitted.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <system_error>
#include <thread>
#include <unordered_map>

#include <sys/types.h>

#include "frame/store/clock.hpp"
#include "fs/support/stats.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Of a file.
struct DirtyBytes {
  std::size_t waiting = 0;  ///< to be stored
  std::size_t in_work = 0;  ///< stored by a commit that has not ended: they wait again if it fails

  bool operator==(const DirtyBytes&) const = default;
};

/// A write puts its bytes into the file first, where a commit can store them, and is answered once
/// its user has room. While it waits it holds no thread and no bytes of its own, so that waiting
/// writers stop nobody, and all that counts as dirty can be stored. Each writer may therefore
/// exceed the limit by one request.
///
/// Where commits fail, what they had stored so far comes back: it counts as taken by a user whose
/// last commit has failed, so that each new try does not let in as much again.
///
/// Each user may have three times what is left of the limit, which is three quarters of it for one
/// user alone: a user whose files cannot be committed leaves room for others.
///
/// Thread-safe.
class DirtyBudget {
 public:
  /// `limit` in bytes. `press` asks for commits, without a lock held: from an eighth of the limit
  /// on for room that costs little, from half of it on (`all`) for commits of all dirty files.
  /// `stats` and `clock` outlive it.
  DirtyBudget(std::size_t limit, Stats& stats, std::function<void(bool all)> press,
              const frame::Clock& clock = frame::system_clock());
  /// release_all() was called if a request may wait.
  ~DirtyBudget();
  DirtyBudget(const DirtyBudget&) = delete;
  DirtyBudget& operator=(const DirtyBudget&) = delete;

  void set_limit(std::size_t limit) EXCLUDES(mutex_);

  /// To be called before bytes are written, without a lock held. If the user has no room, and the
  /// last commit of a file of the user's has failed, throws its error. Asks for another try first,
  /// for which one request at a time waits up to a second.
  void require_room(uid_t user) EXCLUDES(mutex_);

  struct Waiting {
    const void* name = nullptr;   ///< for leave()
    std::size_t written = 0;      ///< bytes: the writer may write as many again at once
    std::function<void()> reply;  ///< does not throw
  };
  /// To be called after bytes were written. True if the user has room: the write is to be answered
  /// at once. Asks for commits where there is little room.
  bool has_room(uid_t user) EXCLUDES(mutex_);
  /// Calls `waiting.reply` on another thread, once the user has room or a commit of the user's
  /// files has failed. Not called if `is_over()`, which is asked under the lock that leave() takes:
  /// returns false then.
  bool reply_later(uid_t user, Waiting waiting, const std::function<bool()>& is_over)
      EXCLUDES(mutex_);
  /// What waits under that name, and will not be called now.
  std::optional<Waiting> leave(const void* name) EXCLUDES(mutex_);
  /// Answers all that waits, and all that comes later at once.
  void release_all() EXCLUDES(mutex_);

  /// The dirty bytes of a file that counts to that user have changed.
  void change(uid_t user, const DirtyBytes& before, const DirtyBytes& after) EXCLUDES(mutex_);
  /// A commit that stored bytes of a user's file, or was to, has ended.
  void commit_ended(uid_t user, const std::error_code& error) EXCLUDES(mutex_);

 private:
  struct User {
    DirtyBytes dirty;
    std::error_code failure;  ///< of the last commit
    std::uint64_t ended = 0;  ///< commits
    std::deque<Waiting> waiting;
  };
  bool has_room(const User& user, std::size_t expected = 0) const REQUIRES(mutex_);
  std::error_code refusal(uid_t user) const REQUIRES(mutex_);
  void answer() EXCLUDES(mutex_);
  std::deque<Waiting> take_answerable() REQUIRES(mutex_);

  Stats& stats_;
  const std::function<void(bool all)> press_;
  const frame::Clock& clock_;
  Mutex mutex_;
  CondVar changed_;
  std::size_t limit_ GUARDED_BY(mutex_);
  std::size_t taken_ GUARDED_BY(mutex_) = 0;
  /// Users who have dirty bytes, or wait.
  std::unordered_map<uid_t, User> users_ GUARDED_BY(mutex_);
  bool is_trying_ GUARDED_BY(mutex_) = false;  ///< a request waits for the end of another try
  std::size_t waiting_ GUARDED_BY(mutex_) = 0;
  bool is_open_to_all_ GUARDED_BY(mutex_) = false;
  bool is_ending_ GUARDED_BY(mutex_) = false;
  std::thread answering_;  ///< begun by the first request that waits
};

/// The dirty bytes of one file, which count to one user at a time. Gives them back at its end. Not
/// thread-safe.
class DirtyAccount {
 public:
  explicit DirtyAccount(DirtyBudget& budget) : budget_(budget) {}
  ~DirtyAccount() { set({}); }
  DirtyAccount(const DirtyAccount&) = delete;
  DirtyAccount& operator=(const DirtyAccount&) = delete;

  uid_t user() const { return user_; }
  void set(const DirtyBytes& bytes) {
    budget_.change(user_, bytes_, bytes);
    bytes_ = bytes;
  }
  void give_to(uid_t user) {
    if (user == user_) return;
    const DirtyBytes bytes = bytes_;
    set({});
    user_ = user;
    set(bytes);
  }

 private:
  DirtyBudget& budget_;
  uid_t user_ = 0;
  DirtyBytes bytes_;
};

}  // namespace bloscfs::fs
