#pragma once
// Requests to a server, and their answers.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "frame/remote/answer_memory.hpp"
#include "frame/remote/http_answer.hpp"
#include "frame/remote/private_address.hpp"
#include "frame/remote/url.hpp"

namespace bloscfs::frame::inline remote {

class RequestSigner;

struct HttpSettings {
  unsigned connections = 16;  ///< simultaneous transfers; further requests wait
  /// No attempt begins later than this after the first one. 0: only one attempt.
  std::chrono::milliseconds retry_time{60'000};
  /// If false, no request is retried before a server has answered once, so that a mistyped URL
  /// fails at once.
  bool retries_first_contact = true;
  /// Certificate authorities to trust instead of the system's. Empty: the system's.
  std::string cafile;
  /// File with users and passwords. They are sent to the requested host, and not to hosts to which
  /// redirects lead. Empty: none.
  std::string netrc;
  std::string bearer;  ///< a token for the requested host only; empty: none
  /// URL of an HTTP proxy, used with CONNECT. Empty: none. With a proxy, the addresses of redirects
  /// are not checked, because the proxy makes the connections.
  std::string proxy;
  /// Signs all requests. Null: none. A signed request follows no redirect.
  std::shared_ptr<RequestSigner> signer;
  /// An attempt fails if it receives less than 1 KiB a second for this long.
  std::chrono::seconds stall_time{20};
  /// The longest time of one attempt; 0: 30 seconds, and more for large bodies.
  std::chrono::milliseconds attempt_time{0};
  int most_redirects = 5;
  /// Called by any thread when a request is retried, once for each request. May be empty.
  std::function<void(const std::string&)> notice;
};

/// The address of an object, and the redirects that led to it.
struct HttpPlace {
  Url url;
  /// The widest reach of the addresses so far. A later address must not have a narrower one.
  Reach reach = Reach::own_host;
  /// A redirect led to another host, which gets no credentials.
  bool left_host = false;
};

enum class HttpMethod : std::uint8_t { get, put, post, remove };
/// Returns the method as it is sent, for example "DELETE" for `remove`.
const char* name_of(HttpMethod method);

struct HttpHeader {
  std::string name, value;  ///< both without line breaks
};

/// Limit for the time of retries of requests that must not be carried out twice. A DELETE without
/// If-Match of a tombstone must arrive before another host may use its name again.
inline constexpr std::chrono::milliseconds kRetriesOfOnce{60'000};

struct WebRequest {
  HttpPlace place;
  HttpMethod method = HttpMethod::get;
  std::uint64_t offset = 0;
  std::uint32_t size = 0;  ///< of the range; 0: the whole object
  /// Limit for the body of a whole object, and of an answer that is not a range.
  std::uint32_t whole_size = 0;
  /// Accounts for the body's memory. Null: not accounted for.
  std::shared_ptr<AnswerMemory> memory;
  /// Values of the headers with these names. Empty: not sent.
  std::string if_match, if_none_match, if_unmodified_since, if_modified_since;
  std::vector<HttpHeader> headers;  ///< further headers
  std::vector<std::uint8_t> body;   ///< of PUT and POST
  /// False for a request that must not be carried out twice. It is repeated only if the server
  /// answers that it did not carry it out, for kRetriesOfOnce at most.
  bool retries = true;
  /// If true, a status from 400 on that is not retried is returned as an answer, with its body.
  bool takes_errors = false;
};
/// Used where a request is for a range.
using RangeRequest = WebRequest;

/// An answer with one of these statuses:
///
/// - to a request for a range: 206, 200 (the whole object), 412 or 416. The body of a 206 begins at
///   the requested offset, and ends at the requested end or that of the object.
/// - to a GET of a whole object: 200 or 412.
/// - to a GET with If-None-Match or If-Modified-Since: also 304.
/// - to other methods: any 2xx, 409 or 412.
struct HttpAnswer {
  AnswerHeaders headers;
  std::vector<std::uint8_t> body;  ///< empty for a 304, and for a 4xx unless takes_errors is set
  HttpPlace place;                 ///< after all redirects
  std::string credentials = {};    ///< RequestSigner::origin(); empty if the request is not signed
};

/// Authenticates requests. Thread-safe.
class RequestSigner {
 public:
  virtual ~RequestSigner() = default;
  /// Returns the headers to add to an attempt that sends `headers`. May throw std::bad_alloc.
  virtual std::vector<HttpHeader> sign(const WebRequest& request,
                                       const std::vector<HttpHeader>& headers) const = 0;
  /// Returns where the credentials were found, for messages.
  virtual std::string origin() const { return {}; }
  /// Changes whenever the credentials do.
  virtual std::uint64_t version() const { return 0; }
  /// True if the credentials are known to have expired.
  virtual bool has_expired() const { return false; }
  /// Looks up the credentials again, unless those of `version` have been replaced already. Then
  /// calls `done` once, in any thread. Must not block.
  virtual void renew(std::uint64_t version, const std::function<void()>& done) {
    static_cast<void>(version);
    done();
  }
  /// Stops the lookups that renew() has begun. No `done` is called after stop() has returned.
  virtual void stop() {}
};

}  // namespace bloscfs::frame::inline remote
