#include "frame/remote/s3_bucket.hpp"

#include <algorithm>
#include <cerrno>
#include <random>
#include <string_view>

#include <fmt/core.h>

#include "frame/python/utf8.hpp"
#include "frame/remote/digests.hpp"
#include "frame/remote/object_requests.hpp"
#include "frame/remote/percent.hpp"
#include "frame/remote/remote_error.hpp"
#include "frame/remote/s3_signature.hpp"
#include "frame/store/wait_context.hpp"

namespace bloscfs::frame::inline remote {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kMetadata = "x-amz-meta-";
/// Limit for the body of an answer other than a listing.
constexpr std::uint32_t kMaxOutcome = std::uint32_t{64} << 10;
constexpr milliseconds kFirstWait{50}, kLongestWait{2000};

bool is_success(int status) { return status >= 200 && status < 300; }

/// Encodes a value in a query. percent_encoded() is for paths.
std::string query_value(const std::string& text) {
  std::string result;
  for (const char c : percent_encoded(text))
    result += c == '/' ? std::string("%2F") : std::string(1, c);
  return result;
}

enum class Outcome : std::uint8_t {
  final,
  not_done,    ///< the store did not carry out the request; a retry may succeed
  may_be_done  ///< the store failed, perhaps after carrying out the request
};

/// Some stores report a failure with status 200 or 400. HttpClient retries the statuses that mean a
/// temporary failure.
Outcome outcome_of(const HttpAnswer& answer) {
  if (answer.headers.status == kHttpConflict) return Outcome::not_done;
  if (answer.headers.status != kHttpOk && answer.headers.status != kHttpBadRequest)
    return Outcome::final;
  const std::string code = parse_s3_problem(answer.body).code;
  if (code == kS3SlowDown) return Outcome::not_done;
  const bool has_failed =
      code == "InternalError" || code == "ServiceUnavailable" || code == "RequestTimeout";
  return has_failed ? Outcome::may_be_done : Outcome::final;
}

/// True if the object store does not know the request, or one of its headers.
bool is_unknown_request(const HttpAnswer& answer) {
  const int status = answer.headers.status;
  return status == kHttpNotImplemented || status == 405 ||
         (status == kHttpBadRequest && parse_s3_problem(answer.body).code == "NotImplemented");
}

void wait_a_while(int attempts) {
  static thread_local std::mt19937 random{std::random_device{}()};
  const milliseconds full = std::min(kLongestWait, kFirstWait * (1 << std::min(attempts, 8)));
  std::uniform_int_distribution pauses(full.count() / 2, full.count());
  Interruption::pause(milliseconds(pauses(random)));
}

void add_metadata(WebRequest& request, const S3Bucket::Metadata& metadata) {
  const auto in_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  const auto in_value = [](char c) { return c >= ' ' && c < 0x7F; };
  for (const auto& [name, value] : metadata) {
    if (!std::all_of(name.begin(), name.end(), in_name) ||
        !std::all_of(value.begin(), value.end(), in_value))
      throw RemoteError(EINVAL, "metadata can only be plain ASCII text");
    request.headers.push_back({std::string(kMetadata) + name, value});
  }
}

/// True if XML can express the key.
bool may_stand_in_xml(const std::string& key) {
  return is_utf8(key) && std::none_of(key.begin(), key.end(),
                                      [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

std::string escaped(const std::string& key) {
  std::string text;
  for (const char c : key)
    text += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return text;
}

int errno_of(int status, const std::string& code) {
  if (status == kHttpNotFound) return ENOENT;
  if (status == 401 || status == 403) return EACCES;
  return code == "ExpiredToken" || code == "InvalidToken" ? EACCES : EIO;
}

}  // namespace

S3Bucket::S3Bucket(S3Address address, std::shared_ptr<HttpClient> client, milliseconds retry_time)
    : address_(std::move(address)), client_(std::move(client)), retry_time_(retry_time) {}

WebRequest S3Bucket::request(HttpMethod method, const Url& url) const {
  WebRequest result;
  result.method = method;
  result.place.url = url;
  result.whole_size = kMaxOutcome;
  result.takes_errors = true;
  return result;
}

void S3Bucket::set_condition(WebRequest& request, const ObjectCondition& condition) const {
  if (condition.kind == ObjectCondition::Kind::absent) request.if_none_match = "*";
  if (condition.kind != ObjectCondition::Kind::same) return;
  const std::string etag = quoted_etag(condition.state.tag);
  if (etag.empty()) throw RemoteError(EIO, "the object has no ETag");
  request.if_match = capabilities_.bare_etag ? etag.substr(1, etag.size() - 2) : etag;
}

HttpAnswer S3Bucket::ask(const WebRequest& request) const {
  const auto end =
      wait_clock().now() + (request.retries ? retry_time_ : std::min(retry_time_, kRetriesOfOnce));
  for (int attempts = 0;; attempts++) {
    HttpAnswer answer = client_->send(request).wait();
    const Outcome outcome = outcome_of(answer);
    if (outcome == Outcome::final) return answer;
    if (outcome == Outcome::may_be_done && !request.retries) fail(answer);
    if (wait_clock().now() >= end) fail(answer);
    wait_a_while(attempts);
  }
}

void S3Bucket::fail(const HttpAnswer& answer) const {
  const int status = answer.headers.status;
  const S3Problem problem = parse_s3_problem(answer.body);
  if (problem.code == "NoSuchBucket")
    throw RemoteError(ENOENT, "the bucket " + address_.bucket() + " does not exist");
  throw RemoteError(errno_of(status, problem.code),
                    describe_problem(status, answer.body, answer.credentials));
}

S3Page S3Bucket::list(const Wanted& keys, MemoryCharge& charge) const {
  std::string query = "?";
  if (!keys.token.empty()) query += "continuation-token=" + query_value(keys.token) + "&";
  if (!keys.is_flat) query += "delimiter=%2F&";
  query += fmt::format("encoding-type=url&list-type=2&max-keys={}&prefix={}", keys.most,
                       query_value(keys.prefix));
  if (!keys.start_after.empty()) query += "&start-after=" + query_value(keys.start_after);
  WebRequest wanted = request(HttpMethod::get, address_.whole_bucket(query));
  wanted.whole_size = kMaxListing;
  const AnswerMemory::Closer memory(charge);
  wanted.memory = memory.get();
  const HttpAnswer answer = ask(wanted);
  if (!is_success(answer.headers.status)) fail(answer);
  return parse_s3_listing(answer.body, keys.prefix, charge);
}

std::optional<ObjectState> S3Bucket::state(const std::string& key) const {
  WebRequest wanted = request(HttpMethod::get, address_.object(key));
  wanted.size = 1;
  HttpAnswer answer = ask(wanted);
  if (answer.headers.status == kHttpBadRange) {
    // An empty object has no first byte, and its 416 need not report its state.
    wanted.size = 0;
    answer = ask(wanted);
  }
  if (answer.headers.status == kHttpNotFound &&
      parse_s3_problem(answer.body).code != "NoSuchBucket")
    return std::nullopt;
  if (!is_success(answer.headers.status)) fail(answer);
  return state_of(answer);
}

std::optional<ObjectState> S3Bucket::put(const std::string& key, Bytes bytes,
                                         const ObjectCondition& condition,
                                         const Metadata& metadata) const {
  WebRequest wanted = request(HttpMethod::put, address_.object(key));
  wanted.body.assign(bytes.begin(), bytes.end());
  wanted.headers.push_back({kContentHash, content_hash(bytes)});
  add_metadata(wanted, metadata);
  set_condition(wanted, condition);
  const HttpAnswer answer = ask(wanted);
  const int status = answer.headers.status;
  if (status == kHttpConditionFailed) return std::nullopt;
  // Some stores answer 404 to If-Match if the object no longer exists.
  if (status == kHttpNotFound && !wanted.if_match.empty() &&
      parse_s3_problem(answer.body).code == "NoSuchKey")
    return std::nullopt;
  if (!is_success(status)) fail(answer);
  ObjectState state;
  state.tag = quoted_etag(answer.headers.etag);
  if (state.tag.empty()) throw RemoteError(EIO, "the answer to PUT has no ETag");
  state.size = bytes.size();
  state.metadata = metadata;
  return state;
}

bool S3Bucket::remove(const std::string& key, const ObjectCondition& condition,
                      Sending sending) const {
  WebRequest wanted = request(HttpMethod::remove, address_.object(key));
  wanted.retries = sending == Sending::retry_if_lost;
  set_condition(wanted, condition);
  const HttpAnswer answer = ask(wanted);
  const int status = answer.headers.status;
  if (status == kHttpConditionFailed) return false;
  if (!wanted.if_match.empty() && is_unknown_request(answer))
    throw RemoteError(EOPNOTSUPP, describe_problem(status, answer.body));
  if (status == kHttpNotFound && parse_s3_problem(answer.body).code != "NoSuchBucket")
    // An object that does not exist does not have the state that the condition names.
    return condition.kind != ObjectCondition::Kind::same;
  if (!is_success(status)) fail(answer);
  return true;
}

void S3Bucket::remove_all(std::span<const std::string> keys) const {
  keys = keys.first(std::min(keys.size(), kMostRemoved));
  std::string body = "<Delete><Quiet>true</Quiet>";
  std::size_t count = 0;
  if (removes_many_)
    for (const std::string& key : keys) {
      if (!may_stand_in_xml(key)) continue;
      body += "<Object><Key>" + escaped(key) + "</Key></Object>";
      count++;
    }
  body += "</Delete>";
  if (count > 0 && !post_removal(body)) {
    removes_many_ = false;
    count = 0;
  }
  if (count == keys.size()) return;
  for (const std::string& key : keys)
    if (count == 0 || !may_stand_in_xml(key)) remove(key, {}, Sending::once);
}

bool S3Bucket::post_removal(const std::string& body) const {
  const Bytes bytes{reinterpret_cast<const std::uint8_t*>(body.data()), body.size()};
  WebRequest wanted = request(HttpMethod::post, address_.whole_bucket("?delete="));
  wanted.retries = false;
  wanted.whole_size = kMaxListing;
  wanted.body.assign(bytes.begin(), bytes.end());
  wanted.headers.push_back({kContentHash, content_hash(bytes)});
  wanted.headers.push_back({"Content-MD5", base64_of_md5(bytes)});
  wanted.headers.push_back({"Content-Type", "application/xml"});
  const HttpAnswer answer = ask(wanted);
  if (is_unknown_request(answer)) return false;
  if (!is_success(answer.headers.status)) fail(answer);
  return true;
}

void S3Bucket::copy(const std::string& from, const std::string& to) const {
  WebRequest wanted = request(HttpMethod::put, address_.object(to));
  wanted.headers.push_back({"x-amz-copy-source", address_.copy_source(from)});
  const HttpAnswer answer = ask(wanted);
  // A copy may fail after the object store has sent status 200.
  if (!is_success(answer.headers.status) || !parse_s3_copy(answer.body)) fail(answer);
}

}  // namespace bloscfs::frame::inline remote
