#pragma once
// A range of an object: waiting to be requested, under way, or here. Any number of readers may wait
// for it.

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

/// State that the ranges of one object share.
struct FetchSource {
  std::shared_ptr<ObjectRequests> requests;
  std::shared_ptr<Traffic> traffic;
  std::shared_ptr<const CachedObject> cached;  ///< on disk; null: not cached
  LinkSpeed speed;
};

/// Thread-safe. The destructor cancels the transfer.
class RangeFetch final : public Load, public std::enable_shared_from_this<RangeFetch> {
 public:
  /// Bytes [begin, end), all of which the object has.
  RangeFetch(std::shared_ptr<FetchSource> source, std::uint64_t begin, std::uint64_t end);
  /// Bytes from `begin` on that are already here.
  RangeFetch(std::shared_ptr<FetchSource> source, std::uint64_t begin,
             std::vector<std::uint8_t> bytes);
  ~RangeFetch() override;
  RangeFetch(const RangeFetch&) = delete;
  RangeFetch& operator=(const RangeFetch&) = delete;

  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }
  std::size_t size() const override { return static_cast<std::size_t>(end_ - begin_); }
  void start() noexcept override;

  /// Waits for the bytes. They are valid as long as this object. Returns no bytes if the fetch was
  /// given up before, because the last waiting reader was interrupted. Throws RemoteError like
  /// PendingAnswer::wait(), and EIO if the object has changed. Also throws what the thread's
  /// Interruption throws (frame/store/wait_context.hpp). Other waiting readers are not affected.
  /// When the last waiting reader gives up, the transfer is cancelled.
  Bytes wait();
  /// True if the fetch will never have bytes.
  bool is_lost() const;
  bool has_arrived() const;
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
  bool is_counted_ = false;  ///< the traffic counts `size()` as held until gone()
  bool is_paused_ = false;   ///< waits before a retry
  int readers_ = 0;
  RangeRequest request_;
  LinkSpeed::Mark mark_;
  PendingAnswer pending_;
  std::vector<std::uint8_t> bytes_;  ///< unchanged once they are here
  int error_ = 0;
  std::string error_text_;
};

}  // namespace bloscfs::frame::inline remote
