#pragma once
// When changed files are committed: soon after they are closed, when someone asks for it, and when
// too much is dirty.

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

/// Thread-safe. One file's trouble is that file's: what commits files of all waits for no lock of
/// another program, but sets such a file aside for a few seconds. Only who asks for a commit waits.
class Committer {
 public:
  /// Both outlive it.
  explicit Committer(Stats& stats, const frame::Clock& clock = frame::system_clock())
      : stats_(stats), clock_(clock) {}
  /// Does not commit what is still dirty: see commit_all().
  ~Committer() { stop(); }
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  struct Services {
    /// Hears of the outcome of each commit of a file that counts to that user.
    std::function<void(uid_t user, const std::error_code&)> ended;
    /// Makes all of SOURCE's filesystem durable, where that is cheaper than file by file. Empty: it
    /// never is.
    std::function<void()> sync_all;
    /// Asked when a commit has failed, or has ended: whether another program had changed the file,
    /// and the content has gone on from what is there now. A commit is never tried again on a state
    /// that is gone.
    std::function<FollowResult(const std::shared_ptr<Content>&, IfBeingWritten)> follow =
        [](const auto&, IfBeingWritten) { return FollowResult::no; };
    /// Files that are committed together, at most.
    std::size_t batch = 256;
    /// Threads that do it, and files for each of them but the first, at least.
    std::size_t threads = 1, worth_thread = 4;
    /// Called when a commit has written, and not published yet. Throws where what it has written
    /// must not stay.
    std::function<void(const Content&)> check_written = [](const Content&) {};
  };
  /// Starts the thread that commits in the background.
  void start(Services services);
  void stop();

  /// Whether each file is committed at its close, not with others soon.
  bool commits_at_close() const { return commits_at_close_; }
  void set_commits_at_close(bool at_close) { commits_at_close_ = at_close; }
  /// The longest time that a closed file waits for its commit; at least one second.
  void set_longest_wait(std::chrono::seconds wait) { longest_wait_ = wait; }

  /// To be called after each change: the content has something to commit, and `owner` lives until
  /// that is done. A file that stays open is committed half a minute after its first change.
  void note(const std::shared_ptr<Content>& content, std::shared_ptr<const void> owner);
  /// Its file was closed: it is committed within a few seconds, or `at_once`. `descriptors`, of who
  /// has closed it, are given back when it has nothing to commit any more.
  void queue(const std::shared_ptr<Content>& content, bool at_once,
             FairShare::Part descriptors = {});
  /// Commits what that user has closed as soon as possible. False if none of it waits but files
  /// whose commit has failed.
  bool hurry(uid_t user) EXCLUDES(mutex_);
  /// Makes room in memory as soon as possible: new files that are being written are staged, and if
  /// `all`, everything else is committed. Who presses for the former does so with each write: where
  /// none of many files was worth a step, they are not looked through again at once.
  void press(bool all);
  /// Forgets a content that nobody will ask for any more.
  void drop(const Content& content);

  using Contents = std::vector<std::shared_ptr<Content>>;

  /// Commits now. Throws what went wrong; what is concerned is then still dirty.
  void commit(const Contents& contents);
  /// Commits all that is dirty. Throws the first error that stayed after trying all.
  void commit_all();
  struct Uncommitted {
    std::shared_ptr<Content> content;
    std::error_code failure;
  };
  /// What still is dirty, and what the last try failed with.
  std::vector<Uncommitted> uncommitted() EXCLUDES(mutex_);

 private:
  using TimePoint = frame::Clock::TimePoint;
  using Duration = frame::Clock::Duration;
  struct Entry {
    std::shared_ptr<Content> content;
    std::shared_ptr<const void> owner;
    TimePoint due;                          ///< never later than delay_of_open()
    std::error_code failure;                ///< of the last try
    std::error_code told;                   ///< the failure that the log has
    std::optional<TimePoint> locked_since;  ///< while nothing but locks is in the way
    bool is_deferred = false;               ///< for the thread that makes long commits
    FairShare::Part descriptors;            ///< of a file that was closed
  };

  /// Sets when the entry is due, and has work() look for it a little later.
  void set_due(Entry& entry, TimePoint due) REQUIRES(mutex_);
  /// Has work() look for what is due at that time, or earlier.
  void look_at(TimePoint time) REQUIRES(mutex_);
  Duration delay_of_closed() const;
  Duration delay_of_open() const;
  void work();
  enum class Pressure { none, staging, all };
  Contents due_contents(Pressure pressure) EXCLUDES(mutex_);
  void require_storable_dirty_bytes(bool found_work) EXCLUDES(mutex_);
  /// A step for each content that has so much. True if one has enough for another step.
  bool stage(std::size_t least_dirty) EXCLUDES(mutex_);
  Outcome stage(const std::shared_ptr<Content>& content) EXCLUDES(mutex_);
  Contents all_contents() EXCLUDES(mutex_);
  enum class LongCommits { wait, defer };
  std::error_code commit_batch(const Contents& contents, LongCommits long_ones)
      EXCLUDES(batch_mutex_);
  /// Each batch is closed before the next one, unless others have it open.
  std::error_code commit_in_batches(Contents contents, LongCommits long_ones);
  void defer(const std::shared_ptr<Content>& content) EXCLUDES(mutex_);
  void commit_deferred() EXCLUDES(mutex_);
  std::error_code commit_now(const std::shared_ptr<Content>& content, IfBeingWritten unfinished);
  Outcome commit_alone(const std::shared_ptr<Content>& content);
  /// Ends a commit of a batch. True if it is to be made again, alone.
  bool must_retry(BatchedCommit& ended, LongCommits long_ones);
  /// True if the content has followed SOURCE since that `epoch`, for whoever asked first, so that
  /// it may be committed again. What keeps it from that takes the outcome's place.
  bool follow(const std::shared_ptr<Content>& content, std::uint64_t epoch, Outcome& outcome,
              IfBeingWritten unfinished);
  /// A commit has failed, or not, that nobody waits for: who uses the file is told later, and of
  /// locks when they have lasted.
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
  /// Beside the thread that has the batch. They wait for the workers that encode, and so cannot be
  /// these.
  std::optional<WorkerPool> helpers_;
  Mutex batch_mutex_{LockLevel::batch};  ///< one batch at a time, since it holds several contents
  Mutex mutex_{LockLevel::queue};
  CondVar wake_;
  std::unordered_map<const Content*, Entry> dirty_ GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<Content>> deferred_ GUARDED_BY(mutex_);
  Pressure pressure_ GUARDED_BY(mutex_) = Pressure::none;
  TimePoint next_staging_ GUARDED_BY(mutex_);
  TimePoint next_look_ GUARDED_BY(mutex_) = TimePoint::max();  ///< of work(); max(): nothing waits
  std::optional<TimePoint> idle_since_;  ///< under pressure; of the thread work()
  bool stopping_ GUARDED_BY(mutex_) = false;
};

}  // namespace bloscfs::fs
