#include "fs/commit/committer.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "frame/store/throw_errno.hpp"
#include "frame/store/wait_context.hpp"
#include "fs/commit/commit_batch.hpp"
#include "fs/commit/content_commit.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::fs {
namespace {

/// A file that stays open is committed after this time at the latest.
constexpr std::chrono::seconds kLongestWaitOfOpen{30};
/// A file's due time is at most this long before the latest time for its commit. The commit begins
/// kGatherDelay after the due time, together with all files that are due by then.
constexpr std::chrono::seconds kAhead{1};
constexpr std::chrono::milliseconds kGatherDelay{500};
/// A commit that has failed is tried again after this time.
constexpr std::chrono::seconds kRetryDelay{4};
/// The delay before the commit of a locked file is retried: as long as the file has been locked so
/// far, within these bounds. Most locks are short, for example that of a thread that commits the
/// same file.
constexpr std::chrono::milliseconds kShortestLock = kGatherDelay;
constexpr std::chrono::seconds kLongestLock = kRetryDelay;
/// How many times one call retries a commit because another program changed the file.
constexpr int kMaxRetriesAfterChange = 10;

/// After a look at all files that found none to stage, the next look waits. The wait is this many
/// times as long as the look took, within these bounds.
constexpr int kRestPerLook = 100;
constexpr std::chrono::milliseconds kShortestRest{50}, kLongestRest{1000};
/// How long writers may wait while there is nothing to commit, until an assertion fails.
[[maybe_unused]] constexpr std::chrono::seconds kLongestIdle{5};
/// A staging step writes another index, which is only worth it from this many dirty bytes on.
constexpr std::size_t kWorthStaging = std::size_t{4} << 20;

/// Pauses between tries to commit a file that another program or thread has locked.
class LockWait {
 public:
  /// Returns false after the thread's lock timeout. Threads of this process are waited for without
  /// a limit.
  bool pause(Next reason) {
    if (reason != Next::wait_for_thread && frame::LockTimeout::is_over(end_)) return false;
    if (!mark_)
      mark_.emplace(reason == Next::wait_for_thread ? frame::WaitReason::commit
                                                    : frame::WaitReason::other_program);
    std::this_thread::sleep_for(pause_);
    pause_ = std::min(2 * pause_, kLongestPause);
    return true;
  }

 private:
  static constexpr std::chrono::milliseconds kLongestPause{50};

  const frame::Clock::TimePoint end_ = frame::LockTimeout::end_of(frame::kLockTimeout);
  std::chrono::milliseconds pause_{1};
  std::optional<frame::WaitMark> mark_;
};

}  // namespace

void Committer::start(Services services) {
  services_ = std::move(services);
  if (services_.threads > 1) helpers_.emplace(services_.threads - 1);
  thread_ = std::thread([this] { work(); });
  long_thread_ = std::thread([this] { commit_deferred(); });
}

void Committer::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  if (long_thread_.joinable()) long_thread_.join();
}

/// Files that are closed during this delay share one commit.
Committer::Duration Committer::delay_of_closed() const {
  const Duration longest = longest_wait_.load();
  return longest - std::min<Duration>(kAhead, longest / 4 * 3);
}

Committer::Duration Committer::delay_of_open() const {
  return std::max<Duration>(longest_wait_.load(), kLongestWaitOfOpen) - kAhead;
}

void Committer::note(const std::shared_ptr<Content>& content, std::shared_ptr<const void> owner) {
  const MutexLock lock(mutex_);
  const auto [entry, is_new] = dirty_.try_emplace(content.get());
  if (!is_new) return;
  entry->second = {content, std::move(owner), {}, {}, {}, {}, {}, false, {}};
  set_due(entry->second, clock_.now() + delay_of_open());
}

void Committer::set_due(Entry& entry, TimePoint due) {
  entry.due = due;
  // The thread for long commits has a deferred entry, and calls set_due() again after the commit.
  if (!entry.is_deferred) look_at(due + kGatherDelay);
}

void Committer::look_at(TimePoint time) {
  if (time >= next_look_) return;
  next_look_ = time;
  wake_.notify_all();
}

void Committer::queue(const std::shared_ptr<Content>& content, bool at_once,
                      FairShare::Part descriptors) {
  const MutexLock lock(mutex_);
  const auto entry = dirty_.find(content.get());
  if (entry == dirty_.end()) return;
  // A reader has fewer descriptors than a writer. They must not replace the writer's.
  if (descriptors.amount() >= entry->second.descriptors.amount())
    entry->second.descriptors = std::move(descriptors);
  const TimePoint now = clock_.now();
  set_due(entry->second,
          std::min(entry->second.due, now + (at_once ? Duration::zero() : delay_of_closed())));
  if (at_once && !entry->second.is_deferred) look_at(now);
}

bool Committer::make_due(uid_t user) {
  const MutexLock lock(mutex_);
  const auto now = clock_.now();
  bool is_waited_for = false;
  for (auto& [content, entry] : dirty_) {
    // Entries have descriptors only after queue(), which is called when a file was closed.
    if (!entry.descriptors || entry.descriptors.user() != user || entry.failure) continue;
    entry.due = std::min(entry.due, now);
    is_waited_for = true;
  }
  if (is_waited_for) look_at(now);
  return is_waited_for;
}

void Committer::press(bool all) {
  const MutexLock lock(mutex_);
  const Pressure wanted = all ? Pressure::all : Pressure::staging;
  // Each write may call this. Do not wake the thread again before it has looked.
  if (pressure_ >= wanted || (!all && clock_.now() < next_staging_)) return;
  pressure_ = wanted;
  wake_.notify_all();
}

void Committer::drop(const Content& content) {
  Entry dropped;  // destroyed after the lock is released
  const MutexLock lock(mutex_);
  const auto entry = dirty_.find(&content);
  if (entry == dirty_.end()) return;
  dropped = std::move(entry->second);
  dirty_.erase(entry);
}

Committer::Contents Committer::due_contents(Pressure pressure) {
  const MutexLock lock(mutex_);
  const auto now = clock_.now();
  next_look_ = TimePoint::max();
  Contents due;
  for (const auto& [content, entry] : dirty_) {
    if (entry.is_deferred) continue;
    next_look_ = std::min(next_look_, std::max(entry.due, now) + kGatherDelay);
    // Under pressure on all files, those that cannot be staged do not wait until they are due.
    if (entry.due <= now || (pressure == Pressure::all && !content->can_be_staged(0)))
      due.push_back(entry.content);
  }
  return due;
}

bool Committer::stage(std::size_t least_dirty) {
  const TimePoint begun = clock_.now();
  bool goes_on = false, staged_any = false;
  for (const auto& content : all_contents()) {
    if (!content->can_be_staged(least_dirty)) continue;
    staged_any = true;
    const Outcome outcome = stage(content);
    // A failed step counts as a failed commit. A successful one makes room for writers.
    if (outcome.error)
      record_outcome(content, outcome);
    else if (services_.ended)
      services_.ended(content->user(), {});
    goes_on |= !outcome.error && content->can_be_staged(kWorthStaging);
  }
  const MutexLock lock(mutex_);
  if (!staged_any) {
    const TimePoint now = clock_.now();
    next_staging_ =
        now + std::clamp<Duration>(kRestPerLook * (now - begun), kShortestRest, kLongestRest);
  }
  return goes_on;
}

Outcome Committer::stage(const std::shared_ptr<Content>& content) {
  const bool was_orphan = content->is_orphan();
  const std::uint64_t epoch = content->epoch();
  Outcome outcome = outcome_of([&] {
    ContentCommit commit(content, CommitKind::staged);
    return commit.begun() == Next::proceed ? commit.stage() : commit.begun();
  });
  if (!outcome.error) return outcome;
  // If the file was removed during the step, the error counts as none. A writer that still needs
  // memory asks again.
  if (content->is_orphan() != was_orphan) return {};
  // If the file was already removed before this step, it cannot be loaded again from SOURCE. Its
  // writers get the error.
  if (!was_orphan && follow(content, epoch, outcome, IfBeingWritten::fail)) return {};
  note_failure(*content, outcome);
  return outcome;
}

Committer::Contents Committer::all_contents() {
  const MutexLock lock(mutex_);
  Contents all;
  for (const auto& [content, entry] : dirty_) all.push_back(entry.content);
  return all;
}

void Committer::work() {
  const frame::LockTimeout none(std::chrono::seconds(0));
  while (true) {
    Pressure pressure = Pressure::none;
    {
      const MutexLock lock(mutex_);
      while (pressure_ == Pressure::none && !stopping_ && clock_.now() < next_look_) {
        if (next_look_ == TimePoint::max())
          wake_.wait(mutex_);
        else
          wake_.wait_until(mutex_, clock_, next_look_);
      }
      if (stopping_) return;
      pressure = std::exchange(pressure_, Pressure::none);
    }
    // Staging goes first. It makes room without a flush and without a name, so waiting writers need
    // not wait for the batches below.
    const bool can_go_on =
        pressure != Pressure::none && stage(pressure == Pressure::all ? 1 : kWorthStaging);
    if (can_go_on) press(false);
    const Contents due = due_contents(pressure);
    if (pressure == Pressure::all) require_storable_dirty_bytes(can_go_on || !due.empty());
    commit_in_batches(due, LongCommits::defer);
  }
}

/// Writers wait until dirty bytes are stored, so all dirty bytes must belong to a file that can be
/// stored. Otherwise the mount hangs; builds with assertions check this.
void Committer::require_storable_dirty_bytes([[maybe_unused]] bool found_work) {
#ifndef NDEBUG
  const auto now = clock_.now();
  const MutexLock lock(mutex_);
  if (found_work || !dirty_.empty() || stats_.dirty_bytes == 0) return idle_since_.reset();
  if (!idle_since_) idle_since_ = now;
  assert(now - *idle_since_ < kLongestIdle && "dirty bytes of no file that is to be committed");
#endif
}

void Committer::defer(const std::shared_ptr<Content>& content) {
  const MutexLock lock(mutex_);
  const auto entry = dirty_.find(content.get());
  // Enqueues each file at most once.
  if (entry == dirty_.end() || std::exchange(entry->second.is_deferred, true)) return;
  deferred_.push_back(content);
  wake_.notify_all();
}

void Committer::commit_deferred() {
  const frame::LockTimeout none(std::chrono::seconds(0));
  for (;;) {
    std::shared_ptr<Content> content;
    {
      const MutexLock lock(mutex_);
      while (deferred_.empty() && !stopping_) wake_.wait(mutex_);
      if (stopping_) return;
      content = std::move(deferred_.front());
      deferred_.pop_front();
    }
    commit_now(content, IfBeingWritten::fail);
    const MutexLock lock(mutex_);
    if (const auto entry = dirty_.find(content.get()); entry != dirty_.end()) {
      // If the entry is still there, something is uncommitted. work() looks for it again.
      entry->second.is_deferred = false;
      set_due(entry->second, entry->second.due);
    }
  }
}

void Committer::note_failure(Content& content, Outcome& outcome) {
  // A short lock of another program is no error. fsync and close report it only after kLockTimeout.
  if (outcome.is_locked() && is_locked_for_long(content)) outcome.next = Next::fail;
  if (outcome.next == Next::fail) content.remember_error(outcome.error);
}

bool Committer::is_locked_for_long(const Content& content) {
  const MutexLock lock(mutex_);
  const auto entry = dirty_.find(&content);
  if (entry == dirty_.end()) return false;
  std::optional<TimePoint>& since = entry->second.locked_since;
  // The time begins with the first failed try. record_outcome() ends it with the first outcome that
  // is not a lock.
  if (!since) since = clock_.now();
  return clock_.now() - *since >= frame::kLockTimeout;
}

Committer::TimePoint Committer::next_try(std::optional<TimePoint> locked_since) const {
  const auto now = clock_.now();
  if (!locked_since) return now + kRetryDelay;
  return now + std::clamp<Duration>(now - *locked_since, kShortestLock, kLongestLock);
}

void Committer::record_outcome(const std::shared_ptr<Content>& content, const Outcome& outcome) {
  const std::error_code error = outcome.error;
  // The commit of a locked file is retried soon. That is neither counted nor reported.
  const bool is_reported = !outcome.is_locked();
  if (is_reported) ++(error ? stats_.commit_failures : stats_.commits);
  // path() is called before mutex_ is locked, since it may wait for the tree's lock.
  const std::string path = error && is_reported ? content->path() : std::string();
  bool recovered = false;
  {
    Entry done;  // destroyed after the lock is released
    const MutexLock lock(mutex_);
    const auto entry = dirty_.find(content.get());
    const std::error_code last_logged = entry == dirty_.end() || !is_reported
                                            ? std::error_code()
                                            : std::exchange(entry->second.last_logged, error);
    // Logs each failure once, and not every 4 s while a disk is full. The message counts
    // against the number of messages that the file's owner may cause.
    if (error && is_reported && last_logged != error)
      log::error(content->user(), fmt::format("{}: cannot commit: {}; trying again every {} s",
                                              path.empty() ? "a removed file" : path, outcome.text,
                                              kRetryDelay.count()));
    recovered = last_logged && !error && is_reported;
    if (entry != dirty_.end()) {
      entry->second.failure = error;
      entry->second.damage = outcome.is_damage ? outcome.text : std::string();
      if (is_reported) entry->second.locked_since.reset();
      if (error)
        set_due(entry->second, next_try(entry->second.locked_since));
      else if (!content->needs_commit() && !content->can_be_staged(1)) {
        done = std::move(entry->second);
        dirty_.erase(entry);
      } else if (content->has_writers()) {
        set_due(entry->second, clock_.now() + delay_of_open());
      } else {
        // The file was written or renamed after the freeze, and no writer has it open. No close
        // will queue it again.
        set_due(entry->second, clock_.now());
      }
    }
  }
  // A removed file has no path. Another line says where its contents are kept.
  if (const std::string name = recovered ? content->path() : ""; !name.empty())
    log::info(content->user(), name + ": committed after earlier failures");
  // A file that can only be staged was not committed, so no room was made.
  if (is_reported && services_.ended && (error || !content->can_be_staged(1)))
    services_.ended(content->user(), error);
}

bool Committer::follow(const std::shared_ptr<Content>& content, std::uint64_t epoch,
                       Outcome& outcome, IfBeingWritten unfinished) {
  try {
    switch (services_.follow(content, unfinished)) {
      case FollowResult::yes:
        return true;
      case FollowResult::being_written:
        outcome = {Next::wait_for_writer, frame::errno_code(ESTALE),
                   content->path() + ": being written"};
        break;
      case FollowResult::no:
        // Another thread may have made the content go on first, which begins a new epoch. Then this
        // commit was based on a state that is gone, and may be retried.
        if (content->epoch() != epoch) return true;
        break;
    }
  } catch (const std::exception& error) {
    outcome = failure_of(error);
  }
  // The file was removed in the meantime, so the failed commit loses nothing.
  if (outcome.error && content->is_orphan()) outcome = {Next::removed};
  return false;
}

void Committer::commit(const Contents& contents) {
  const std::error_code error = contents.size() == 1
                                    ? commit_now(contents.front(), IfBeingWritten::wait)
                                    : commit_in_batches(contents, LongCommits::wait);
  if (error) throw std::system_error(error, "commit");
}

std::error_code Committer::commit_now(const std::shared_ptr<Content>& content,
                                      IfBeingWritten unfinished) {
  LockWait wait;
  int followed = 0;
  for (;;) {
    const std::uint64_t epoch = content->epoch();
    Outcome outcome = commit_alone(content);
    switch (outcome.next) {
      case Next::nothing:
        return {};
      case Next::retry:
      case Next::retry_alone:
        continue;
      case Next::wait_for_thread:
      case Next::wait_for_lock:
        if (wait.pause(outcome.next)) continue;
        break;
      case Next::proceed:  // durable, but another program may have replaced the file since
      case Next::fail:
        if (followed++ < kMaxRetriesAfterChange && follow(content, epoch, outcome, unfinished))
          continue;
        break;
      case Next::removed:
      case Next::wait_for_writer:
        break;
    }
    // A caller that waits gets the error at once. In the background, the next fsync or close gets
    // it.
    if (unfinished == IfBeingWritten::fail) note_failure(*content, outcome);
    record_outcome(content, outcome);
    return outcome.error;
  }
}

Outcome Committer::commit_alone(const std::shared_ptr<Content>& content) {
  // LockWait waits for other programs' locks, while this thread holds no lock.
  const frame::LockTimeout none(std::chrono::seconds(0));
  return outcome_of(*content, [&] {
    ContentCommit commit(content, CommitKind::alone);
    // Checked after the freeze: another thread's commit may have stored everything.
    Next next = commit.begun();
    if (next == Next::proceed) next = commit.write();
    if (next == Next::proceed) services_.check_written(*content);
    if (next == Next::proceed) next = commit.flush();
    if (next == Next::proceed) next = commit.publish();
    if (next == Next::proceed) next = commit.flush();
    if (next == Next::proceed) next = commit.finish();
    return next;
  });
}

// --- files that are committed together, so that they share their flushes

std::error_code Committer::commit_batch(const Contents& contents, LongCommits long_ones) {
  Contents again;
  std::error_code first_error;
  {
    const frame::LockTimeout none(std::chrono::seconds(0));
    const MutexLock batch_lock(batch_mutex_);
    const BatchServices services{services_.sync_all, services_.check_written,
                                 helpers_ ? &*helpers_ : nullptr, services_.worth_thread};
    for (BatchedCommit& commit : commit_together(contents, services)) {
      if (must_retry(commit, long_ones))
        again.push_back(commit.content);
      else if (!first_error)
        first_error = commit.outcome.error;
    }
  }
  // After the batch has released its locks, these files are committed one by one.
  for (const auto& content : again) {
    const std::error_code error = commit_now(content, IfBeingWritten::fail);
    if (error && !first_error) first_error = error;
  }
  return first_error;
}

bool Committer::must_retry(BatchedCommit& ended, LongCommits long_ones) {
  auto& [content, epoch, outcome, commit] = ended;
  commit.reset();
  switch (outcome.next) {
    case Next::retry:
      return true;
    case Next::retry_alone:
      if (long_ones == LongCommits::wait) return true;
      defer(content);
      return false;
    case Next::proceed:  // durable, but another program may have replaced the file
    case Next::fail:
      if (follow(content, epoch, outcome, IfBeingWritten::fail)) return true;
      break;
    case Next::nothing:
    case Next::removed:
    case Next::wait_for_thread:
    case Next::wait_for_lock:
    case Next::wait_for_writer:
      break;
  }
  // A background batch retries a locked file later. If a caller waits, the file is committed alone
  // after the batch, with the lock timeout.
  if (outcome.is_locked() && long_ones == LongCommits::wait) return true;
  note_failure(*content, outcome);
  record_outcome(content, outcome);
  return false;
}

std::error_code Committer::commit_in_batches(Contents contents, LongCommits long_ones) {
  std::error_code first_error;
  while (!contents.empty()) {
    const std::size_t count = std::min(services_.batch, contents.size());
    const auto first = contents.end() - static_cast<std::ptrdiff_t>(count);
    const Contents batch(std::make_move_iterator(first), std::make_move_iterator(contents.end()));
    contents.resize(contents.size() - count);
    const std::error_code error = commit_batch(batch, long_ones);
    if (error && !first_error) first_error = error;
  }
  return first_error;
}

// --- all dirty files

void Committer::commit_all() {
  const frame::LockTimeout for_all(frame::kLockTimeout);
  commit_in_batches(all_contents(), LongCommits::wait);
  // The second round commits the files that failed in their batch, and files to which the first
  // round gave attributes of other files. Without a shared flush, each file failed for itself: then
  // the files are tried again in parallel. One after the other, each would wait for a store that is
  // down.
  const bool shares_flush = static_cast<bool>(services_.sync_all);
  if (!shares_flush) commit_in_batches(all_contents(), LongCommits::wait);
  std::error_code first_error;
  for (const auto& [content, failure, reason] : uncommitted()) {
    // With ESTALE another program may still be writing the file.
    const bool was_tried_alone = !shares_flush && failure && failure != std::errc(ESTALE);
    const std::error_code error =
        was_tried_alone ? failure : commit_now(content, IfBeingWritten::wait);
    if (error && !first_error) first_error = error;
  }
  if (first_error) throw std::system_error(first_error, "commit");
}

std::vector<Committer::Uncommitted> Committer::uncommitted() {
  const MutexLock lock(mutex_);
  std::vector<Uncommitted> left;
  for (const auto& [content, entry] : dirty_)
    if (content->needs_commit())
      left.push_back({entry.content, entry.failure,
                      entry.damage.empty() ? entry.failure.message() : entry.damage});
  return left;
}

}  // namespace bloscfs::fs
