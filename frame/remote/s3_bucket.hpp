#pragma once
// Single requests for a bucket of an object store, with their outcomes as errors of files.

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "frame/remote/http_client.hpp"
#include "frame/remote/s3_address.hpp"
#include "frame/remote/s3_listing.hpp"
#include "frame/store/memory_charge.hpp"

namespace bloscfs::frame::inline remote {

/// Conditions that not all stores know, or not in the same spelling.
struct S3Manners {
  bool bare_etag = false;  ///< what changes an object takes If-Match without quotes alone
  bool remove_if_same = false, copy_if_same = false, copy_if_absent = false;
};

/// Thread-safe. Keys are any bytes. Errors are RemoteError: ENOENT, EACCES, ETIMEDOUT, else EIO,
/// with the store's word for them.
class S3Bucket {
 public:
  using Metadata = std::map<std::string, std::string>;

  S3Bucket(S3Address address, std::shared_ptr<HttpClient> client,
           std::chrono::milliseconds retry_time);

  const S3Address& address() const { return address_; }
  const std::shared_ptr<HttpClient>& client() const { return client_; }
  /// Set before there are threads.
  const S3Manners& manners() const { return manners_; }
  void set_manners(const S3Manners& manners) { manners_ = manners; }

  /// A page of at most `most` keys with that prefix; `token` is empty for the first one.
  /// As parse_s3_listing().
  S3Page list(const std::string& prefix, const std::string& token, unsigned most,
              MemoryCharge& charge) const;

  /// Nothing where there is none.
  std::optional<ObjectState> state(const std::string& key) const;

  /// Nothing where the condition does not hold. A store that is busy with the object is asked
  /// again.
  std::optional<ObjectState> put(const std::string& key, Bytes bytes,
                                 const ObjectCondition& condition, const Metadata& metadata) const;
  /// False where the condition does not hold.
  bool remove(const std::string& key, const ObjectCondition& condition) const;

  enum class Copied : std::uint8_t { yes, refused };
  /// Sends the conditions that the store knows. `etag` is that of the copy; empty where not told.
  Copied copy(const std::string& from, const ObjectState& state, const std::string& to,
              std::string& etag) const;

  // For the probe.
  int status_of_copy(const std::string& from, const std::string& if_match, const std::string& to,
                     bool if_absent) const;
  int status_of_remove(const std::string& key, const std::string& if_match) const;

 private:
  WebRequest request(HttpMethod method, const Url& url) const;
  WebRequest copy_request(const std::string& from, const std::string& if_match,
                          const std::string& to, bool if_absent) const;
  void set_condition(WebRequest& request, const ObjectCondition& condition) const;
  HttpAnswer ask(const WebRequest& request) const;
  [[noreturn]] void fail(const HttpAnswer& answer) const;

  const S3Address address_;
  const std::shared_ptr<HttpClient> client_;
  const std::chrono::milliseconds retry_time_;
  S3Manners manners_;
};

}  // namespace bloscfs::frame::inline remote
