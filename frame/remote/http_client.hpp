#pragma once
// Sends requests to servers. One thread makes all transfers, on connections that it keeps.

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "frame/remote/http_request.hpp"

namespace bloscfs::frame::inline remote {

struct Exchange;

/// An answer that is under way. The destructor cancels the request.
class PendingAnswer {
 public:
  PendingAnswer() = default;
  PendingAnswer(PendingAnswer&&) noexcept = default;
  PendingAnswer& operator=(PendingAnswer&& other) noexcept;
  ~PendingAnswer() { cancel(); }

  /// Waits for the answer, and returns it once. Throws RemoteError: ENOENT (404, 410), EACCES (401,
  /// 403, 407), ETIMEDOUT if nothing answered, ECANCELED, otherwise EIO. Also throws what the
  /// thread's Interruption throws (frame/store/wait_context.hpp). wait() may then be called again.
  HttpAnswer wait();
  /// Cancels the request. wait() then throws ECANCELED, also in another thread, unless the answer
  /// is there.
  void cancel();

 private:
  friend class HttpClient;
  explicit PendingAnswer(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  std::shared_ptr<Exchange> exchange_;
};

/// Thread-safe. Failures that may pass (no connection, a stalled or short answer, 408, 429, 5xx)
/// are retried after growing pauses with jitter, or when Retry-After says. Follows five redirects
/// at most, and neither from https to http nor from public addresses to private ones. Ignores the
/// environment's proxies, and sends no credentials except those of the settings.
///
/// If a server refuses the credentials, the signer looks them up again, once, before the request
/// fails. If they have changed, the request is sent once more.
class HttpClient {
 public:
  /// Throws std::system_error, RemoteError.
  explicit HttpClient(HttpSettings settings);
  /// Requests under way end with ECANCELED.
  ~HttpClient();

  /// `on_done`, if not empty, runs in the client's thread once wait() would return at once, or
  /// the request was cancelled. It may send more requests, and must not block. `on_paused`, if
  /// not empty, runs there with true when a pause before a retry begins, and with false when the
  /// retry begins. The call with false does not come if the request ends first.
  PendingAnswer send(WebRequest request, std::function<void()> on_done = {},
                     std::function<void(bool)> on_paused = {});
  /// Returns how many attempts were made, including redirects.
  std::uint64_t requests() const;
  /// Returns the bytes of the bodies of all ended attempts, whatever their outcome.
  std::uint64_t bytes_received() const;

 private:
  class Loop;
  std::shared_ptr<Loop> loop_;
};

}  // namespace bloscfs::frame::inline remote
