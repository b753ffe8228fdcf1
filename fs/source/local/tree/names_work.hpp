#pragma once
// One operation on names, which does all long work without the lock on names. If the operation
// finds that long work must be done first, it returns a Need before it has changed anything.
// NamesWork::run() then does the work and calls the operation again. The results hold for the state
// that the work has seen; the next call compares that state.
// Example: a rename finds that its target was never judged. The target is judged while other
// threads rename and look. Then the rename is called again with the verdict at hand.

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

/// Long work that must be done before an operation on names can go on.
struct [[nodiscard]] Need {
  std::function<void()> work = {};  ///< empty: no work is needed
  /// The work takes the lock on names itself, so it must not be done under the lock.
  bool takes_names = false;

  explicit operator bool() const { return work != nullptr; }
};

/// Thrown if a look, deep inside the operation, finds that a file must be read first. Only
/// NamesWork::run() catches it. It is no std::exception, since it is no failure.
struct ReadFirst {
  Need need;
};

/// Runs one operation on names, for one thread. Outside of run() the operation cannot be called
/// again, so its long work is done under the lock. Must not be used after run() has thrown.
class NamesWork : public OneLook {
 public:
  explicit NamesWork(Request& request) : request_(request) {}

  Request& request() const { return request_; }

  /// Calls `operation`, which takes the lock on names itself, until it needs no more work. Returns
  /// its result, unless that is a Need. After 100 calls other programs seem to work against the
  /// operation: from then on its long work is done under the lock, so that it ends. Throws EBUSY if
  /// others keep undoing work that takes the lock itself.
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

  // The next functions are for the operation, while it has the lock.

  /// The operation must return the Need that this returns. If the Need is empty, the operation goes
  /// on: `work` has been done at once, under the lock, since no further call is possible.
  Need without_lock(std::function<void()> work);
  /// Like without_lock(), for work that each call would ask for again. It is done once for each
  /// `state`, a text that identifies what the work is done to. A Need with `takes_names` is never
  /// done at once.
  Need once(const std::string& state, Need need);
  /// Like without_lock(), or like once() if there is a `state`, but throws the Need as ReadFirst.
  void read_first(std::function<void()> work, const std::string& state = {});
  /// Releases the shared lock while `work` runs. True if no names have changed during the work, so
  /// that the operation may go on. False if names have changed, so that the operation must be
  /// called again. Also false, without running `work`, if the lock is not shared or no further call
  /// is possible.
  bool pause(const std::function<void()>& work) BLOSCFS_THREAD_ATTRIBUTE(no_thread_safety_analysis);

  /// The operation changes something from now on, so it must not be called again.
  void begin_change();
  /// The changes until now are complete. The operation may be called again, and then goes on after
  /// them.
  void end_change() { is_changing_ = false; }

  /// Verdicts of this operation, including those that are not worth remembering.
  std::vector<std::shared_ptr<const JudgedEntry>> judged;
  /// Objects that the operation needs until its end.
  std::vector<std::shared_ptr<void>> kept;

 private:
  friend class ReadNames;

  void call(const std::function<Need()>& operation);
  bool can_be_called_again() const { return further_calls_ > 0 && !is_changing_; }

  Request& request_;
  int further_calls_ = 0;
  bool is_changing_ = false;
  const ReadNames* share_ = nullptr;  ///< the operation's share of the lock, if any
  std::set<std::string> done_;        ///< each `state` of once() whose work has been done
};

/// Shares the lock on names while it lives. Only NamesWork::pause() of its `work` releases the lock
/// for a while.
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
  /// Since when the lock is shared; pause() sets it again.
  mutable NamesLock::Clock::time_point since_;
};

}  // namespace bloscfs::fs
