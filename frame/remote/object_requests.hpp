#pragma once
// What is asked of a server about one state of an object, and whether an answer is of that state.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "frame/remote/http_client.hpp"
#include "frame/store/object_tree.hpp"

namespace bloscfs::frame::inline remote {

/// The state that the answer to the first request for an object tells of. Throws RemoteError(EIO)
/// where that is none.
ObjectState state_of(const HttpAnswer& first);

/// Thread-safe. The client is borrowed until detach().
class ObjectRequests {
 public:
  /// `first` is the answer to a request for the beginning, with status 206, 200 or 416.
  ObjectRequests(HttpClient& client, HttpPlace home, const HttpAnswer& first);

  const ObjectState& state() const { return state_; }
  std::uint64_t size() const { return state_.size; }
  const AnswerHeaders& headers() const { return headers_; }

  /// A request for bytes that the object has, under the condition that it still is in that state,
  /// where redirects led when it was asked last.
  RangeRequest request_for(std::uint64_t offset, std::size_t size) const;
  /// The same where it was opened: what redirects led to may have been good for a while only.
  RangeRequest at_home(RangeRequest request) const;
  bool is_at_home(const RangeRequest& request) const { return request.place.url == home_.url; }
  /// Throws RemoteError(EIO) unless the answer is of that state; remembers where it came from.
  void accept(const HttpAnswer& answer);

  /// See HttpClient::send(). Throws RemoteError(ECANCELED) after detach().
  PendingAnswer send(RangeRequest request, std::function<void()> when_over,
                     std::function<void(bool)> when_paused) const;
  /// Nothing is asked for any more.
  void detach();

 private:
  const HttpPlace home_;
  AnswerHeaders headers_;  ///< of the first answer
  ObjectState state_;

  mutable std::mutex mutex_;
  HttpClient* client_;  ///< null: detached
  HttpPlace place_;     ///< where redirects led
};

}  // namespace bloscfs::frame::inline remote
