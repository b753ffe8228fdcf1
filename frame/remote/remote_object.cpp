#include "frame/remote/remote_object.hpp"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include <curl/curl.h>
#include <xxhash.h>

#include "frame/remote/remote_error.hpp"

namespace bloscfs::frame {
namespace {

constexpr std::size_t kWindowSize = std::size_t{64} << 10;
constexpr int kMostDoublings = 4;
constexpr std::size_t kLargestWindow = kWindowSize << kMostDoublings;
constexpr std::size_t kKeptWindows = 16;
constexpr std::size_t kLargestRange = std::size_t{8} << 20;
/// Ranges of one large read that are under way at once.
constexpr std::size_t kRangesAtOnce = 4;

[[noreturn]] void throw_changed() {
  throw RemoteError(EIO, "the object has changed since it was opened");
}

/// An entity tag without its mark of weakness.
std::string_view opaque(std::string_view etag) {
  return etag.starts_with("W/") ? etag.substr(2) : etag;
}

FileStamp make_stamp(const AnswerHeaders& state, std::uint64_t size) {
  FileStamp stamp;
  const std::string& told = state.etag.empty() ? state.last_modified : state.etag;
  const std::string_view opaque_told = opaque(told);
  stamp.inode = XXH3_64bits(opaque_told.data(), opaque_told.size());
  stamp.size = static_cast<std::int64_t>(size);
  if (!state.last_modified.empty())
    stamp.mtime_s = std::max<std::int64_t>(0, curl_getdate(state.last_modified.c_str(), nullptr));
  return stamp;
}

std::uint64_t size_told(const HttpAnswer& first) {
  const AnswerHeaders& headers = first.headers;
  if (headers.status == kHttpPartial) return headers.range->total;
  if (headers.status != kHttpBadRange) return first.body.size();
  // An empty object has no first byte.
  if (headers.range && headers.range->total == 0) return 0;
  throw RemoteError(EIO, "HTTP status 416 for the first bytes");
}

/// The place that was remembered leads nowhere any more: it may have been good for a while only.
bool is_refusal(const RemoteError& error) {
  return error.code() == std::errc(EACCES) || error.code() == std::errc(ENOENT);
}

}  // namespace

/// A range that one thread fetches and others wait for.
class RemoteObject::Window {
 public:
  /// `run`: how many windows before it were read in a row.
  Window(std::uint64_t begin, std::uint64_t end, int run) : begin_(begin), end_(end), run_(run) {}

  std::uint64_t end() const { return end_; }
  int run() const { return run_; }
  bool holds(std::uint64_t offset) const { return offset >= begin_ && offset < end_; }

  /// Copies bytes that it holds. All who wait get the error of the one who fetched.
  void read(const RemoteObject& object, std::uint64_t offset, MutableBytes out) {
    {
      const std::lock_guard guard(mutex_);
      if (error_ != 0) throw RemoteError(error_, why_);
      if (bytes_.empty()) fetch(object);
    }
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset - begin_), out.size(),
                out.begin());
  }

 private:
  void fetch(const RemoteObject& object) {
    try {
      bytes_ = object.fetch(begin_, static_cast<std::size_t>(end_ - begin_)).body;
    } catch (const RemoteError& error) {
      error_ = error.code().value();
      why_ = error.explanation();
      throw;
    }
  }

  const std::uint64_t begin_, end_;
  const int run_;
  std::mutex mutex_;
  int error_ = 0;  ///< what went wrong, and why; 0: nothing
  std::string why_;
  std::vector<std::uint8_t> bytes_;  ///< does not change once it is there
};

std::shared_ptr<RemoteObject> RemoteObject::open(std::shared_ptr<HttpClient> client,
                                                 const Url& url) {
  RangeRequest request;
  request.place.url = url;
  request.size = kWindowSize;
  request.whole_size = kLargestRange;
  HttpAnswer first = client->get(std::move(request)).wait();
  if (first.headers.status == kHttpConditionFailed)
    throw RemoteError(EIO, "HTTP status 412, though there was no condition");
  return std::shared_ptr<RemoteObject>(new RemoteObject(std::move(client), url, std::move(first)));
}

RemoteObject::RemoteObject(std::shared_ptr<HttpClient> client, const Url& url, HttpAnswer first)
    : client_(std::move(client)), url_(url) {
  size_ = size_told(first);
  state_ = std::move(first.headers);
  stamp_ = make_stamp(state_, size_);
  first_ = std::move(first.body);
  place_ = std::move(first.place);
}

HttpPlace RemoteObject::place() const {
  const std::lock_guard guard(mutex_);
  return place_;
}

RangeRequest RemoteObject::request_for(std::uint64_t offset, std::size_t size) const {
  RangeRequest request;
  request.place = place();
  request.offset = offset;
  request.size = static_cast<std::uint32_t>(size);
  if (is_strong(state_.etag))
    request.if_match = state_.etag;
  else
    request.if_unmodified_since = state_.last_modified;
  return request;
}

/// Servers may ignore conditions. What is weak now may be strong a second later.
void RemoteObject::check_state(const AnswerHeaders& headers) const {
  if (headers.status != kHttpPartial || headers.range->total != size_) throw_changed();
  if (opaque(headers.etag) != opaque(state_.etag)) throw_changed();
  // Copies of one object may have times of their own.
  if (!is_strong(state_.etag) && headers.last_modified != state_.last_modified) throw_changed();
}

HttpAnswer RemoteObject::finish(PendingAnswer& pending, const RangeRequest& request) const {
  std::optional<HttpAnswer> answer;
  try {
    answer = pending.wait();
  } catch (const RemoteError& error) {
    if (!is_refusal(error) || request.place.url == url_) throw;
    RangeRequest again = request;
    again.place = {url_, false};
    answer = client_->get(std::move(again)).wait();
    const std::lock_guard guard(mutex_);
    place_ = answer->place;
  }
  check_state(answer->headers);
  return std::move(*answer);
}

HttpAnswer RemoteObject::fetch(std::uint64_t offset, std::size_t size) const {
  const RangeRequest request = request_for(offset, size);
  PendingAnswer pending = client_->get(request);
  return finish(pending, request);
}

std::size_t RemoteObject::read_at(std::uint64_t offset, MutableBytes out) const {
  if (offset >= size_ || out.empty()) return 0;
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - offset));
  MutableBytes wanted = out.first(size);
  if (offset < first_.size()) {
    const auto known = std::min(size, first_.size() - static_cast<std::size_t>(offset));
    std::copy_n(first_.begin() + static_cast<std::ptrdiff_t>(offset), known, wanted.begin());
    offset += known;
    wanted = wanted.subspan(known);
  }
  if (wanted.size() < kLargestWindow)
    read_small(offset, wanted);
  else
    read_large(offset, wanted);
  return size;
}

void RemoteObject::read_large(std::uint64_t offset, MutableBytes out) const {
  struct Part {
    RangeRequest request;
    PendingAnswer pending;
  };
  std::deque<Part> parts;
  std::size_t asked = 0;
  for (std::size_t done = 0; done < out.size();) {
    while (asked < out.size() && parts.size() < kRangesAtOnce) {
      const std::size_t size = std::min(kLargestRange, out.size() - asked);
      RangeRequest request = request_for(offset + asked, size);
      PendingAnswer pending = client_->get(request);
      parts.push_back({std::move(request), std::move(pending)});
      asked += size;
    }
    const HttpAnswer answer = finish(parts.front().pending, parts.front().request);
    parts.pop_front();
    std::copy(answer.body.begin(), answer.body.end(),
              out.begin() + static_cast<std::ptrdiff_t>(done));
    done += answer.body.size();
  }
}

void RemoteObject::read_small(std::uint64_t offset, MutableBytes out) const {
  while (!out.empty()) {
    const WindowPointer window = window_for(offset, out.size());
    const auto part =
        static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), window->end() - offset));
    try {
      window->read(*this, offset, out.first(part));
    } catch (const std::exception&) {
      forget(window);
      throw;
    }
    offset += part;
    out = out.subspan(part);
  }
}

/// One that holds the byte at `offset`; a new one holds all `size` bytes from there on.
RemoteObject::WindowPointer RemoteObject::window_for(std::uint64_t offset, std::size_t size) const {
  const std::lock_guard guard(mutex_);
  const auto found = std::find_if(windows_.begin(), windows_.end(),
                                  [&](const WindowPointer& some) { return some->holds(offset); });
  if (found != windows_.end()) {
    windows_.splice(windows_.begin(), windows_, found);
    return windows_.front();
  }
  windows_.push_front(new_window(offset, size));
  if (windows_.size() > kKeptWindows) windows_.pop_back();
  return windows_.front();
}

/// Whoever reads on where a window ends gets more and more at once.
RemoteObject::WindowPointer RemoteObject::new_window(std::uint64_t offset, std::size_t size) const {
  const auto before =
      std::find_if(windows_.begin(), windows_.end(),
                   [&](const WindowPointer& some) { return some->end() == offset; });
  const int run = before == windows_.end() ? 0 : (*before)->run() + 1;
  std::uint64_t begin = offset;
  // Trailer and index stand at the end, and are wanted together.
  const std::uint64_t last_begin = size_ - std::min<std::uint64_t>(size_, kWindowSize);
  if (run == 0 && size < kWindowSize)
    begin = offset >= last_begin ? last_begin : offset / kWindowSize * kWindowSize;
  const std::size_t ahead = kWindowSize << std::clamp(run - 1, 0, kMostDoublings);
  return std::make_shared<Window>(begin, std::min(std::max(offset + size, begin + ahead), size_),
                                  run);
}

/// Nothing that failed is remembered.
void RemoteObject::forget(const WindowPointer& window) const {
  const std::lock_guard guard(mutex_);
  windows_.remove(window);
}

}  // namespace bloscfs::frame
