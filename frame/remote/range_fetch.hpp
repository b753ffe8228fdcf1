#pragma once
// A range of an object that is waiting to be asked for, under way, or here; any number of readers
// wait for it.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "frame/remote/cached_object.hpp"
#include "frame/remote/link_speed.hpp"
#include "frame/remote/object_requests.hpp"
#include "frame/remote/traffic.hpp"

namespace bloscfs::frame::inline remote {

/// What the ranges of one object share.
struct FetchSource {
  std::shared_ptr<ObjectRequests> requests;
  std::shared_ptr<Traffic> traffic;
  std::shared_ptr<const CachedObject> cached;  ///< on disk; null: not at all
  LinkSpeed speed;
};

/// Thread-safe. Its destructor ends the transfer.
class RangeFetch final : public Load, public std::enable_shared_from_this<RangeFetch> {
 public:
  /// Bytes [begin, end), which the object has.
  RangeFetch(std::shared_ptr<FetchSource> source, std::uint64_t begin, std::uint64_t end);
  /// Bytes from `begin` on that are here already.
  RangeFetch(std::shared_ptr<FetchSource> source, std::uint64_t begin,
             std::vector<std::uint8_t> bytes);
  ~RangeFetch() override;
  RangeFetch(const RangeFetch&) = delete;
  RangeFetch& operator=(const RangeFetch&) = delete;

  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }
  std::size_t size() const override { return static_cast<std::size_t>(end_ - begin_); }
  void start() noexcept override;

  /// The bytes, valid as long as this object; none where another reader gave it up, who was alone
  /// then. Throws RemoteError, as PendingAnswer::wait() does, and EIO for a changed object; and
  /// what ends the wait (frame/store/wait_context.hpp), which others that wait do not notice: the
  /// last one ends the transfer.
  Bytes wait();
  /// It will never have bytes.
  bool is_lost() const;
  bool is_here() const;
  bool is_waited_for() const;

 private:
  enum class State : std::uint8_t { waiting, under_way, here, failed, given_up };

  bool is_over() const { return state_ >= State::here; }
  void ask(RangeRequest request);
  void on_answer() noexcept;
  void on_pause(bool begins) noexcept;
  bool take_answer();
  void fail(int error, std::string why);
  void end_as(State state, std::size_t received);
  void wait_until_over(std::unique_lock<std::mutex>& lock);
  void leave() noexcept;

  const std::shared_ptr<FetchSource> source_;
  const std::uint64_t begin_, end_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::waiting;
  bool is_booked_ = false;
  bool is_paused_ = false;  ///< waits before another attempt
  int readers_ = 0;
  RangeRequest request_;
  LinkSpeed::Mark mark_;
  PendingAnswer pending_;
  std::vector<std::uint8_t> bytes_;  ///< does not change once it is there
  int error_ = 0;
  std::string why_;
};

}  // namespace bloscfs::frame::inline remote
