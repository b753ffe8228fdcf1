#pragma once
// The first ranges of an object whose state is not known yet, requested together.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "frame/remote/http_client.hpp"
#include "frame/remote/traffic.hpp"

namespace bloscfs::frame::inline remote {

/// Thread-safe. Dropped after a while if no reader comes for it.
class FirstFetch final : public Load,
                         public IdleSweep::Keeper,
                         public std::enable_shared_from_this<FirstFetch> {
 public:
  /// An empty element stands for a request that failed.
  using Answers = std::vector<std::optional<HttpAnswer>>;

  /// The client must exist until detach().
  FirstFetch(HttpClient& client, std::shared_ptr<Traffic> traffic,
             std::vector<RangeRequest> requests);
  ~FirstFetch() override;
  FirstFetch(const FirstFetch&) = delete;
  FirstFetch& operator=(const FirstFetch&) = delete;

  std::size_t size() const override { return size_; }
  void start() noexcept override;
  bool drop_idle() noexcept override;

  /// Waits until all answers have come or failed. Throws what the thread's Interruption throws
  /// (frame/store/wait_context.hpp). Other readers do not notice. When the last waiting reader
  /// gives up, the transfers are cancelled.
  void wait();
  /// Returns the answers once, if they are here. The fetch is lost afterwards.
  Answers take();
  bool is_here() const;
  /// True if it will never have answers.
  bool is_lost() const;
  /// Cancels the transfers. Nothing is requested afterwards.
  void detach();

 private:
  using Clock = std::chrono::steady_clock;
  enum class State : std::uint8_t { waiting, under_way, here, lost };

  void begin();
  void on_answer(std::size_t part) noexcept;
  void on_pause(bool begins) noexcept;
  void update_pause();
  void end_as(State state, std::size_t received);
  void lose();
  void leave() noexcept;

  const std::shared_ptr<Traffic> traffic_;
  const std::size_t size_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  HttpClient* client_;  ///< null once detached
  State state_ = State::waiting;
  std::vector<RangeRequest> requests_;
  std::vector<PendingAnswer> pending_;
  Answers answers_;
  std::size_t left_ = 0;     ///< answers that are still to come
  std::size_t pausing_ = 0;  ///< of these, those that wait before a retry
  bool is_paused_ = false;   ///< all of these wait before a retry
  bool is_booked_ = false;
  int readers_ = 0;
  Clock::time_point used_ = Clock::now();
};

}  // namespace bloscfs::frame::inline remote
