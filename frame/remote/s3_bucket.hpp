#pragma once
// Single requests to a bucket of an object store. Their outcomes are reported like errors of files.

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "frame/remote/http_client.hpp"
#include "frame/remote/s3_address.hpp"
#include "frame/remote/s3_listing.hpp"
#include "frame/store/memory_charge.hpp"

namespace bloscfs::frame::inline remote {

/// Conditions that some stores do not know, or expect in another form.
struct S3Capabilities {
  bool bare_etag = false;       ///< PUT and DELETE need the ETag in If-Match without quotes
  bool remove_if_same = false;  ///< DELETE honours If-Match
};

/// Thread-safe. Keys may have any bytes. Errors are RemoteError: ENOENT, EACCES, ETIMEDOUT,
/// otherwise EIO, with the object store's code for the error.
class S3Bucket {
 public:
  using Metadata = std::map<std::string, std::string>;

  S3Bucket(S3Address address, std::shared_ptr<HttpClient> client,
           std::chrono::milliseconds retry_time);

  const S3Address& address() const { return address_; }
  const std::shared_ptr<HttpClient>& client() const { return client_; }
  /// Must be set before other threads exist.
  const S3Capabilities& capabilities() const { return capabilities_; }
  void set_capabilities(const S3Capabilities& capabilities) { capabilities_ = capabilities; }

  /// The keys that a page of a listing should have.
  struct Wanted {
    std::string prefix;
    /// The token of the previous page, or the key to start after; at most one is set.
    std::string token, start_after;
    /// If true, the listing has no delimiter, and shows also keys with a '/' after the prefix.
    bool is_flat = false;
    unsigned most = 0;
  };
  /// Errors: as parse_s3_listing().
  S3Page list(const Wanted& keys, MemoryCharge& charge) const;

  /// Returns nothing if the object does not exist.
  std::optional<ObjectState> state(const std::string& key) const;

  /// Stores an object. Returns nothing if the condition does not hold. Sends the request again
  /// while the object store is busy with the object.
  std::optional<ObjectState> put(const std::string& key, Bytes bytes,
                                 const ObjectCondition& condition, const Metadata& metadata) const;
  /// `once`: the request is repeated only if the object store answers that it did not carry it out.
  enum class Sending : std::uint8_t { retry_if_lost, once };
  /// Returns false if the condition does not hold. Throws RemoteError(EOPNOTSUPP) if the object
  /// store does not know the condition.
  bool remove(const std::string& key, const ObjectCondition& condition,
              Sending sending = Sending::retry_if_lost) const;
  /// Deletes up to kMostRemoved keys with one request, which is repeated only if the object store
  /// answers that it did not carry it out. Keys that XML cannot express are deleted with a request
  /// each. So are all keys if the object store has no multi-object delete. Ignores objects that the
  /// object store does not delete.
  void remove_all(std::span<const std::string> keys) const;
  static constexpr std::size_t kMostRemoved = 1000;

  void copy(const std::string& from, const std::string& to) const;

 private:
  /// Returns false if the object store does not know the request.
  bool post_removal(const std::string& body) const;
  WebRequest request(HttpMethod method, const Url& url) const;
  void set_condition(WebRequest& request, const ObjectCondition& condition) const;
  HttpAnswer ask(const WebRequest& request) const;
  [[noreturn]] void fail(const HttpAnswer& answer) const;

  const S3Address address_;
  const std::shared_ptr<HttpClient> client_;
  const std::chrono::milliseconds retry_time_;
  S3Capabilities capabilities_;
  mutable std::atomic<bool> removes_many_{true};  ///< the store may have multi-object delete
};

}  // namespace bloscfs::frame::inline remote
