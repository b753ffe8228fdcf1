#pragma once
// Threads that decode ahead of readers. Tasks never wait for other tasks.

#include <cstddef>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

namespace bloscfs::fs {

class WorkerPool {
 public:
  explicit WorkerPool(std::size_t threads) : pool_(threads) {}
  /// Drops what has not begun and waits for the rest.
  ~WorkerPool() {
    pool_.stop();
    pool_.join();
  }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  template <typename Task>
  void post(Task&& task) {
    boost::asio::post(pool_, std::forward<Task>(task));
  }

 private:
  boost::asio::thread_pool pool_;
};

}  // namespace bloscfs::fs
