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

/// Thread-safe. The fetch is lost if no reader waits for it, or takes its answers, for 5 s.
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
  /// (frame/store/wait_context.hpp). Other waiting readers are not affected. When the last waiting
  /// reader gives up, the transfers are cancelled.
  void wait();
  /// Returns the answers if they are here, otherwise nothing. A fetch whose answers were taken is
  /// lost.
  Answers take();
  bool has_arrived() const;
  /// True if the fetch will never have answers.
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
  std::size_t remaining_ = 0;  ///< answers that are still to come
  std::size_t pausing_ = 0;    ///< requests of `remaining_` that wait before a retry
  bool is_paused_ = false;     ///< all requests of `remaining_` wait before a retry
  bool is_counted_ = false;    ///< traffic_ counts `size_` as held until gone()
  int readers_ = 0;
  Clock::time_point used_ = Clock::now();
};

}  // namespace bloscfs::frame::inline remote
