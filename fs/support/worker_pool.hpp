#pragma once
// Threads that encode and decode beside those that answer requests. Tasks never wait for other
// tasks.

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace bloscfs::fs {

/// Lets threads that wake up go before this one, which has long work to do: it takes its share of
/// the processor in longer pieces, and loses nothing of it. Where the kernel cannot do that
/// (before Linux 6.12) nothing happens.
void use_long_time_slices() noexcept;

/// Threads of a mount beside those that answer requests.
struct WorkerCounts {
  std::size_t coding = 1;      ///< encode and decode
  std::size_t committing = 1;  ///< take steps of a batch of commits
};

class WorkerPool {
 public:
  /// Throws std::system_error where the threads cannot be made.
  explicit WorkerPool(std::size_t threads);
  /// Drops what has not begun and waits for the rest.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  std::size_t threads() const { return threads_.size(); }

  void post(std::function<void()> task);
  /// The same for what nobody waits for: it lets what was posted otherwise go first.
  void post_unawaited(std::function<void()> task);

 private:
  struct Queue;

  void run_later(std::function<void()> task);
  void end();

  const std::unique_ptr<Queue> queue_;
  std::atomic<std::size_t> awaited_{0};  ///< posted by post(), and not begun
  std::vector<std::thread> threads_;
};

}  // namespace bloscfs::fs
