#pragma once
// Threads that encode and decode beside those that answer requests. Tasks never wait for other
// tasks.

#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

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

/// Not Asio's thread_pool: that waits forever for the threads it has where one more cannot be made.
class WorkerPool {
 public:
  /// Throws std::system_error where the threads cannot be made.
  explicit WorkerPool(std::size_t threads) : tasks_(static_cast<int>(threads)) {
    try {
      while (threads_.size() < threads) threads_.emplace_back([this] { tasks_.run(); });
    } catch (...) {
      end();
      throw;
    }
  }
  /// Drops what has not begun and waits for the rest.
  ~WorkerPool() { end(); }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  std::size_t threads() const { return threads_.size(); }

  template <typename Task>
  void post(Task&& task) {
    awaited_++;
    try {
      run_later([this, task = std::forward<Task>(task)]() mutable {
        awaited_--;
        task();
      });
    } catch (...) {
      awaited_--;
      throw;
    }
  }
  /// The same for what nobody waits for: it lets what was posted otherwise go first.
  void post_unawaited(std::function<void()> task) {
    run_later([this, task = std::move(task)]() mutable {
      if (awaited_ > 0)
        post_unawaited(std::move(task));
      else
        task();
    });
  }

 private:
  template <typename Task>
  void run_later(Task&& task) {
    boost::asio::post(tasks_, [task = std::forward<Task>(task)]() mutable {
      static thread_local const bool once = (use_long_time_slices(), true);
      static_cast<void>(once);
      task();
    });
  }
  void end() {
    tasks_.stop();
    for (std::thread& thread : threads_) thread.join();
  }

  boost::asio::io_context tasks_;
  std::atomic<std::size_t> awaited_{0};  ///< posted by post(), and not begun
  /// Threads wait for tasks even where there are none.
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> open_{
      tasks_.get_executor()};
  std::vector<std::thread> threads_;
};

}  // namespace bloscfs::fs
