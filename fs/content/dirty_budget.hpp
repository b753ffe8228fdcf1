#pragma once
// Limits the uncommitted bytes of all files of a mount.

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

/// The dirty bytes of one file.
struct DirtyBytes {
  std::size_t waiting = 0;          ///< not yet stored
  std::size_t being_committed = 0;  ///< stored by a commit that has not ended; if it fails, they
                                    ///< count as `waiting` again

  bool operator==(const DirtyBytes&) const = default;
};

/// The limit for dirty bytes, shared by all users. A write first puts its bytes into the file,
/// where a commit can store them. The write is answered when its user has room. While it waits, it
/// holds no thread, and no bytes outside of the file. So waiting writers block nothing, and all
/// dirty bytes can be stored. Therefore each writer may exceed the limit by one request.
///
/// If a commit fails, the bytes that it had stored become dirty again. So while a user's last
/// commit has failed, bytes in work count as taken. Otherwise each retry would let the user write
/// as many bytes again.
///
/// Each user may have three times what is left of the limit. For a single user that is three
/// quarters of the limit. So a user whose files cannot be committed leaves room for others.
///
/// Thread-safe.
class DirtyBudget {
 public:
  /// `limit` is in bytes. `press` asks the committer to make room, and is called without a lock
  /// held. From an eighth of the limit on, press(false) asks to stage new files, which is cheap.
  /// From half of the limit on, press(true) asks for commits of all dirty files. `stats` and
  /// `clock` outlive the budget.
  DirtyBudget(std::size_t limit, Stats& stats, std::function<void(bool all)> press,
              const frame::Clock& clock = frame::system_clock());
  /// If a request may still wait, release_all() must have been called.
  ~DirtyBudget();
  DirtyBudget(const DirtyBudget&) = delete;
  DirtyBudget& operator=(const DirtyBudget&) = delete;

  void set_limit(std::size_t limit) EXCLUDES(mutex_);

  /// To be called before bytes are written, without a lock held. If the user has no room and the
  /// last commit of one of the user's files failed, throws the error of that commit. First asks for
  /// a retry of the commit; one request at a time waits up to a second for it.
  void require_room(uid_t user) EXCLUDES(mutex_);

  struct Waiting {
    const void* name = nullptr;   ///< identifies the write for leave()
    std::size_t written = 0;      ///< bytes; the writer may write this much again at once
    std::function<void()> reply;  ///< does not throw
  };
  /// To be called after bytes were written. True if the user has room, and the write is to be
  /// answered at once. Asks for commits if little room is left.
  bool has_room(uid_t user) EXCLUDES(mutex_);
  /// Calls `waiting.reply` on another thread, as soon as the user has room or a commit of the
  /// user's files has failed. If `is_over()` is true, keeps nothing and returns false. `is_over` is
  /// called under the lock that leave() takes, so that leave() finds a write that is interrupted
  /// later.
  bool reply_later(uid_t user, Waiting waiting, const std::function<bool()>& is_over)
      EXCLUDES(mutex_);
  /// Removes the waiting write with that name, and returns it. Its reply will not be called then.
  std::optional<Waiting> leave(const void* name) EXCLUDES(mutex_);
  /// Answers all waiting writes. Later writes are answered at once.
  void release_all() EXCLUDES(mutex_);

  /// Records that the dirty bytes of one of the user's files have changed.
  void change(uid_t user, const DirtyBytes& before, const DirtyBytes& after) EXCLUDES(mutex_);
  /// Records the end of a commit of one of the user's files, successful or not.
  void commit_ended(uid_t user, const std::error_code& error) EXCLUDES(mutex_);

 private:
  struct User {
    DirtyBytes dirty;
    std::error_code failure;  ///< of the last commit
    std::uint64_t ended = 0;  ///< number of commits that have ended
    std::deque<Waiting> waiting;
  };
  bool has_room(const User& user, std::size_t expected = 0) const REQUIRES(mutex_);
  std::error_code refusal(uid_t user) const REQUIRES(mutex_);
  void answer() EXCLUDES(mutex_);
  std::deque<Waiting> take_answerable() REQUIRES(mutex_);

  Stats& stats_;
  const std::function<void(bool all)> request_commits_;
  const frame::Clock& clock_;
  Mutex mutex_;
  CondVar changed_;
  std::size_t limit_ GUARDED_BY(mutex_);
  std::size_t taken_ GUARDED_BY(mutex_) = 0;
  /// Users who have dirty bytes or waiting writes.
  std::unordered_map<uid_t, User> users_ GUARDED_BY(mutex_);
  bool is_retry_pending_ GUARDED_BY(mutex_) = false;  ///< a request waits for a retry of a commit
  std::size_t waiting_ GUARDED_BY(mutex_) = 0;
  bool is_open_to_all_ GUARDED_BY(mutex_) = false;  ///< release_all() was called: no limit
  bool is_ending_ GUARDED_BY(mutex_) = false;
  std::thread answering_;  ///< started by the first write that waits
};

/// The dirty bytes of one file, which count to one user at a time. The destructor gives them back.
/// Not thread-safe.
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
