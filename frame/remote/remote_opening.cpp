#include "frame/remote/remote_opening.hpp"

#include <algorithm>
#include <utility>

#include "frame/remote/remote_error.hpp"

namespace bloscfs::frame::inline remote {
namespace {

constexpr std::uint64_t kNearby = std::uint64_t{64} << 10;
constexpr std::uint64_t kLargestFirst = std::uint64_t{8} << 20;

std::uint64_t begin_of(const ByteRange& range) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, range.offset));
}
std::uint64_t end_of(const ByteRange& range) {
  return begin_of(range) + static_cast<std::uint64_t>(std::max<std::int64_t>(0, range.size));
}

}  // namespace

ObjectTreeNumbers numbers_of(const HttpClient& client, const Traffic& traffic) {
  const SourceCounters& reads = traffic.reads();
  return {client.requests(), client.bytes_received(), reads.reads, reads.bytes};
}

RemoteOpening::RemoteOpening(std::shared_ptr<HttpClient> client, HttpPlace place,
                             std::shared_ptr<Traffic> traffic, std::shared_ptr<DiskCache> cache,
                             std::span<const ByteRange> ranges, const void* group)
    : client_(std::move(client)),
      place_(std::move(place)),
      traffic_(std::move(traffic)),
      cache_(std::move(cache)),
      group_(group),
      expected_(ranges.begin(), ranges.end()) {
  if (cache_) earlier_ = find_first(cache_, place_.url);
  fetch_ = std::make_shared<FirstFetch>(*client_, traffic_, requests_for(ranges));
  traffic_->add(group_, fetch_, false);
  traffic_->sweep().watch(fetch_);
  traffic_->pump();
}

RemoteOpening::~RemoteOpening() { fetch_->detach(); }

/// Returns requests for the beginning, as far as it is wanted, and for one range further on.
std::vector<RangeRequest> RemoteOpening::requests_for(std::span<const ByteRange> ranges) const {
  std::vector<ByteRange> wanted(ranges.begin(), ranges.end());
  std::sort(wanted.begin(), wanted.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.offset < b.offset; });
  std::uint64_t end = kFirstBytes, far_begin = 0, far_end = 0;
  for (const ByteRange& range : wanted) {
    if (begin_of(range) <= end + kNearby) {
      end = std::max(end, end_of(range));
    } else if (far_end == 0 || begin_of(range) <= far_end + kNearby) {
      if (far_end == 0) far_begin = begin_of(range);
      far_end = std::max(far_end, end_of(range));
    }
  }
  end = std::min(end, kLargestFirst);
  far_end = std::min(far_end, far_begin + kLargestFirst);
  // Only the first answer tells whether the object still has the state in the cache. If it has, no
  // more than its first bytes are needed from the server.
  const AnswerHeaders* known = earlier_ ? &earlier_->headers : nullptr;
  if (known != nullptr) end = kFirstBytes;
  // Only whole pieces are kept on disk.
  if (cache_) end = (end + kFirstBytes - 1) / kFirstBytes * kFirstBytes;
  std::vector<RangeRequest> requests{first_request(place_, static_cast<std::uint32_t>(end), known)};
  if (far_end > 0 && !cache_) {
    RangeRequest& far = requests.emplace_back();
    far.place = place_;
    far.offset = far_begin;
    far.size = static_cast<std::uint32_t>(far_end - far_begin);
  }
  return requests;
}

std::shared_ptr<const RemoteObject> RemoteOpening::make_object() const {
  FirstFetch::Answers answers = fetch_->take();
  if (answers.empty()) return nullptr;
  HttpAnswer first = std::move(*answers.front());
  const int status = first.headers.status;
  const bool is_known = status == kHttpNotModified && earlier_;
  if (!is_known && status != kHttpPartial && status != kHttpOk) return nullptr;
  std::vector<HttpAnswer> more;
  for (std::size_t i = 1; i < answers.size(); i++)
    if (answers[i] && answers[i]->headers.status == kHttpPartial)
      more.push_back(std::move(*answers[i]));
  return RemoteObject::make(client_, place_, std::move(first), std::move(more),
                            std::exchange(earlier_, std::nullopt), traffic_, cache_);
}

std::shared_ptr<const RemoteObject> RemoteOpening::object() const {
  const std::lock_guard guard(mutex_);
  if (object_ || !fetch_->has_arrived()) return object_;
  object_ = make_object();
  // Request what did not fit into the first requests, and what was announced after them.
  if (object_ && !expected_.empty()) object_->expect(expected_);
  return object_;
}

std::shared_ptr<const ObjectSource> RemoteOpening::wait() {
  if (auto there = object()) return there;
  traffic_->make_urgent(group_, *fetch_);
  traffic_->pump();
  fetch_->wait();
  if (auto there = object()) return there;
  // The fetch has failed, or its answers were dropped.
  auto opened = RemoteObject::open(client_, place_, nullptr, traffic_, cache_);
  const std::lock_guard guard(mutex_);
  if (!object_) object_ = std::move(opened);
  return object_;
}

bool RemoteOpening::is_lost() const {
  const std::lock_guard guard(mutex_);
  return !object_ && fetch_->is_lost();
}

void RemoteOpening::expect(std::span<const ByteRange> ranges) {
  if (const auto there = object()) return there->expect(ranges);
  const std::lock_guard guard(mutex_);
  constexpr std::size_t kMostExpected = 256;
  if (expected_.size() < kMostExpected)
    expected_.insert(expected_.end(), ranges.begin(), ranges.end());
}

bool RemoteOpening::is_available(std::span<const ByteRange> ranges) const {
  const auto there = object();
  return there && there->is_available(ranges);
}

}  // namespace bloscfs::frame::inline remote
