#include "frame/remote/object_requests.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include <curl/curl.h>
#include <fmt/core.h>
#include <xxhash.h>

#include "frame/remote/remote_error.hpp"

namespace bloscfs::frame::inline remote {
namespace {

[[noreturn]] void throw_changed() {
  throw RemoteError(EIO, "the object has changed since it was opened");
}

/// Returns seconds since 1970, or 0 for an empty date.
std::int64_t seconds_of(const std::string& date) {
  return date.empty() ? 0 : std::max<std::int64_t>(0, ::curl_getdate(date.c_str(), nullptr));
}

/// Returns an entity tag without the mark of a weak one.
std::string_view opaque(std::string_view etag) {
  return etag.starts_with("W/") ? etag.substr(2) : etag;
}

std::uint64_t reported_size(const HttpAnswer& first) {
  const AnswerHeaders& headers = first.headers;
  if (headers.status == kHttpPartial) return headers.range->total;
  if (headers.status == kHttpOk) return first.body.size();
  // An empty object has no first byte.
  if (headers.status == kHttpBadRange && headers.range && headers.range->total == 0) return 0;
  throw RemoteError(EIO, fmt::format("HTTP status {} for the first bytes", headers.status));
}

/// How much of the beginning own_tag() uses. Every first request asks for at least this much, so
/// that all get the same tag.
constexpr std::size_t kBeginning = 64 << 10;

/// Returns a tag for an object for which the server sends neither ETag nor date: a hash of its
/// beginning, or of the whole object if that came at once. Apart from the size, nothing else tells
/// its states apart.
std::string own_tag(const HttpAnswer& first, std::uint64_t size) {
  const bool is_whole = first.body.size() == size;
  const std::size_t seen = is_whole ? first.body.size() : std::min(first.body.size(), kBeginning);
  const XXH128_hash_t sum = XXH3_128bits(first.body.data(), seen);
  return fmt::format("{}-{:016x}{:016x}", is_whole ? "contents" : "beginning", sum.high64,
                     sum.low64);
}

/// Adds the date to a weak tag, because another state of the object may have the same weak tag.
std::string tag_of(const HttpAnswer& first, std::uint64_t size) {
  const AnswerHeaders& headers = first.headers;
  if (is_strong(headers.etag)) return headers.etag;
  if (!headers.etag.empty()) return headers.etag + " " + headers.last_modified;
  return headers.last_modified.empty() ? own_tag(first, size) : headers.last_modified;
}

}  // namespace

ObjectState state_of(const HttpAnswer& first) {
  ObjectState state;
  state.size = reported_size(first);
  state.tag = tag_of(first, state.size);
  state.metadata = first.headers.metadata();
  state.modified = seconds_of(first.headers.last_modified);
  state.server_time = seconds_of(first.headers.date);
  return state;
}

ObjectRequests::ObjectRequests(HttpClient& client, HttpPlace home, const HttpAnswer& first)
    : home_(std::move(home)),
      headers_(first.headers),
      state_(state_of(first)),
      client_(&client),
      place_(first.place) {}

RangeRequest ObjectRequests::request_for(std::uint64_t offset, std::size_t size) const {
  RangeRequest request;
  {
    const std::lock_guard guard(mutex_);
    request.place = place_;
  }
  request.offset = offset;
  request.size = static_cast<std::uint32_t>(size);
  if (is_strong(headers_.etag))
    request.if_match = headers_.etag;
  else
    request.if_unmodified_since = headers_.last_modified;
  return request;
}

RangeRequest ObjectRequests::with_original_url(RangeRequest request) const {
  request.place = home_;
  return request;
}

PendingAnswer ObjectRequests::send(RangeRequest request, std::function<void()> on_done,
                                   std::function<void(bool)> on_paused) const {
  const std::lock_guard guard(mutex_);
  if (client_ == nullptr) throw RemoteError(ECANCELED, "given up");
  return client_->send(std::move(request), std::move(on_done), std::move(on_paused));
}

void ObjectRequests::detach() {
  const std::lock_guard guard(mutex_);
  client_ = nullptr;
}

/// Servers may ignore conditions, so this compares the answer's tag and date, too. It ignores
/// whether a tag is weak: a tag that is weak now may be strong a second later.
void ObjectRequests::accept(const HttpAnswer& answer) {
  const AnswerHeaders& headers = answer.headers;
  if (headers.status != kHttpPartial || headers.range->total != size()) throw_changed();
  if (opaque(headers.etag) != opaque(headers_.etag)) throw_changed();
  // Several servers may have copies of an object with one strong tag and different dates.
  if (!is_strong(headers_.etag) && headers.last_modified != headers_.last_modified) throw_changed();
  const std::lock_guard guard(mutex_);
  place_ = answer.place;
}

}  // namespace bloscfs::frame::inline remote
