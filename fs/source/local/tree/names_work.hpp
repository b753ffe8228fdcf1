#pragma once
// One operation on names, which does without the lock on names whatever takes long. An operation
// that lacks such work returns a Need before it has changed anything. NamesWork::run() does the
// work, and calls the operation again. What the work has found is true of the state that it was
// found in, which the next call compares.
// Example: a rename finds that the bytes of its target were never read. The file is judged while
// others rename and look, and the rename is called again with the verdict at hand.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "fs/source/local/files/watched_directories.hpp"
#include "fs/source/local/tree/names_lock.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

struct JudgedEntry;
class ReadNames;

/// What an operation on names lacks.
struct [[nodiscard]] Need {
  std::function<void()> work = {};  ///< none: nothing is lacking
  /// The work takes the lock on names itself. So it is never done under it.
  bool takes_names = false;

  explicit operator bool() const { return work != nullptr; }
};

/// Thrown where a look, deep below the operation, finds that something must be read first. Only
/// NamesWork::run() catches it. No std::exception, for it is no failure.
struct ReadFirst {
  Need need;
};

/// For one thread. Outside of run() nothing is called again: what takes long is done under the lock
/// there. Not to be used any more once run() has thrown.
class NamesWork : public OneLook {
 public:
  explicit NamesWork(Request& request) : request_(request) {}

  Request& request() const { return request_; }

  /// Calls `operation`, which takes the lock by itself, until it lacks nothing. Returns what it
  /// returns, unless that is a Need. After 100 calls somebody seems to work against it: the last
  /// call does what it lacks under the lock, and so comes to an end. EBUSY where others undo
  /// again and again what takes the lock itself.
  template <typename Operation>
  auto run(const Operation& operation) {
    using Result = decltype(operation());
    if constexpr (std::is_same_v<Result, Need>) {
      call(operation);
    } else {
      std::optional<Result> result;
      call([&] {
        result.emplace(operation());
        return Need();
      });
      return *std::move(result);
    }
  }

  // For the operation, while it has the lock.

  /// The operation returns what this returns, or goes on where it is nothing: then the work has
  /// been done at once, since there is no further call.
  Need without_lock(std::function<void()> work);
  /// The same for work that each call asks for anew. It is done once for each `state`, a text, of
  /// what it is done to.
  Need once(const std::string& state, Need need);
  /// The same from deep in a look, by ReadFirst; once for each `state` where there is one.
  void read_first(std::function<void()> work, const std::string& state = {});
  /// Shares the lock no more while `work` is done. True if the operation may go on, since nobody
  /// has changed names meanwhile. False, and perhaps nothing was done, where it has to be called
  /// again, or cannot be.
  bool pause(const std::function<void()>& work) BLOSCFS_THREAD_ATTRIBUTE(no_thread_safety_analysis);

  /// Something is changed from now on, which another call would do twice.
  void begin_change();
  /// What was changed until now stands by itself, and another call goes on from there.
  void end_change() { is_changing_ = false; }

  /// What was judged for this operation, whether or not that is worth remembering.
  std::vector<std::shared_ptr<const JudgedEntry>> judged;
  /// What the operation needs until its end.
  std::vector<std::shared_ptr<void>> kept;

 private:
  friend class ReadNames;

  void call(const std::function<Need()>& operation);
  bool can_be_called_again() const { return further_calls_ > 0 && !is_changing_; }

  Request& request_;
  int further_calls_ = 0;
  bool is_changing_ = false;
  const ReadNames* share_ = nullptr;  ///< of the lock
  std::set<std::string> done_;
};

/// Shares the lock on names. Where it is a part of some work, that may pause.
class BLOSCFS_THREAD_ATTRIBUTE(scoped_lockable) ReadNames {
 public:
  explicit ReadNames(NamesLock& lock, NamesWork* work = nullptr)
      BLOSCFS_THREAD_ATTRIBUTE(acquire_shared_capability(lock));
  ~ReadNames() BLOSCFS_THREAD_ATTRIBUTE(release_capability());
  ReadNames(const ReadNames&) = delete;
  ReadNames& operator=(const ReadNames&) = delete;

 private:
  friend class NamesWork;

  NamesLock& lock_;
  NamesWork* const work_;
  mutable NamesLock::Clock::time_point since_;  ///< later, once the work has paused
};

}  // namespace bloscfs::fs
