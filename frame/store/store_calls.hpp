#pragma once
// Runs slow calls to a store, several at once.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace bloscfs::frame::inline store {

/// Runs calls in threads of its own, which it starts when needed. Thread-safe. Each call runs under
/// an Interruption, which ends the call once it is cancelled.
class StoreCalls {
 public:
  /// At most `most` calls run at once. Others wait.
  explicit StoreCalls(unsigned most) : most_(most > 0 ? most : 1) {}
  /// Cancels all calls, and waits for the running ones.
  ~StoreCalls();
  StoreCalls(const StoreCalls&) = delete;
  StoreCalls& operator=(const StoreCalls&) = delete;

  class Call;
  /// A call that was submitted. The destructor cancels it.
  class Pending {
   public:
    Pending() = default;
    explicit Pending(std::shared_ptr<Call> call) : call_(std::move(call)) {}
    Pending(Pending&&) noexcept = default;
    Pending& operator=(Pending&& other) noexcept;
    ~Pending() { cancel(); }

    /// Waits until the call has ended, and throws what it threw. The waiting thread's Interruption
    /// can end the wait. wait() may then be called again.
    void wait();
    /// True if wait() would return or throw at once.
    bool is_over() const;
    /// Makes a running call end soon. A waiting call never runs.
    void cancel() noexcept;
    /// Waits until the call has ended. Throws nothing and cannot be interrupted.
    void wait_for_end() noexcept;

   private:
    std::shared_ptr<Call> call_;
  };

  /// Submits a call. What `call` owns is destroyed before the call counts as ended. Throws
  /// std::system_error if no thread can be started.
  Pending begin(std::function<void()> call);

  /// Calls call(0) to call(count - 1), several at once. Returns when all have ended. After one has
  /// thrown, no other begins, and for_each() throws its error.
  void for_each(std::size_t count, const std::function<void(std::size_t)>& call);

 private:
  void work();

  const unsigned most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Call>> waiting_;
  std::vector<std::shared_ptr<Call>> running_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool ending_ = false;
};

}  // namespace bloscfs::frame::inline store
