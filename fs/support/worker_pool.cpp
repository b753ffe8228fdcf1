#include "fs/support/worker_pool.hpp"

#include <cstdint>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <sys/syscall.h>
#include <unistd.h>

namespace bloscfs::fs {
namespace {

constexpr std::uint64_t kTimeSliceNs = 20'000'000;

/// The first version of the kernel's struct sched_attr, which the C library does not define.
struct SchedulingAttributes {
  std::uint32_t size = sizeof(SchedulingAttributes);
  std::uint32_t policy = 0;  // SCHED_OTHER
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0;  // with SCHED_OTHER: the length of a time slice
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;
};

}  // namespace

void use_long_time_slices() noexcept {
  SchedulingAttributes attributes;
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  // The administrator chose another policy for the daemon, which uses the runtime differently.
  if (attributes.policy != 0) return;
  attributes.size = sizeof attributes;
  attributes.runtime = kTimeSliceNs;
  ::syscall(SYS_sched_setattr, 0, &attributes, 0);
}

/// Asio's thread_pool does not fit: if a thread cannot be created, it waits forever for the others.
struct WorkerPool::Queue {
  explicit Queue(std::size_t threads) : tasks(static_cast<int>(threads)) {}

  boost::asio::io_context tasks;
  /// Keeps run() from returning while the queue is empty.
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> open{
      tasks.get_executor()};
};

WorkerPool::WorkerPool(std::size_t threads) : queue_(std::make_unique<Queue>(threads)) {
  try {
    while (threads_.size() < threads) threads_.emplace_back([this] { queue_->tasks.run(); });
  } catch (...) {
    end();
    throw;
  }
}

WorkerPool::~WorkerPool() { end(); }

void WorkerPool::post(std::function<void()> task) {
  awaited_++;
  try {
    run_later([this, task = std::move(task)] {
      awaited_--;
      task();
    });
  } catch (...) {
    awaited_--;
    throw;
  }
}

void WorkerPool::post_low_priority(std::function<void()> task) {
  run_later([this, task = std::move(task)]() mutable {
    // While tasks of post() wait, this one goes to the end of the queue again.
    if (awaited_ > 0)
      post_low_priority(std::move(task));
    else
      task();
  });
}

void WorkerPool::run_later(std::function<void()> task) {
  boost::asio::post(queue_->tasks, [task = std::move(task)] {
    // Runs once in each worker thread.
    static thread_local const bool once = (use_long_time_slices(), true);
    static_cast<void>(once);
    task();
  });
}

void WorkerPool::end() {
  queue_->tasks.stop();
  for (std::thread& thread : threads_) thread.join();
}

}  // namespace bloscfs::fs
