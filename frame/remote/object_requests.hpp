#pragma once
// Requests about one state of an object. Checks whether an answer belongs to that state.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "frame/remote/http_client.hpp"
#include "frame/store/object_tree.hpp"

namespace bloscfs::frame::inline remote {

/// Returns the state that the answer to the first request for an object reports. Throws
/// RemoteError(EIO) if the answer has an unexpected status.
ObjectState state_of(const HttpAnswer& first);

/// Thread-safe. The client must exist until detach().
class ObjectRequests {
 public:
  /// `first` is the answer to a request for the object's beginning, with status 206, 200 or 416.
  ObjectRequests(HttpClient& client, HttpPlace home, const HttpAnswer& first);

  const ObjectState& state() const { return state_; }
  std::uint64_t size() const { return state_.size; }
  const AnswerHeaders& headers() const { return headers_; }

  /// Returns a request for bytes that the object has, on the condition that it is still in state().
  /// The request goes to the address to which redirects led last.
  RangeRequest request_for(std::uint64_t offset, std::size_t size) const;
  /// Returns the request with the URL that was opened. Used when the target of a redirect, which
  /// may have been valid only for a while, refuses the request.
  RangeRequest with_original_url(RangeRequest request) const;
  bool has_original_url(const RangeRequest& request) const {
    return request.place.url == home_.url;
  }
  /// Throws RemoteError(EIO) unless the answer belongs to state(). Sends later requests to the
  /// address that has answered.
  void accept(const HttpAnswer& answer);

  /// See HttpClient::send(). Throws RemoteError(ECANCELED) after detach().
  PendingAnswer send(RangeRequest request, std::function<void()> on_done,
                     std::function<void(bool)> on_paused) const;
  /// Forbids further requests.
  void detach();

 private:
  const HttpPlace home_;
  AnswerHeaders headers_;  ///< of the first answer
  ObjectState state_;

  mutable std::mutex mutex_;
  HttpClient* client_;  ///< null once detached
  HttpPlace place_;     ///< where redirects led last
};

}  // namespace bloscfs::frame::inline remote
