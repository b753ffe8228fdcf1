#include "fs/commit/commit_batch.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <utility>

#include "frame/store/wait_context.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {
namespace {

/// From this many files on, one flush of the whole filesystem is cheaper than a flush per file.
constexpr std::size_t kSharedFlush = 4;

/// Runs `work` on up to `count` threads of the pool. The destructor waits for them.
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
      // The work is done with fewer helpers.
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

class Batch {
 public:
  explicit Batch(const BatchServices& services) : services_(services) {}

  void begin(const std::shared_ptr<Content>& content);
  using Step = std::function<Next(ContentCommit&)>;
  /// Runs a step of each commit. Commits of different files do not affect each other, so they run
  /// in parallel.
  void run(const Step& step);
  void flush();
  std::vector<BatchedCommit> take_all() { return std::move(commits_); }

 private:
  void drop_ended_commits();

  const BatchServices& services_;
  std::vector<BatchedCommit> commits_;
  std::size_t begun_ = 0;
};

void Batch::begin(const std::shared_ptr<Content>& content) {
  commits_.push_back({content, content->epoch(), {}, nullptr});
  BatchedCommit& one = commits_.back();
  one.outcome = outcome_of(*content, [&] {
    one.commit = std::make_unique<ContentCommit>(content, CommitKind::grouped);
    return one.commit->begun();
  });
  if (one.outcome.next != Next::proceed) return one.commit.reset();
  one.epoch = one.commit->epoch();
  begun_++;
}

void Batch::run(const Step& step) {
  // This thread and the helpers each take the next commit, until all are taken.
  std::atomic<std::size_t> next{0};
  const std::function<void()> run_some = [&] {
    const frame::LockTimeout none(std::chrono::seconds(0));
    for (std::size_t i = next++; i < commits_.size(); i = next++) {
      BatchedCommit& one = commits_[i];
      if (one.commit) one.outcome = outcome_of(*one.content, [&] { return step(*one.commit); });
    }
  };
  const std::size_t wanted = begun_ / services_.files_per_helper;
  if (services_.helpers != nullptr && wanted > 0) {
    const Helpers helpers(*services_.helpers, std::min(wanted, services_.helpers->threads()),
                          run_some);
    run_some();
  } else {
    run_some();
  }
  drop_ended_commits();
}

/// Destroys the commits that ended early at once, since they may hold room that other commits need.
/// Runs on the thread that began them, which holds their locks.
void Batch::drop_ended_commits() {
  for (BatchedCommit& one : commits_)
    if (one.outcome.next != Next::proceed) one.commit.reset();
}

void Batch::flush() {
  if (begun_ < kSharedFlush || !services_.sync_all) return run(&ContentCommit::flush);
  try {
    services_.sync_all();
  } catch (const std::exception& error) {
    // syncfs(2) does not tell which file's bytes failed, so no file of the batch counts as durable.
    for (BatchedCommit& one : commits_)
      if (one.commit) one.outcome = failure_of(error);
    return drop_ended_commits();
  }
  // Tells each transaction that its data is durable. Flushes nothing.
  run(&ContentCommit::flushed);
}

}  // namespace

std::vector<BatchedCommit> commit_together(std::vector<std::shared_ptr<Content>> contents,
                                           const BatchServices& services) {
  // All batches take the locks of contents in the order of their addresses.
  std::sort(contents.begin(), contents.end());
  // From here on, up to 256 contents are frozen at once. A second batch at the same time could hold
  // a file that this batch wants, and want one that this batch holds.
  Batch batch(services);
  for (const auto& content : contents) batch.begin(content);
  batch.run([&](ContentCommit& commit) {
    const Next next = commit.write();
    if (next == Next::proceed) services.check_written(*commit.content());
    return next;
  });
  batch.flush();
  batch.run(&ContentCommit::publish);
  batch.flush();
  batch.run(&ContentCommit::finish);
  return batch.take_all();
}

}  // namespace bloscfs::fs
