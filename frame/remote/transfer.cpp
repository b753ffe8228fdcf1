#include "frame/remote/transfer.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "frame/remote/private_address.hpp"
#include "frame/remote/s3_listing.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline remote {
namespace {

using Kind = Verdict::Kind;

/// Limit for all header lines of an answer, including interim answers.
constexpr std::size_t kMaxHeaders = std::size_t{256} << 10;
/// Limit for the body of an error or a redirect. It is read so that the connection can be kept.
constexpr std::size_t kMaxErrorBody = std::size_t{64} << 10;
constexpr long kConnectTimeout = 10'000;
/// An attempt may take this time, and a second more for this number of bytes.
constexpr long kAttemptTime = 30'000, kSlowestRate = 8192;
/// A transfer below this number of bytes a second for the stall time has failed.
constexpr long kLowSpeed = 1024;
constexpr const char* kEncoded =
    "the server compresses the answer (Content-Encoding), so its bytes are not those of the "
    "object; turn compression off for this URL on the server";
constexpr const char* kNoLength =
    "the Content-Length of the answer is not a possible size; check the server, or the proxy "
    "before it";
constexpr const char* kOtherName =
    "; the certificate is for another host; use a host name of the certificate in the URL or "
    "endpoint=";
constexpr const char* kNarrower =
    "a redirect into a private network, or to the host itself, from outside of it";

Verdict verdict(Kind kind, int error, std::string text, bool answered) {
  Verdict result;
  result.kind = kind;
  result.error = error;
  result.text = std::move(text);
  result.answered = answered;
  return result;
}

bool may_pass(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return true;
    default:
      return false;
  }
}

struct FreeUrl {
  void operator()(CURLU* url) const { ::curl_url_cleanup(url); }
};

/// Resolves `location` against `base`. Returns an empty text if that is not a URL. libcurl's own
/// result is not used, because it contains the user and password from netrc.
std::string target_of(const Url& base, const std::string& location) {
  if (location.empty()) return {};
  const std::unique_ptr<CURLU, FreeUrl> url(::curl_url());
  if (!url) throw std::bad_alloc();
  const unsigned flags = CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE | CURLU_PATH_AS_IS;
  char* text = nullptr;
  if (::curl_url_set(url.get(), CURLUPART_URL, base.text().c_str(), flags) != CURLUE_OK ||
      ::curl_url_set(url.get(), CURLUPART_URL, location.c_str(), flags) != CURLUE_OK ||
      ::curl_url_set(url.get(), CURLUPART_FRAGMENT, nullptr, 0) != CURLUE_OK ||
      ::curl_url_get(url.get(), CURLUPART_URL, &text, 0) != CURLUE_OK)
    return {};
  std::string result(text);
  ::curl_free(text);
  return result;
}

/// True if credentials for `from` may be sent to `to`.
bool same_host(const Url& from, const Url& to) {
  if (from.host != to.host) return false;
  return from.port == to.port || (!from.secure && to.secure);
}

bool may_pass(int status) {
  if (status == kHttpNotImplemented || status == 505) return false;
  return status == 408 || status == 429 || status >= 500;
}

bool is_redirect(int status) {
  return (status >= 301 && status <= 303) || status == 307 || status == 308;
}

/// Amazon's services answer expired credentials with status 400.
bool refuses_credentials(int status, Bytes body) {
  if (status == 401 || status == 403) return true;
  if (status != 400) return false;
  const std::string code = parse_s3_problem(body).code;
  return code == "ExpiredToken" || code == "InvalidToken" || code == "TokenRefreshRequired";
}

int errno_of_status(int status) {
  if (status == 404 || status == 410) return ENOENT;
  if (status == 401 || status == 403 || status == 407) return EACCES;
  return EIO;
}

template <typename Value>
void set(CURL* handle, CURLoption option, Value value) {
  const CURLcode code = ::curl_easy_setopt(handle, option, value);
  if (code == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
  if (code != CURLE_OK)
    throw std::logic_error(fmt::format("libcurl: option {}: {}", static_cast<int>(option),
                                       ::curl_easy_strerror(code)));
}

/// Some servers send a body only once its head is acknowledged (Nagle's algorithm, which Ceph's
/// gateway leaves on). The kernel would delay the acknowledgement by 40 ms.
void acknowledge_now(curl_socket_t socket) {
  constexpr int kOn = 1;
  if (socket != CURL_SOCKET_BAD)
    static_cast<void>(::setsockopt(socket, IPPROTO_TCP, TCP_QUICKACK, &kOn, sizeof kOn));
}

}  // namespace

const char* name_of(HttpMethod method) {
  switch (method) {
    case HttpMethod::get:
      return "GET";
    case HttpMethod::put:
      return "PUT";
    case HttpMethod::post:
      return "POST";
    case HttpMethod::remove:
      return "DELETE";
  }
  return "";
}

Transfer::Transfer(const WebRequest& request, HttpPlace place, const HttpSettings& settings,
                   Connections& connections)
    : request_(request),
      settings_(settings),
      connections_(connections),
      place_(std::move(place)),
      easy_(::curl_easy_init()) {
  if (!easy_) throw std::bad_alloc();
  set_options();
  set_security();
  set_callbacks();
  set_method();
  set_headers();
}

void Transfer::set_options() {
  CURL* handle = easy_.get();
  set(handle, CURLOPT_URL, place_.url.text().c_str());
  set(handle, CURLOPT_PATH_AS_IS, 1L);
  set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  set(handle, CURLOPT_FOLLOWLOCATION, 0L);
  set(handle, CURLOPT_PROXY, settings_.proxy.c_str());
  set(handle, CURLOPT_HTTPPROXYTUNNEL, settings_.proxy.empty() ? 0L : 1L);
  set(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(handle, CURLOPT_USERAGENT, "bloscfs");
  set(handle, CURLOPT_NOSIGNAL, 1L);
  // Without this, a resolver that hangs would delay a cancelled transfer, and with it all others.
  set(handle, CURLOPT_QUICK_EXIT, 1L);
  set(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  const auto size = static_cast<long>(std::max<std::size_t>(request_.size, request_.whole_size) +
                                      request_.body.size());
  set(handle, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeout);
  const auto longest = static_cast<long>(settings_.attempt_time.count());
  set(handle, CURLOPT_TIMEOUT_MS,
      longest > 0 ? longest : kAttemptTime + size / kSlowestRate * 1000);
  set(handle, CURLOPT_LOW_SPEED_LIMIT, kLowSpeed);
  set(handle, CURLOPT_LOW_SPEED_TIME, static_cast<long>(settings_.stall_time.count()));
}

void Transfer::set_security() {
  CURL* handle = easy_.get();
  set(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(handle, CURLOPT_SSL_VERIFYPEER, 1L);
  set(handle, CURLOPT_SSL_VERIFYHOST, 2L);
  if (!settings_.cafile.empty()) {
    set(handle, CURLOPT_CAINFO, settings_.cafile.c_str());
    set(handle, CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  }
  if (!settings_.netrc.empty() && !settings_.signer && !place_.left_host) {
    set(handle, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
    set(handle, CURLOPT_NETRC_FILE, settings_.netrc.c_str());
  }
}

void Transfer::set_callbacks() {
  CURL* handle = easy_.get();
  set(handle, CURLOPT_ERRORBUFFER, &error_[0]);
  set(handle, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
  set(handle, CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(handle, CURLOPT_WRITEFUNCTION, &Transfer::on_body);
  set(handle, CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(handle, CURLOPT_OPENSOCKETFUNCTION, &Transfer::on_socket);
  set(handle, CURLOPT_OPENSOCKETDATA, static_cast<void*>(this));
  connections_.take_closing(handle);
  set(handle, CURLOPT_PREREQFUNCTION, &Transfer::on_connected);
  set(handle, CURLOPT_PREREQDATA, static_cast<void*>(this));
}

void Transfer::set_method() {
  if (request_.method == HttpMethod::put || request_.method == HttpMethod::post) {
    // These options set the body. CURLOPT_CUSTOMREQUEST below sets the method.
    set(handle(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    set(handle(), CURLOPT_POSTFIELDS,
        request_.body.empty() ? "" : reinterpret_cast<const char*>(request_.body.data()));
  }
  if (request_.method != HttpMethod::get)
    set(handle(), CURLOPT_CUSTOMREQUEST, name_of(request_.method));
  // If a connection that libcurl kept turns out to be dead, libcurl sends the request again. With a
  // fresh connection it does not.
  if (!request_.retries) set(handle(), CURLOPT_FRESH_CONNECT, 1L);
}

std::vector<HttpHeader> Transfer::headers_to_send() const {
  std::vector<HttpHeader> headers = request_.headers;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) headers.push_back({name, value});
  };
  add("If-Match", request_.if_match);
  add("If-None-Match", request_.if_none_match);
  add("If-Unmodified-Since", request_.if_unmodified_since);
  add("If-Modified-Since", request_.if_modified_since);
  const std::uint64_t last = request_.offset + request_.size - 1;
  if (request_.size > 0) add("Range", fmt::format("bytes={}-{}", request_.offset, last));
  if (!place_.left_host && !settings_.bearer.empty())
    headers.push_back({"Authorization", "Bearer " + settings_.bearer});
  if (!is_signed()) return headers;
  for (HttpHeader& header : settings_.signer->sign(request_, headers))
    headers.push_back(std::move(header));
  return headers;
}

void Transfer::set_headers() {
  const auto add = [&](const std::string& line) {
    curl_slist* longer = ::curl_slist_append(header_list_.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    static_cast<void>(header_list_.release());
    header_list_.reset(longer);
  };
  // Ranges of a body that is encoded anew for each answer would not fit together.
  add("Accept-Encoding: identity");
  // Keep libcurl from pausing before a body, and from sending the content type of a form.
  add("Expect:");
  add("Content-Type:");
  for (const HttpHeader& header : headers_to_send()) {
    const std::string line = header.name + (header.value.empty() ? ";" : ": " + header.value);
    if (line.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)
      throw std::invalid_argument("a header with a line break");
    add(line);
  }
  set(handle(), CURLOPT_HTTPHEADER, header_list_.get());
}

/// Always returns false, so that callbacks can return it to end the transfer.
bool Transfer::refuse(std::string why) {
  if (!refused_) refused_ = std::move(why);
  return false;
}

std::size_t Transfer::body_limit() const {
  if (headers_.status == kHttpPartial) return request_.size;
  if (headers_.status != kHttpOk) return kMaxErrorBody;
  if (request_.method == HttpMethod::get) return request_.whole_size;
  return std::max<std::size_t>(request_.whole_size, kMaxErrorBody);
}

bool Transfer::keeps_body() const { return headers_.status < 300 || headers_.status >= 400; }

std::size_t Transfer::on_header(char* data, std::size_t, std::size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  transfer.header_bytes_ += count;
  if (transfer.header_bytes_ > kMaxHeaders) {
    transfer.refuse("an answer with endless headers");
    return 0;
  }
  const std::string_view line(data, count);
  if (line.starts_with("HTTP/")) transfer.head_is_whole_ = false;
  if (line == "\r\n" || line == "\n") {
    transfer.head_is_whole_ = true;
    acknowledge_now(transfer.socket_);
  }
  try {
    transfer.headers_.add_line(line);
    // libcurl itself refuses only some of these lengths.
    if (transfer.headers_.has_bad_length && transfer.headers_.status < 300) {
      transfer.refuse(kNoLength);
      return 0;
    }
  } catch (const std::bad_alloc&) {
    return 0;
  }
  return count;
}

/// Grows the body as a vector does. Takes the memory from request_.memory first.
bool Transfer::make_room(std::size_t count) {
  if (!request_.memory || count <= body_.capacity() - body_.size()) return true;
  const std::size_t wanted = std::max(body_.size() + count, 2 * body_.capacity());
  std::string why = "an answer that is too large to be taken";
  if (const std::error_code error = request_.memory->take(wanted, why)) {
    refusal_ = error.value();
    return refuse(std::move(why));
  }
  body_.reserve(wanted);
  request_.memory->give_back(std::exchange(body_memory_, wanted));
  return true;
}

std::size_t Transfer::on_body(char* data, std::size_t, std::size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  const int status = transfer.headers_.status;
  transfer.body_bytes_ += count;
  if (transfer.headers_.encoded && (status == kHttpOk || status == kHttpPartial)) {
    transfer.refuse(kEncoded);
    return 0;
  }
  if (transfer.body_bytes_ > transfer.body_limit()) {
    if (status == kHttpOk)
      transfer.refuse(transfer.request_.size > 0
                          ? "the server sends no ranges, and the whole is too large to be taken"
                          : "an answer that is too large to be taken");
    else if (status == kHttpPartial)
      transfer.refuse("more bytes than were asked for");
    return 0;  // for other statuses, the status alone is enough
  }
  if (!transfer.keeps_body()) return count;
  try {
    if (!transfer.make_room(count)) return 0;
    transfer.body_.insert(transfer.body_.end(), data, data + count);
  } catch (const std::bad_alloc&) {
    return 0;
  }
  return count;
}

curl_socket_t Transfer::on_socket(void* self, curlsocktype, curl_sockaddr* address) {
  auto& transfer = *static_cast<Transfer*>(self);
  if (transfer.settings_.proxy.empty() && reach_of(address->addr) < transfer.place_.reach) {
    transfer.refuse(kNarrower);
    return CURL_SOCKET_BAD;
  }
  return transfer.connections_.open(*address);
}

/// The connection may have been opened for another transfer, so its socket is found by its port.
int Transfer::on_connected(void* self, char* address, char*, int, int own_port) {
  auto& transfer = *static_cast<Transfer*>(self);
  transfer.socket_ = transfer.connections_.with_port(own_port);
  transfer.refused_.reset();  // an earlier address of the host may have been refused
  if (!transfer.settings_.proxy.empty()) return CURL_PREREQFUNC_OK;
  const Reach reach = reach_of(std::string(address));
  if (reach < transfer.place_.reach) {
    transfer.refuse(kNarrower);
    return CURL_PREREQFUNC_ABORT;
  }
  transfer.place_.reach = reach;
  return CURL_PREREQFUNC_OK;
}

Verdict Transfer::judge(CURLcode code) {
  Verdict result = judge_attempt(code);
  result.refuses_credentials =
      result.answered && is_signed() && refuses_credentials(headers_.status, body_);
  return result;
}

Verdict Transfer::judge_attempt(CURLcode code) {
  if (refused_) return verdict(Kind::final, refusal_, *refused_, headers_.status != 0);
  // The body of an error status does not matter, even if it is cut off. A redirect must be
  // complete, because its target may be cut off, unless its body was too long for this class.
  const bool says_all =
      headers_.status >= 300 && (!is_redirect(headers_.status) || code == CURLE_WRITE_ERROR);
  if (code != CURLE_OK && !says_all) return judge_failure(code);
  // libcurl takes a connection that closes within the head for an answer without a body.
  if (!head_is_whole_ && headers_.status < 400)
    return verdict(Kind::passing, EIO, "an answer whose head was cut off", headers_.status != 0);
  return judge_status();
}

Verdict Transfer::judge_failure(CURLcode code) const {
  // The callbacks of this class fail without a reason only if memory is short. libcurl returns the
  // same code for lines that are too long.
  if (code == CURLE_WRITE_ERROR)
    return verdict(Kind::final, ENOMEM, "out of memory", headers_.status != 0);
  std::string text = error_[0] != 0 ? &error_[0] : ::curl_easy_strerror(code);
  long os_error = 0;
  if (code == CURLE_COULDNT_CONNECT &&
      ::curl_easy_getinfo(easy_.get(), CURLINFO_OS_ERRNO, &os_error) == CURLE_OK && os_error != 0)
    text += fmt::format(" ({})", errno_code(static_cast<int>(os_error)).message());
  if (code == CURLE_PEER_FAILED_VERIFICATION) {
    // libcurl has one code for both problems.
    const bool is_other_name = text.find("subject name") != std::string::npos;
    text += is_other_name ? kOtherName : "; cafile names certificates to trust";
  }
  if (code == CURLE_WEIRD_SERVER_REPLY && text.find("Content-Length") != std::string::npos)
    text = kNoLength;
  if (code == CURLE_SSL_CONNECT_ERROR && text.find("wrong version number") != std::string::npos)
    text += "; the server seems to speak http:// there, not https://";
  return verdict(may_pass(code) ? Kind::passing : Kind::final, EIO, text, headers_.status != 0);
}

bool Transfer::is_answer(int status) const {
  if (status == kHttpConditionFailed) return true;
  if (status == kHttpBadRange) return request_.size > 0 || request_.takes_errors;
  if (status == kHttpNotModified)
    return !request_.if_none_match.empty() || !request_.if_modified_since.empty();
  if (status >= 400 && !may_pass(status) && request_.takes_errors) return true;
  if (request_.method == HttpMethod::get) return false;
  return (status >= 200 && status < 300) || status == kHttpConflict;
}

Verdict Transfer::judge_status() {
  const int status = headers_.status;
  if (is_answer(status)) return verdict(Kind::good, 0, {}, true);
  if (status == kHttpOk || status == kHttpPartial) return judge_bytes();
  if (is_redirect(status)) return judge_redirect();
  Verdict result = verdict(may_pass(status) ? Kind::passing : Kind::final, errno_of_status(status),
                           describe_problem(status, body_, origin()), true);
  result.not_done = status == kHttpTooMany ||
                    (status == kHttpBusy && parse_s3_problem(body_).code == kS3SlowDown);
  curl_off_t seconds = 0;
  if (::curl_easy_getinfo(handle(), CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK && seconds > 0)
    result.retry_after = std::chrono::seconds(std::min<curl_off_t>(seconds, 86'400));
  return result;
}

Verdict Transfer::judge_redirect() {
  if (is_signed() || request_.method != HttpMethod::get) {
    const std::string region = headers_.field("x-amz-bucket-region");
    return verdict(
        Kind::final, EIO,
        region.empty()
            ? fmt::format("redirected (HTTP status {}); set region= or endpoint=", headers_.status)
            : fmt::format("redirected to region {0} (HTTP status {1}); set region={0} or endpoint=",
                          region, headers_.status),
        true);
  }
  const std::string target = target_of(place_.url, headers_.location);
  if (target.empty()) return verdict(Kind::final, EIO, "a redirect without a target", true);
  Verdict result = verdict(Kind::redirect, 0, {}, true);
  try {
    result.next = {parse_url(target), place_.reach, place_.left_host};
    result.next.left_host |= !same_host(place_.url, result.next.url);
  } catch (const UrlError& error) {
    return verdict(Kind::final, EIO, std::string("a redirect that is refused: ") + error.what(),
                   true);
  }
  if (place_.url.secure && !result.next.url.secure)
    return verdict(Kind::final, EIO, "a redirect from https to http", true);
  // Servers redirect from a directory to its index page in this way.
  if (request_.size > 0 && result.next.url.path == place_.url.path + "/")
    return verdict(Kind::final, ENOENT,
                   "only a directory has this name; add '/' to the end of the URL", true);
  return result;
}

/// For status 200 and 206.
Verdict Transfer::judge_bytes() const {
  if (headers_.encoded) return verdict(Kind::final, EIO, kEncoded, true);
  return headers_.status == kHttpOk ? judge_whole() : judge_range();
}

Verdict Transfer::judge_whole() const {
  // Without a length, a connection that was cut cannot be detected.
  curl_off_t length = -1;
  ::curl_easy_getinfo(handle(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
  if (length >= 0) return verdict(Kind::good, 0, {}, true);
  if (request_.size > 0)
    return verdict(Kind::final, EIO, "the server sends no ranges, and no size", true);
  long version = 0;
  ::curl_easy_getinfo(handle(), CURLINFO_HTTP_VERSION, &version);
  if (headers_.chunked || version >= CURL_HTTP_VERSION_2_0) return verdict(Kind::good, 0, {}, true);
  return verdict(Kind::final, EIO, "the answer has no size", true);
}

Verdict Transfer::judge_range() const {
  const auto wrong = [](const std::string& what) { return verdict(Kind::final, EIO, what, true); };
  if (request_.size == 0)
    return wrong("HTTP status 206 (a range) for a request of the whole object");
  const auto& range = headers_.range;
  if (!range || !range->has_bytes) return wrong("HTTP status 206 without a range");
  const std::uint64_t end = std::min(request_.offset + request_.size, range->total);
  if (range->first != request_.offset || range->last + 1 != end)
    return wrong(
        fmt::format("the answer has bytes {} to {} of {}, which is not the requested range",
                    range->first, range->last, range->total));
  const std::uint64_t size = end - request_.offset;
  if (body_.size() > size) return wrong("more bytes than the answer says");
  if (body_.size() < size) return verdict(Kind::passing, EIO, "a short answer", true);
  return verdict(Kind::good, 0, {}, true);
}

/// The answer's body stays charged to request_.memory. The waiting thread gives it back.
HttpAnswer Transfer::take() {
  body_memory_ = 0;
  if (headers_.status >= 400 && !request_.takes_errors) body_.clear();
  return {std::move(headers_), std::move(body_), std::move(place_), origin()};
}

Transfer::~Transfer() {
  if (request_.memory) request_.memory->give_back(body_memory_);
}

}  // namespace bloscfs::frame::inline remote
