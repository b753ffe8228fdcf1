#include "frame/remote/remote_object.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <xxhash.h>

#include "frame/remote/remote_error.hpp"
#include "frame/store/wait_context.hpp"

namespace bloscfs::frame::inline remote {
namespace {

constexpr std::uint32_t kLargestWhole = 8 << 20;

FileStamp make_stamp(const ObjectState& state) {
  FileStamp stamp;
  stamp.inode = XXH3_64bits(state.tag.data(), state.tag.size());
  stamp.size = static_cast<std::int64_t>(state.size);
  stamp.mtime_s = state.modified;
  return stamp;
}

/// Sends the first request. If the object is empty, sends it again without a range: the 416 for the
/// first byte need not report the object's state.
HttpAnswer first_answer(HttpClient& client, RangeRequest request) {
  HttpAnswer answer = client.send(request).wait();
  if (answer.headers.status != kHttpBadRange || !answer.headers.etag.empty()) return answer;
  request.size = 0;
  try {
    return client.send(std::move(request)).wait();
  } catch (const RemoteError& error) {
    const bool tells_size = answer.headers.range && answer.headers.range->total == 0;
    // The object may have been removed since the first answer.
    if (!tells_size || error.code() == std::errc::no_such_file_or_directory) throw;
    return answer;
  }
}

std::shared_ptr<FetchSource> make_fetch_source(HttpClient& client, HttpPlace place,
                                               const HttpAnswer& first,
                                               std::shared_ptr<Traffic> traffic,
                                               std::shared_ptr<const CachedObject> cached) {
  auto source = std::make_shared<FetchSource>();
  source->requests = std::make_shared<ObjectRequests>(client, std::move(place), first);
  source->traffic = std::move(traffic);
  source->cached = std::move(cached);
  return source;
}

/// Stores an answer from the server in the cache. Returns null if the object is not cached. Objects
/// that come whole, because the server sends no ranges, are not cached: they would come whole
/// again.
std::shared_ptr<const CachedObject> keep_answer(const std::shared_ptr<DiskCache>& cache,
                                                const Url& url, const HttpAnswer& first) {
  const AnswerHeaders& headers = first.headers;
  if (!cache || !is_strong(headers.etag) || headers.status != kHttpPartial) return nullptr;
  auto cached =
      std::make_shared<const CachedObject>(cache, url, headers.etag, state_of(first).size);
  cached->keep(0, first.body);
  cache_first(cache, url, headers);
  return cached;
}

/// Returns what stays in memory while the object is open: its first bytes, or all of an object that
/// came whole.
std::vector<std::uint8_t> beginning_of(const HttpAnswer& first) {
  const std::vector<std::uint8_t>& body = first.body;
  if (first.headers.status != kHttpPartial || body.size() <= kFirstBytes) return body;
  return {body.begin(), body.begin() + kFirstBytes};
}

}  // namespace

RangeRequest first_request(HttpPlace place, std::uint32_t size, const AnswerHeaders* known) {
  RangeRequest request;
  request.place = std::move(place);
  request.size = size;
  request.whole_size = kLargestWhole;
  if (known == nullptr) return request;
  request.if_none_match = known->etag;
  if (request.if_none_match.empty()) request.if_modified_since = known->last_modified;
  return request;
}

std::shared_ptr<const RemoteObject> RemoteObject::open(
    std::shared_ptr<HttpClient> client, HttpPlace place,
    const std::shared_ptr<const RemoteObject>& known, std::shared_ptr<Traffic> traffic,
    const std::shared_ptr<DiskCache>& cache) {
  Interruption::before_wait();
  if (!traffic) traffic = std::make_shared<Traffic>();
  std::optional<CachedFirst> earlier;
  if (cache && !known) earlier = find_first(cache, place.url);
  const AnswerHeaders* of_known = earlier ? &earlier->headers : nullptr;
  if (known) of_known = &known->source_->requests->headers();
  HttpAnswer first = first_answer(*client, first_request(place, kFirstBytes, of_known));
  traffic->note_request(first.body.size());
  if (known) {
    if (first.headers.status == kHttpNotModified) return known;
    // Servers may ignore conditions, and send an object that has not changed.
    if (state_of(first).same_bytes(known->state())) return known;
  }
  return make(std::move(client), std::move(place), std::move(first), {}, std::move(earlier),
              std::move(traffic), cache);
}

std::shared_ptr<const RemoteObject> RemoteObject::make(std::shared_ptr<HttpClient> client,
                                                       HttpPlace place, HttpAnswer first,
                                                       std::vector<HttpAnswer> more,
                                                       std::optional<CachedFirst> earlier,
                                                       std::shared_ptr<Traffic> traffic,
                                                       const std::shared_ptr<DiskCache>& cache) {
  std::shared_ptr<const CachedObject> cached;
  if (first.headers.status == kHttpNotModified && earlier) {
    first.headers = std::move(earlier->headers);
    first.body = std::move(earlier->body);
    cached = std::move(earlier->object);
  } else {
    cached = keep_answer(cache, place.url, first);
  }
  // Only the first 64 KiB stay in memory. The bytes after them go into a window.
  if (first.headers.status == kHttpPartial && first.body.size() > kFirstBytes) {
    more.insert(more.begin(), first);
  }
  const std::shared_ptr<RemoteObject> object(new RemoteObject(
      std::move(client), std::move(place), first, std::move(traffic), std::move(cached)));
  object->add(std::move(more));
  return object;
}

void RemoteObject::add(std::vector<HttpAnswer> more) {
  for (HttpAnswer& answer : more) {
    try {
      source_->requests->accept(answer);
    } catch (const RemoteError&) {
      continue;
    }
    const std::uint64_t begin = answer.headers.range->first;
    const std::size_t known = begin < first_.size() ? first_.size() - begin : 0;
    if (known >= answer.body.size()) continue;
    answer.body.erase(answer.body.begin(),
                      answer.body.begin() + static_cast<std::ptrdiff_t>(known));
    windows_->insert(begin + known, std::move(answer.body));
  }
}

RemoteObject::RemoteObject(std::shared_ptr<HttpClient> client, HttpPlace place,
                           const HttpAnswer& first, std::shared_ptr<Traffic> traffic,
                           std::shared_ptr<const CachedObject> cached)
    : client_(std::move(client)),
      source_(make_fetch_source(*client_, std::move(place), first, std::move(traffic),
                                std::move(cached))),
      stamp_(make_stamp(state())),
      first_(beginning_of(first)),
      windows_(std::make_shared<ObjectWindows>(source_, first_.size())) {}

RemoteObject::~RemoteObject() {
  // A thread in Traffic::pump() may still own ranges of this object for a moment.
  source_->requests->detach();
  windows_.reset();
  // The cancelled transfers make room for others.
  source_->traffic->pump();
}

std::size_t RemoteObject::read_at(std::uint64_t offset, MutableBytes out) const {
  if (offset >= size() || out.empty()) return 0;
  const std::size_t wanted =
      static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), state().size - offset));
  std::size_t known = 0;
  if (offset < first_.size()) {
    known = std::min(wanted, first_.size() - static_cast<std::size_t>(offset));
    std::copy_n(first_.begin() + static_cast<std::ptrdiff_t>(offset), known, out.begin());
    if (!is_in_memory()) windows_->note_read(offset, known);
  }
  if (known < wanted) windows_->read(offset + known, out.subspan(known, wanted - known));
  source_->traffic->reads().reads++;
  source_->traffic->reads().bytes += wanted;
  return wanted;
}

void RemoteObject::expect(std::span<const ByteRange> ranges) const {
  if (!is_in_memory()) windows_->expect(ranges);
}

bool RemoteObject::is_available(std::span<const ByteRange> ranges) const {
  return is_in_memory() || windows_->is_available(ranges);
}

}  // namespace bloscfs::frame::inline remote
