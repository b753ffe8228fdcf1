#pragma once
// The first ranges of an object of which no state is known yet, asked for together.

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

/// Thread-safe. Is dropped when nobody has come for it for a while.
class FirstFetch final : public Load,
                         public IdleSweep::Keeper,
                         public std::enable_shared_from_this<FirstFetch> {
 public:
  /// Where an answer failed there is none.
  using Answers = std::vector<std::optional<HttpAnswer>>;

  /// The client is borrowed until detach().
  FirstFetch(HttpClient& client, std::shared_ptr<Traffic> traffic,
             std::vector<RangeRequest> requests);
  ~FirstFetch() override;
  FirstFetch(const FirstFetch&) = delete;
  FirstFetch& operator=(const FirstFetch&) = delete;

  std::size_t size() const override { return size_; }
  void start() noexcept override;
  bool drop_idle() noexcept override;

  /// Until all that was asked for is over. Throws what ends the wait
  /// (frame/store/wait_context.hpp), which others that wait do not notice: the last one ends the
  /// transfers.
  void wait();
  /// Once, when it is here; from then on it is lost.
  Answers take();
  bool is_here() const;
  /// It will never have answers.
  bool is_lost() const;
  /// Ends what is under way; nothing is asked for any more.
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
  HttpClient* client_;  ///< null: detached
  State state_ = State::waiting;
  std::vector<RangeRequest> requests_;
  std::vector<PendingAnswer> pending_;
  Answers answers_;
  std::size_t left_ = 0;     ///< answers that have not come yet
  std::size_t pausing_ = 0;  ///< of these, those that wait before another attempt
  bool is_paused_ = false;   ///< all of them do
  bool is_booked_ = false;
  int readers_ = 0;
  Clock::time_point used_ = Clock::now();
};

}  // namespace bloscfs::frame::inline remote
