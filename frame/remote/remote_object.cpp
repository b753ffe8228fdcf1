#include "frame/remote/remote_object.hpp"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

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

FileStamp make_stamp(const ObjectState& state) {
  FileStamp stamp;
  stamp.inode = XXH3_64bits(state.tag.data(), state.tag.size());
  stamp.size = static_cast<std::int64_t>(state.size);
  stamp.mtime_s = state.modified;
  return stamp;
}

RangeRequest first_request(HttpPlace place) {
  RangeRequest request;
  request.place = std::move(place);
  request.size = kWindowSize;
  request.whole_size = kLargestRange;
  return request;
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

std::shared_ptr<const RemoteObject> RemoteObject::open(
    std::shared_ptr<HttpClient> client, HttpPlace place,
    const std::shared_ptr<const RemoteObject>& known) {
  HttpAnswer first = client->get(first_request(place)).wait();
  // A state that nobody can name is never the same.
  if (known && state_of(first).same_bytes(known->state())) return known;
  return std::shared_ptr<const RemoteObject>(
      new RemoteObject(std::move(client), std::move(place), std::move(first)));
}

RemoteObject::RemoteObject(std::shared_ptr<HttpClient> client, HttpPlace place, HttpAnswer first)
    : client_(std::move(client)),
      requests_(std::make_shared<ObjectRequests>(*client_, std::move(place), first)),
      stamp_(make_stamp(state())),
      first_(std::move(first.body)) {}

HttpAnswer RemoteObject::finish(PendingAnswer& pending, const RangeRequest& request) const {
  std::optional<HttpAnswer> answer;
  try {
    answer = pending.wait();
  } catch (const RemoteError& error) {
    if (!is_refusal(error) || requests_->is_at_home(request)) throw;
    answer = client_->get(requests_->at_home(request)).wait();
  }
  requests_->accept(*answer);
  return std::move(*answer);
}

HttpAnswer RemoteObject::fetch(std::uint64_t offset, std::size_t size) const {
  const RangeRequest request = requests_->request_for(offset, size);
  PendingAnswer pending = client_->get(request);
  return finish(pending, request);
}

std::size_t RemoteObject::read_at(std::uint64_t offset, MutableBytes out) const {
  if (offset >= size() || out.empty()) return 0;
  const auto size =
      static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), state().size - offset));
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
      RangeRequest request = requests_->request_for(offset + asked, size);
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
  const std::uint64_t last_begin =
      state().size - std::min<std::uint64_t>(state().size, kWindowSize);
  if (run == 0 && size < kWindowSize)
    begin = offset >= last_begin ? last_begin : offset / kWindowSize * kWindowSize;
  const std::size_t ahead = kWindowSize << std::clamp(run - 1, 0, kMostDoublings);
  return std::make_shared<Window>(
      begin, std::min(std::max(offset + size, begin + ahead), state().size), run);
}

/// Nothing that failed is remembered.
void RemoteObject::forget(const WindowPointer& window) const {
  const std::lock_guard guard(mutex_);
  windows_.remove(window);
}

}  // namespace bloscfs::frame
