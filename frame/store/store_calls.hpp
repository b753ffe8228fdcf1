#pragma once
// Calls to a store that take long, several at once.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace bloscfs::frame::inline store {

/// Threads for them, which begin when they are needed. Thread-safe. A call finds an Interruption in
/// its thread, which ends it when nobody wants it any more.
class StoreCalls {
 public:
  /// `most` run at once; others wait.
  explicit StoreCalls(unsigned most) : most_(most > 0 ? most : 1) {}
  /// Cancels all, and waits for those that run.
  ~StoreCalls();
  StoreCalls(const StoreCalls&) = delete;
  StoreCalls& operator=(const StoreCalls&) = delete;

  class Call;
  /// A call that was begun; its destructor cancels.
  class Pending {
   public:
    Pending() = default;
    explicit Pending(std::shared_ptr<Call> call) : call_(std::move(call)) {}
    Pending(Pending&&) noexcept = default;
    Pending& operator=(Pending&& other) noexcept;
    ~Pending() { cancel(); }

    /// Until it is over; throws what it threw, and what ends the wait (Interruption), after which
    /// it may be called again.
    void wait();
    /// wait() returns or throws at once.
    bool is_over() const;
    /// It ends soon, or never begins.
    void cancel() noexcept;
    /// Until it is over, however.
    void wait_for_end() noexcept;

   private:
    std::shared_ptr<Call> call_;
  };

  /// What `call` holds is destroyed before it counts as over. Throws std::system_error where no
  /// thread can be made.
  Pending begin(std::function<void()> call);

  /// call(0) to call(count - 1), and returns when all are over. After one that throws no other
  /// begins, and that is thrown.
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
