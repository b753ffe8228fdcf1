#pragma once
// What would take long under the lock on names is done without it: an operation that finds, before
// it has changed anything, that it needs such work stops, and begins anew when the work is done.
// A result of such work is true of the state that it was found in, which the next try compares.
// Example: a rename finds that its target was never read, throws LockBreak, the file is judged
// while others rename and look, and the rename begins anew with the verdict at hand.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fs/support/request.hpp"

namespace bloscfs::fs {

struct JudgedEntry;

/// Thrown under the lock; nothing but Attempts catches it.
struct LockBreak {
  std::function<void()> work;
};

/// What an operation has of the lock while it shares it (ReadNames).
class NamesShare {
 public:
  /// Gives the lock back while `work` is done. True if nobody had it alone meanwhile: what was seen
  /// under it holds.
  virtual bool pause(const std::function<void()>& work) = 0;

 protected:
  ~NamesShare() = default;
};

/// One operation of a thread, from its first try on.
class Attempts {
 public:
  /// Calls `operation`, which takes the lock by itself, until it needs no break any more. What
  /// others keep changing, or a change that has begun, ends the breaks: then work is done at once.
  template <typename Operation>
  static auto run(const Request& request, const Operation& operation) {
    Attempts attempts(request);
    for (;;) {
      try {
        return operation();
      } catch (const LockBreak& needed) {
        attempts.count_break();
        needed.work();
      }
    }
  }

  /// Does work, which needs no lock, in a break if there may be one.
  template <typename Work>
  static void without_lock(Work work) {
    if (current() != nullptr) throw LockBreak{std::move(work)};
    work();
  }

  /// The same for work that each try asks for anew. It is done once for each state, a text, of what
  /// it is done to, as that was before.
  template <typename Work>
  static void once_without_lock(const std::string& state, Work work) {
    Attempts* const attempts = current();
    if (attempts == nullptr) return work();
    if (attempts->done_.contains(state)) return;
    throw LockBreak{[attempts, state, work = std::move(work)] {
      work();
      attempts->done_.insert(state);
    }};
  }

  /// Null where nobody would begin anew.
  static Attempts* current();
  /// On whose account the thread's operation is.
  static std::optional<uid_t> user();
  /// This thread's operation is changing something now: it has made its Change.
  static void begin_change();
  /// What it has changed until now stands by itself, and another try goes on from there: there may
  /// be breaks again.
  static void end_change();

  /// Does work while names are not locked, and may go on if this operation shares them and nobody
  /// has changed any. False: it is to begin anew, and nothing is done unless it shares them.
  bool pause(const std::function<void()>& work) const;
  /// The share of the lock that the operation has; null when it is given back.
  static void note_share(NamesShare* share);

  /// What was judged for this operation, whether or not that is worth to be remembered.
  std::vector<std::shared_ptr<const JudgedEntry>>& judged() { return judged_; }

  Attempts(const Attempts&) = delete;
  Attempts& operator=(const Attempts&) = delete;

 private:
  explicit Attempts(const Request& request);
  ~Attempts();
  void count_break();

  Attempts* const outer_;
  const std::optional<uid_t> user_;
  int breaks_ = 0;
  bool may_break_ = true;
  NamesShare* share_ = nullptr;
  std::vector<std::shared_ptr<const JudgedEntry>> judged_;
  std::set<std::string> done_;
};

}  // namespace bloscfs::fs
