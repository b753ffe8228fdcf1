#pragma once
// Threads that encode and decode beside those that answer requests. Tasks never wait for other
// tasks.

#include <cstddef>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

namespace bloscfs::fs {

/// Lets threads that wake up go before this one, which has long work to do: it takes its share of
/// the processor in longer pieces, and loses nothing of it. Where the kernel cannot do that
/// (before Linux 6.12) nothing happens.
void take_long_turns() noexcept;

class WorkerPool {
 public:
  explicit WorkerPool(std::size_t threads) : threads_(threads), pool_(threads) {}
  /// Drops what has not begun and waits for the rest.
  ~WorkerPool() {
    pool_.stop();
    pool_.join();
  }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  std::size_t threads() const { return threads_; }

  template <typename Task>
  void post(Task&& task) {
    boost::asio::post(pool_, [task = std::forward<Task>(task)]() mutable {
      static thread_local const bool once = (take_long_turns(), true);
      static_cast<void>(once);
      task();
    });
  }

 private:
  const std::size_t threads_;
  boost::asio::thread_pool pool_;
};

}  // namespace bloscfs::fs
