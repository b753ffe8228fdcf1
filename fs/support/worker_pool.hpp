#pragma once
// Threads that encode and decode, in addition to the request threads. Tasks never wait for other
// tasks.

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace bloscfs::fs {

/// Gives the calling thread longer time slices, since it has long work to do. Threads that wake up
/// go first; this thread keeps its share of the processor, in longer pieces. Does nothing if the
/// kernel does not support it (before Linux 6.12).
void use_long_time_slices() noexcept;

/// Threads of a mount in addition to the request threads.
struct WorkerCounts {
  std::size_t coding = 1;      ///< encode and decode
  std::size_t committing = 1;  ///< take steps of a batch of commits
};

class WorkerPool {
 public:
  /// Throws std::system_error if the threads cannot be created.
  explicit WorkerPool(std::size_t threads);
  /// Drops tasks that have not begun, and waits for the others.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  std::size_t threads() const { return threads_.size(); }

  void post(std::function<void()> task);
  /// For a task that no thread waits for. Tasks of post() go first.
  void post_low_priority(std::function<void()> task);

 private:
  struct Queue;

  void run_later(std::function<void()> task);
  void end();

  const std::unique_ptr<Queue> queue_;
  std::atomic<std::size_t> awaited_{0};  ///< tasks of post() that have not begun
  std::vector<std::thread> threads_;
};

}  // namespace bloscfs::fs
