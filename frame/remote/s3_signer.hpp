#pragma once
// Signs requests with credentials that may change during a mount.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "frame/remote/http_request.hpp"
#include "frame/remote/s3_credentials.hpp"

namespace bloscfs::frame::inline remote {

/// Thread-safe. A thread of its own asks `source` for credentials: once a second while requests are
/// signed, and when a server has refused the credentials. Requests do not wait for the regular
/// lookups.
class S3Signer final : public RequestSigner {
 public:
  /// `source`: null if the credentials stay the same. `notice`, which may be empty, is called when
  /// lookups begin to fail: once until a lookup succeeds again.
  S3Signer(S3Credentials first, std::string region,
           std::shared_ptr<CredentialsSource> source = nullptr,
           std::function<void(const std::string&)> notice = {}, std::string service = "s3");
  ~S3Signer() override { stop(); }
  S3Signer(const S3Signer&) = delete;
  S3Signer& operator=(const S3Signer&) = delete;

  std::vector<HttpHeader> sign(const WebRequest& request,
                               const std::vector<HttpHeader>& headers) const override;
  std::string origin() const override;
  std::uint64_t version() const override;
  bool has_expired() const override;
  void renew(std::uint64_t version, const std::function<void()>& done) override;
  void stop() override;

 private:
  void run();
  /// Returns nothing if the lookup failed.
  std::optional<S3Credentials> look_up(CredentialsSource::Look look);

  const std::string region_, service_;
  const std::shared_ptr<CredentialsSource> source_;
  const std::function<void(const std::string&)> notice_;
  bool was_notified_ = false;  ///< notice_ was called; for the thread only

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::shared_ptr<const S3Credentials> credentials_;
  std::uint64_t version_ = 1;
  std::chrono::steady_clock::time_point last_look_;
  mutable bool is_look_due_ = false;
  bool stopping_ = false;
  std::vector<std::function<void()>> waiting_;
  std::thread thread_;
};

}  // namespace bloscfs::frame::inline remote
