#pragma once
// What is asked of a server, and what comes of it.

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
  unsigned connections = 16;  ///< transfers at once; others wait
  /// No attempt begins later than that after the first; 0: there is one attempt.
  std::chrono::milliseconds retry_time{60'000};
  /// Also retry before a server has answered once. Otherwise a mistyped URL fails at once.
  bool retries_first_contact = true;
  std::string cafile;  ///< whom to trust in place of the system's authorities; empty: these
  /// File with users and passwords; these go to the host that was asked, and to none that a
  /// redirect leads to. Empty: none.
  std::string netrc;
  std::string bearer;  ///< a token for that host alone; empty: none
  /// URL of an HTTP proxy, used with CONNECT; empty: none. The addresses of redirects are not
  /// checked then, because the proxy makes the connections.
  std::string proxy;
  /// Of all requests; null: none. What is signed follows no redirect.
  std::shared_ptr<RequestSigner> signer;
  /// An attempt that gets less than 1 KiB a second for so long has failed.
  std::chrono::seconds stall_time{20};
  /// The longest time of one attempt; 0: 30 seconds, and more for large bodies.
  std::chrono::milliseconds attempt_time{0};
  int most_redirects = 5;
  /// Is told, by any thread, that something is tried again: once for each request. May be empty.
  std::function<void(const std::string&)> notice;
};

/// Where an object is, and how one got there.
struct HttpPlace {
  Url url;
  /// The widest of the addresses on the way: none that follows may be narrower.
  Reach reach = Reach::own_host;
  /// A redirect led to another host: no credentials are for it.
  bool left_host = false;
};

enum class HttpMethod : std::uint8_t { get, put, post, remove };
/// As it is sent: "DELETE" of remove.
const char* name_of(HttpMethod method);

struct HttpHeader {
  std::string name, value;  ///< neither with line breaks
};

/// A plain DELETE of a tombstone must arrive before another host may take its name.
inline constexpr std::chrono::milliseconds kRetriesOfOnce{60'000};

struct WebRequest {
  HttpPlace place;
  HttpMethod method = HttpMethod::get;
  std::uint64_t offset = 0;
  std::uint32_t size = 0;                ///< of the range; 0: the whole is asked for
  std::uint32_t whole_size = 0;          ///< of a whole object, or another answer's body, at most
  std::shared_ptr<AnswerMemory> memory;  ///< that the body takes; null: not asked for
  /// Of the headers with these names; empty: none.
  std::string if_match, if_none_match, if_unmodified_since, if_modified_since;
  std::vector<HttpHeader> headers;  ///< others
  std::vector<std::uint8_t> body;   ///< of put and post
  /// False for a request that must not be carried out twice. It is repeated only if the server
  /// answers that it did not carry it out, for kRetriesOfOnce at most.
  bool retries = true;
  /// Statuses from 400 on that are not tried again are answers, with what comes along.
  bool takes_errors = false;
};
/// Most are for ranges.
using RangeRequest = WebRequest;

/// Of ranges with status 206, 200 (a whole object), 412, or 416; 206 is sound: its body is from
/// where it was asked for on, and to its end or that of the object. Of the whole 200 and 412; 304
/// where one of the conditions for that was given. Of other methods any 2xx, 409, and 412.
struct HttpAnswer {
  AnswerHeaders headers;
  std::vector<std::uint8_t> body;  ///< empty with 304, and with 4xx unless errors are taken
  HttpPlace place;                 ///< behind all redirects
};

/// Proves to a server who asks. Thread-safe.
class RequestSigner {
 public:
  virtual ~RequestSigner() = default;
  /// The headers to be added to an attempt that sends `headers`. May throw std::bad_alloc.
  virtual std::vector<HttpHeader> sign(const WebRequest& request,
                                       const std::vector<HttpHeader>& headers) const = 0;
  /// Changes whenever the credentials do.
  virtual std::uint64_t version() const { return 0; }
  /// The credentials are known to be too old.
  virtual bool has_expired() const { return false; }
  /// Looks up the credentials again, unless those of `version` have been replaced already, and then
  /// calls `done` once, in any thread. Must not block.
  virtual void renew(std::uint64_t version, const std::function<void()>& done) {
    static_cast<void>(version);
    done();
  }
  /// Ends what renew() has begun. No `done` is called after stop() has returned.
  virtual void stop() {}
};

}  // namespace bloscfs::frame::inline remote
