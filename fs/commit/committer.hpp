#pragma once
// Decides when changed files are committed: soon after they are closed, when a caller asks for it,
// and when too many bytes are dirty.

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <vector>

#include "frame/store/clock.hpp"
#include "fs/commit/commit_outcome.hpp"
#include "fs/content/content.hpp"
#include "fs/support/fair_share.hpp"
#include "fs/support/sync.hpp"
#include "fs/support/worker_pool.hpp"

namespace bloscfs::fs {

struct BatchedCommit;

/// Thread-safe. A failure of one file does not affect other files. The background threads do not
/// wait for locks of other programs; they retry a locked file within seconds. Only a caller that
/// asks for a commit waits.
class Committer {
 public:
  /// `stats` and `clock` outlive the committer.
  explicit Committer(Stats& stats, const frame::Clock& clock = frame::system_clock())
      : stats_(stats), clock_(clock) {}
  /// Does not commit dirty files; see commit_all().
  ~Committer() { stop(); }
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  struct Services {
    /// Called with the outcome of each commit, and the user to whom the file's dirty bytes count.
    std::function<void(uid_t user, const std::error_code&)> ended;
    /// Makes the whole filesystem of SOURCE durable, if that is cheaper than a flush per file.
    /// Empty if it is never cheaper.
    std::function<void()> sync_all;
    /// Called when a commit has failed or ended. Makes the content go on from the file's present
    /// state if another program has changed the file, and returns whether it did. A commit is never
    /// retried on a state that is gone.
    std::function<FollowResult(const std::shared_ptr<Content>&, IfBeingWritten)> follow =
        [](const auto&, IfBeingWritten) { return FollowResult::no; };
    /// The largest number of files that are committed together.
    std::size_t batch = 256;
    /// The number of threads that commit a batch, and the least number of files for each thread but
    /// the first.
    std::size_t threads = 1, worth_thread = 4;
    /// Called after a commit has written, and before it publishes. Throws if the written state must
    /// not be published.
    std::function<void(const Content&)> check_written = [](const Content&) {};
  };
  /// Starts the threads that commit in the background.
  void start(Services services);
  void stop();

  /// True if each file is committed when it is closed. False if it is committed within seconds,
  /// together with other files.
  bool commits_at_close() const { return commits_at_close_; }
  void set_commits_at_close(bool at_close) { commits_at_close_ = at_close; }
  /// Sets the longest time that a closed file waits for its commit; at least one second.
  void set_longest_wait(std::chrono::seconds wait) { longest_wait_ = wait; }

  /// To be called after each change of a content. Keeps `owner` alive until nothing is uncommitted.
  /// A file that stays open is committed half a minute after its first change.
  void note(const std::shared_ptr<Content>& content, std::shared_ptr<const void> owner);
  /// To be called after a file was closed. It is committed within a few seconds, or `at_once`.
  /// `descriptors` are file descriptors that count to the user who closed it. They are given back
  /// when nothing is uncommitted.
  void queue(const std::shared_ptr<Content>& content, bool at_once,
             FairShare::Part descriptors = {});
  /// Makes all files that the user has closed due for their commit, except files whose last commit
  /// failed. Returns false if there is no such file.
  bool make_due(uid_t user) EXCLUDES(mutex_);
  /// Makes room in memory as soon as possible. Stages new files that are being written and, if
  /// `all`, commits everything else. Writes may call this each time: after a look at all files that
  /// found none to stage, the next look waits a while.
  void press(bool all);
  /// Forgets a content that is not needed any more.
  void drop(const Content& content);

  using Contents = std::vector<std::shared_ptr<Content>>;

  /// Commits the contents now. Throws the error of a failed commit; the failed contents stay dirty.
  void commit(const Contents& contents);
  /// Commits everything that is dirty. Tries all files, then throws the first error that a retry
  /// did not solve.
  void commit_all();
  struct Uncommitted {
    std::shared_ptr<Content> content;
    std::error_code failure;
    std::string reason;  ///< text of `failure` for the user
  };
  /// Returns the contents that are still dirty, with the error of the last commit.
  std::vector<Uncommitted> uncommitted() EXCLUDES(mutex_);

 private:
  using TimePoint = frame::Clock::TimePoint;
  using Duration = frame::Clock::Duration;
  struct Entry {
    std::shared_ptr<Content> content;
    std::shared_ptr<const void> owner;
    TimePoint due;                          ///< at most delay_of_open() ahead
    std::error_code failure;                ///< error of the last commit
    std::string damage;                     ///< set if a damaged file is the cause of `failure`
    std::error_code last_logged;            ///< the failure that was logged last
    std::optional<TimePoint> locked_since;  ///< set while only locks prevent the commit
    bool is_deferred = false;               ///< queued for, or committed by, the thread for long
                                            ///< commits
    FairShare::Part descriptors;            ///< descriptors of the user who closed the file
  };

  /// Sets the time at which the entry is due, and lets work() look for it a little later.
  void set_due(Entry& entry, TimePoint due) REQUIRES(mutex_);
  /// Lets work() look for due files at that time at the latest.
  void look_at(TimePoint time) REQUIRES(mutex_);
  Duration delay_of_closed() const;
  Duration delay_of_open() const;
  void work();
  enum class Pressure { none, staging, all };
  Contents due_contents(Pressure pressure) EXCLUDES(mutex_);
  void require_storable_dirty_bytes(bool found_work) EXCLUDES(mutex_);
  /// Stages each content with at least `least_dirty` dirty bytes. Returns true if one of them still
  /// has enough dirty bytes for another step.
  bool stage(std::size_t least_dirty) EXCLUDES(mutex_);
  Outcome stage(const std::shared_ptr<Content>& content) EXCLUDES(mutex_);
  Contents all_contents() EXCLUDES(mutex_);
  /// Whether the calling thread makes long commits, too, or leaves them to a thread of their own.
  enum class LongCommits { wait, defer };
  std::error_code commit_batch(const Contents& contents, LongCommits long_ones)
      EXCLUDES(batch_mutex_);
  /// Releases the contents of each batch before the next batch, so that those without other users
  /// are closed.
  std::error_code commit_in_batches(Contents contents, LongCommits long_ones);
  void defer(const std::shared_ptr<Content>& content) EXCLUDES(mutex_);
  void commit_deferred() EXCLUDES(mutex_);
  std::error_code commit_now(const std::shared_ptr<Content>& content, IfBeingWritten unfinished);
  Outcome commit_alone(const std::shared_ptr<Content>& content);
  /// Handles the end of a commit of a batch. Returns true if the content is to be committed again,
  /// alone.
  bool must_retry(BatchedCommit& ended, LongCommits long_ones);
  /// Returns true if the content has gone on from another program's state since `epoch`, even by
  /// another thread's call; then it may be committed again. If an error prevents that, the error
  /// replaces the outcome.
  bool follow(const std::shared_ptr<Content>& content, std::uint64_t epoch, Outcome& outcome,
              IfBeingWritten unfinished);
  /// For a commit that no caller waits for. Stores a failure for the next fsync or close. A lock
  /// counts as a failure only after kLockTimeout.
  void note_failure(Content& content, Outcome& outcome) EXCLUDES(mutex_);
  bool is_locked_for_long(const Content& content) EXCLUDES(mutex_);
  void record_outcome(const std::shared_ptr<Content>& content, const Outcome& outcome);
  TimePoint next_try(std::optional<TimePoint> locked_since) const;

  Stats& stats_;
  const frame::Clock& clock_;
  std::atomic<bool> commits_at_close_{false};
  std::atomic<std::chrono::seconds> longest_wait_{std::chrono::seconds(5)};
  Services services_;
  std::thread thread_, long_thread_;
  /// Threads that help the thread that commits a batch. They wait for the encoding workers, so they
  /// cannot be those.
  std::optional<WorkerPool> helpers_;
  Mutex batch_mutex_{LockLevel::batch};  ///< one batch at a time, since a batch locks many contents
  Mutex mutex_{LockLevel::queue};
  CondVar wake_;
  std::unordered_map<const Content*, Entry> dirty_ GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<Content>> deferred_ GUARDED_BY(mutex_);
  Pressure pressure_ GUARDED_BY(mutex_) = Pressure::none;
  TimePoint next_staging_ GUARDED_BY(mutex_);
  TimePoint next_look_ GUARDED_BY(mutex_) = TimePoint::max();  ///< when work() looks for due files;
                                                               ///< max(): no file waits
  std::optional<TimePoint> idle_since_;  ///< used by work() only: since when there is pressure
                                         ///< without work
  bool stopping_ GUARDED_BY(mutex_) = false;
};

}  // namespace bloscfs::fs
