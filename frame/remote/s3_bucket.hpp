#pragma once
// Single requests for a bucket of an object store, with their outcomes as errors of files.

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

/// Conditions that not all stores know, or not in the same spelling.
struct S3Manners {
  bool bare_etag = false;       ///< PUT and DELETE need the ETag in If-Match without quotes
  bool remove_if_same = false;  ///< DELETE honours If-Match
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

  /// The keys that a page of a listing is to have.
  struct Wanted {
    std::string prefix;
    /// The token of the previous page, or the key to start after; at most one is set.
    std::string token, start_after;
    /// Without a delimiter: also keys with a '/' after the prefix.
    bool is_flat = false;
    unsigned most = 0;
  };
  /// As parse_s3_listing().
  S3Page list(const Wanted& keys, MemoryCharge& charge) const;

  /// Nothing where there is none.
  std::optional<ObjectState> state(const std::string& key) const;

  /// Nothing where the condition does not hold. A store that is busy with the object is asked
  /// again.
  std::optional<ObjectState> put(const std::string& key, Bytes bytes,
                                 const ObjectCondition& condition, const Metadata& metadata) const;
  /// `once`: the request is repeated only if the store answers that it did not carry it out.
  enum class Sending : std::uint8_t { again_if_lost, once };
  /// False where the condition does not hold. Throws RemoteError EOPNOTSUPP if the store knows no
  /// such condition.
  bool remove(const std::string& key, const ObjectCondition& condition,
              Sending sending = Sending::again_if_lost) const;
  /// Deletes up to kMostRemoved keys with one request, which is sent once. Keys that XML cannot
  /// express, and all keys if the store has no multi-object delete, take a request each. Ignores
  /// objects that the store does not delete.
  void remove_all(std::span<const std::string> keys) const;
  static constexpr std::size_t kMostRemoved = 1000;

  void copy(const std::string& from, const std::string& to) const;

 private:
  /// False if the store knows no such request.
  bool post_removal(const std::string& body) const;
  WebRequest request(HttpMethod method, const Url& url) const;
  void set_condition(WebRequest& request, const ObjectCondition& condition) const;
  HttpAnswer ask(const WebRequest& request) const;
  [[noreturn]] void fail(const HttpAnswer& answer) const;

  const S3Address address_;
  const std::shared_ptr<HttpClient> client_;
  const std::chrono::milliseconds retry_time_;
  S3Manners manners_;
  mutable std::atomic<bool> removes_many_{true};
};

}  // namespace bloscfs::frame::inline remote
