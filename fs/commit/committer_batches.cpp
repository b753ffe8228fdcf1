// Files that are committed together, so that they share their flushes.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <iterator>
#include <new>
#include <optional>

#include "frame/store/lock_patience.hpp"
#include "fs/commit/committer.hpp"
#include "fs/commit/content_commit.hpp"

namespace bloscfs::fs {
namespace {

/// Files of a batch for each thread that helps with it, at least.
constexpr std::size_t kWorthHelper = 4;

/// Others run `work` as well, until it ends.
class Helpers {
 public:
  Helpers(WorkerPool& pool, std::size_t count, const std::function<void()>& work) {
    try {
      while (posted_ < count) {
        pool.post([this, &work] {
          work();
          const MutexLock lock(mutex_);
          ended_++;
          changed_.notify_all();
        });
        posted_++;
      }
    } catch (const std::bad_alloc&) {
      // Fewer will do.
    }
  }
  ~Helpers() {
    const MutexLock lock(mutex_);
    while (ended_ < posted_) changed_.wait(mutex_);
  }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

 private:
  std::size_t posted_ = 0;
  Mutex mutex_;
  CondVar changed_;
  std::size_t ended_ GUARDED_BY(mutex_) = 0;
};

/// From this many files on one flush of the whole filesystem costs less than one each.
constexpr std::size_t kSharedFlush = 4;

}  // namespace

std::error_code Committer::commit_batch(const Contents& contents, LongOnes long_ones) {
  Batch batch;
  batch.sets_aside = long_ones == LongOnes::set_aside;
  commit_together(batch, contents);
  for (const auto& content : batch.again) {
    const std::error_code error = commit_now(content, IfBeingWritten::fail);
    if (error && !batch.first_error) batch.first_error = error;
  }
  return batch.first_error;
}

void Committer::commit_together(Batch& batch, Contents contents) {
  // Locks of one kind are taken in one order, also by batches that follow each other.
  std::sort(contents.begin(), contents.end());
  const frame::LockPatience none(std::chrono::seconds(0));
  // From here on up to 256 contents are frozen at once. A second batch could hold a file that this
  // one wants, and want one that this one holds.
  const MutexLock batch_lock(batch_mutex_);
  for (const auto& content : contents) begin(batch, content);
  run(batch, &ContentCommit::write);
  flush(batch);
  run(batch, &ContentCommit::publish);
  flush(batch);
  run(batch, &ContentCommit::finish);
  for (auto& commit : batch.commits) {
    if (!commit) continue;
    const std::shared_ptr<Content> content = commit->content();
    const std::uint64_t epoch = commit->epoch();
    commit.reset();
    conclude(content, epoch, {}, batch);
  }
}

void Committer::begin(Batch& batch, const std::shared_ptr<Content>& content) {
  const std::uint64_t epoch = content->epoch();
  std::unique_ptr<ContentCommit> commit;
  try {
    commit = std::make_unique<ContentCommit>(content, CommitKind::grouped);
  } catch (const frame::LockedByOthers& error) {
    return set_back(batch, content, epoch, failure_of(*content, error));
  }
  if (!commit->empty()) {
    batch.commits.push_back(std::move(commit));
  } else {
    commit.reset();
    record_outcome(content, {});
  }
}

void Committer::run(Batch& batch, void (ContentCommit::*step)()) {
  auto& commits = batch.commits;
  std::vector<std::optional<CommitFailure>> failures(commits.size());
  std::atomic<std::size_t> next{0};
  const std::function<void()> run_some = [&] {
    const frame::LockPatience none(std::chrono::seconds(0));
    for (std::size_t i = next++; i < commits.size(); i = next++) try {
        if (commits[i]) ((*commits[i]).*step)();
      } catch (const std::exception& error) {
        failures[i] = failure_of(*commits[i]->content(), error);
      }
  };
  const std::size_t wanted = commits.size() / kWorthHelper;
  if (helpers_ && wanted > 0) {
    const Helpers helpers(*helpers_, std::min(wanted, helpers_->threads()), run_some);
    run_some();
  } else {
    run_some();
  }
  for (std::size_t i = 0; i < commits.size(); i++)
    if (failures[i]) give_up(batch, commits[i], *failures[i]);
}

void Committer::give_up(Batch& batch, std::unique_ptr<ContentCommit>& commit,
                        const CommitFailure& failure) {
  const std::shared_ptr<Content> content = commit->content();
  const std::uint64_t epoch = commit->epoch();
  commit.reset();
  set_back(batch, content, epoch, failure);
}

void Committer::set_back(Batch& batch, const std::shared_ptr<Content>& content, std::uint64_t epoch,
                         const CommitFailure& failure) {
  // A batch of the background sets a locked file back to its next try, one that somebody waits for
  // commits it alone behind the batch, with patience.
  const bool must_wait = failure.obstacle == Obstacle::locked && !batch.sets_aside;
  if (failure.obstacle == Obstacle::long_work && batch.sets_aside)
    set_aside(content);
  else if (must_wait || asks_again(failure))
    batch.again.push_back(content);
  else
    conclude(content, epoch, failure, batch);
}

/// A commit that has ended, well or not.
void Committer::conclude(const std::shared_ptr<Content>& content, std::uint64_t epoch,
                         CommitFailure failure, Batch& batch) {
  // A commit that went well is asked, too: another program may have replaced the file behind the
  // publish, and the content goes on from there before anybody reads.
  if (failure.obstacle != Obstacle::locked && follow(content, epoch, failure, IfBeingWritten::fail))
    return batch.again.push_back(content);
  note_failure(*content, failure);
  record_outcome(content, failure);
  if (!batch.first_error) batch.first_error = failure.code;
}

void Committer::flush(Batch& batch) {
  if (batch.commits.size() < kSharedFlush) return run(batch, &ContentCommit::flush);
  try {
    services_.sync_all();
    // Each transaction is told that what it has written is durable, and flushes nothing.
    run(batch, &ContentCommit::flushed);
  } catch (const std::exception& error) {
    for (auto& commit : batch.commits)
      // syncfs(2) does not say whose bytes failed: none of the batch counts as durable.
      if (commit) give_up(batch, commit, failure_of(error));
  }
}

std::error_code Committer::commit_in_batches(Contents contents, LongOnes long_ones) {
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

}  // namespace bloscfs::fs
