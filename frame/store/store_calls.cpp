#include "frame/store/store_calls.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <exception>
#include <system_error>
#include <utility>

#include "frame/store/throw_errno.hpp"
#include "frame/store/wait_context.hpp"

namespace bloscfs::frame::inline store {

class StoreCalls::Call {
 public:
  explicit Call(std::function<void()> call) : call_(std::move(call)) {}

  void run() {
    std::function<void()> call;
    {
      const std::lock_guard guard(mutex_);
      call = std::exchange(call_, nullptr);
    }
    if (!call) return;
    std::exception_ptr error;
    try {
      const Interruption interruption([this] {
        if (cancelled_) throw_errno(ECANCELED, "a call to a store");
      });
      call();
    } catch (...) {
      error = std::current_exception();
    }
    call = nullptr;
    end(error);
  }

  void cancel() noexcept {
    cancelled_ = true;
    std::function<void()> never_begun;
    {
      const std::lock_guard guard(mutex_);
      never_begun = std::exchange(call_, nullptr);
    }
    if (never_begun)
      end(std::make_exception_ptr(std::system_error(errno_code(ECANCELED), "a call to a store")));
  }

  void wait() {
    std::unique_lock lock(mutex_);
    Interruption::wait(changed_, lock, [this] { return over_; });
    if (error_) std::rethrow_exception(error_);
  }

  bool is_over() {
    const std::lock_guard guard(mutex_);
    return over_;
  }

  void wait_for_end() noexcept {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return over_; });
  }

 private:
  void end(std::exception_ptr error) {
    const std::lock_guard guard(mutex_);
    error_ = std::move(error);
    over_ = true;
    changed_.notify_all();
  }

  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> call_;  ///< null once it has begun
  std::exception_ptr error_;
  bool over_ = false;
};

StoreCalls::Pending& StoreCalls::Pending::operator=(Pending&& other) noexcept {
  cancel();
  call_ = std::move(other.call_);
  return *this;
}

void StoreCalls::Pending::wait() {
  if (call_) call_->wait();
}

bool StoreCalls::Pending::is_over() const { return !call_ || call_->is_over(); }

void StoreCalls::Pending::cancel() noexcept {
  if (call_) call_->cancel();
}

void StoreCalls::Pending::wait_for_end() noexcept {
  if (call_) call_->wait_for_end();
}

StoreCalls::~StoreCalls() {
  std::deque<std::shared_ptr<Call>> not_begun;
  {
    const std::lock_guard guard(mutex_);
    ending_ = true;
    not_begun.swap(waiting_);
    for (const auto& call : running_) call->cancel();
    changed_.notify_all();
  }
  for (const auto& call : not_begun) call->cancel();
  for (std::thread& thread : threads_) thread.join();
}

StoreCalls::Pending StoreCalls::begin(std::function<void()> call) {
  auto begun = std::make_shared<Call>(std::move(call));
  const std::lock_guard guard(mutex_);
  if (waiting_.size() >= idle_ && threads_.size() < most_) {
    try {
      threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // The existing threads will run the call.
      if (threads_.empty()) throw;
    }
  }
  waiting_.push_back(begun);
  changed_.notify_one();
  return Pending(std::move(begun));
}

void StoreCalls::work() {
  // Only the program's own threads handle signals.
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::unique_lock lock(mutex_);
  for (;;) {
    idle_++;
    changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    idle_--;
    if (ending_) return;
    const std::shared_ptr<Call> call = std::move(waiting_.front());
    waiting_.pop_front();
    running_.push_back(call);
    lock.unlock();
    call->run();
    lock.lock();
    running_.erase(std::find(running_.begin(), running_.end(), call));
  }
}

void StoreCalls::for_each(std::size_t count, const std::function<void(std::size_t)>& call) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) {
        Interruption::check();
        call(i);
      }
    } catch (...) {
      next = count;
      throw;
    }
  };
  std::vector<Pending> all;
  try {
    while (all.size() < std::min<std::size_t>(count, most_)) all.push_back(begin(work));
    for (Pending& pending : all) pending.wait();
  } catch (...) {
    // The calls refer to local variables, so wait until all have ended.
    next = count;
    for (Pending& pending : all) pending.cancel();
    for (Pending& pending : all) pending.wait_for_end();
    throw;
  }
}

}  // namespace bloscfs::frame::inline store
