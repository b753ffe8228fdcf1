#pragma once
// Asks servers for objects and parts of them, and changes them: one thread for all transfers, on
// connections that are kept.

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "frame/remote/http_request.hpp"

namespace bloscfs::frame::inline remote {

struct Exchange;

/// An answer that is under way; its destructor cancels.
class PendingAnswer {
 public:
  PendingAnswer() = default;
  PendingAnswer(PendingAnswer&&) noexcept = default;
  PendingAnswer& operator=(PendingAnswer&& other) noexcept;
  ~PendingAnswer() { cancel(); }

  /// Once. Throws RemoteError: ENOENT (404, 410), EACCES (401, 403, 407), ETIMEDOUT where nothing
  /// answered, ECANCELED, else EIO; and what ends the wait (frame/store/wait_context.hpp), after
  /// which it may be called again.
  HttpAnswer wait();
  /// wait(), also one that another thread is in, ends with ECANCELED unless the answer is there.
  void cancel();

 private:
  friend class HttpClient;
  explicit PendingAnswer(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  std::shared_ptr<Exchange> exchange_;
};

/// Thread-safe. Failures that may pass (no connection, a stalled or short answer, 408, 429, 5xx)
/// are tried again after growing, jittered pauses, or as Retry-After says. Follows five redirects
/// at most, and neither from https to http nor from public addresses to private ones. Proxies of
/// the environment are not used, and no credentials sent but what the settings say. Before a
/// request fails because a server refuses its credentials, the signer looks these up again, once;
/// if they have changed, the request is sent once more.
class HttpClient {
 public:
  /// Throws std::system_error, RemoteError.
  explicit HttpClient(HttpSettings settings);
  /// What is under way ends with ECANCELED.
  ~HttpClient();

  /// `when_over`, which may be empty, is called by the client's thread once wait() returns at once,
  /// or there is nobody any more who might call that. It may ask for more, and must not block.
  /// `when_paused`, which may be empty too, is called there with true when a pause begins before
  /// another attempt, and with false when that attempt begins: not where the request is over
  /// before.
  PendingAnswer send(WebRequest request, std::function<void()> when_over = {},
                     std::function<void(bool)> when_paused = {});
  /// Attempts that were made, redirects included.
  std::uint64_t requests() const;
  /// Of bodies, once an attempt is over, whatever came of it.
  std::uint64_t bytes_received() const;

 private:
  class Loop;
  std::shared_ptr<Loop> loop_;
};

}  // namespace bloscfs::frame::inline remote
