#include "frame/remote/object_windows.hpp"

#include <algorithm>
#include <utility>

namespace bloscfs::frame::inline remote {
namespace {

constexpr std::uint64_t kUnit = std::uint64_t{64} << 10;
constexpr std::size_t kLargestRange = std::size_t{8} << 20;
/// Windows of up to kSmallWindow are kept after a read, kKept bytes of them at most.
constexpr std::size_t kSmallWindow = std::size_t{256} << 10, kKept = std::size_t{1} << 20;
constexpr std::size_t kMostWindows = 512;
/// Bounds for the usual size of a range that a reader waits for.
constexpr std::size_t kSmallestInNeed = std::size_t{128} << 10,
                      kLargestInNeed = std::size_t{1} << 20;
/// The least to request ahead of a sequential reader, on any link.
constexpr std::size_t kLeastAhead = std::size_t{2} << 20;
/// An unused window is dropped after this time if no reader has read it, or if it is large.
constexpr std::chrono::milliseconds kUnwanted{2000};

}  // namespace

ObjectWindows::ObjectWindows(std::shared_ptr<FetchSource> source, std::uint64_t begin)
    : source_(std::move(source)), begin_(begin), size_(source_->requests->size()) {}

/// Returns the most bytes to request ahead of a sequential reader. Leaves an eighth of the memory
/// budget to other expected ranges.
std::size_t ObjectWindows::most_ahead() const {
  const std::size_t budget = source_->traffic->budget();
  return std::min(budget - budget / 8, std::max(4 * source_->speed.product(), kLeastAhead));
}

/// Returns the size of the ranges for a read of `size` bytes. These ranges are urgent, so they may
/// exceed the memory budget. With 16 transfers of a sixteenth of the budget each, they exceed it by
/// its own size at most. A large read gets larger ranges while the budget has room.
std::size_t ObjectWindows::range_of_read(std::size_t size) const {
  const Traffic& traffic = *source_->traffic;
  const std::size_t in_need = std::clamp(traffic.budget() / 16, kSmallestInNeed, kLargestInNeed);
  if (size <= in_need) return in_need;
  return traffic.numbers().bytes_held < traffic.budget() ? largest_range() : in_need;
}

std::size_t ObjectWindows::largest_range() const {
  return std::clamp<std::size_t>(source_->traffic->budget() / 4, kUnit, kLargestRange);
}

/// Returns the window that holds the byte, or the next one after it.
ObjectWindows::Windows::iterator ObjectWindows::find(std::uint64_t offset) {
  auto next = windows_.upper_bound(offset);
  if (next == windows_.begin()) return next;
  const auto before = std::prev(next);
  return before->second.fetch->end() > offset ? before : next;
}

/// Extends `extent` to whole pieces, because only those are kept on disk.
ReadSpan ObjectWindows::in_pieces(const ReadSpan& extent) const {
  if (!source_->cached) return extent;
  return {std::max(extent.begin / kCachePieceSize * kCachePieceSize, begin_),
          std::min((extent.end + kCachePieceSize - 1) / kCachePieceSize * kCachePieceSize, size_)};
}

/// Returns where the first piece on disk from `begin` on begins. Returns `begin` if that byte is on
/// disk.
std::uint64_t ObjectWindows::end_of_missing(std::uint64_t begin, std::uint64_t limit) const {
  std::uint64_t end = begin;
  while (end < limit && !source_->cached->has(end))
    end = (end / kCachePieceSize + 1) * kCachePieceSize;
  return std::min(end, limit);
}

/// Creates windows of at most `range` bytes for the parts of `extent` that have none. If
/// `uses_cache` is true, it leaves out what is on disk.
void ObjectWindows::fill(ReadSpan extent, std::size_t range, Fetches& fresh, bool uses_cache) {
  const auto now = Clock::now();
  extent = in_pieces(extent);
  for (std::uint64_t at = extent.begin; at < extent.end;) {
    auto next = find(at);
    // Drop failed windows, so that their bytes are requested again.
    while (next != windows_.end() && next->first < extent.end && next->second.fetch->is_lost())
      next = windows_.erase(next);
    if (next != windows_.end() && next->first <= at) {
      at = next->second.fetch->end();
      continue;
    }
    const std::uint64_t limit = next == windows_.end() ? extent.end : next->first;
    std::uint64_t end = std::min({limit, extent.end, in_pieces({at, at + range}).end});
    if (source_->cached && uses_cache) {
      end = end_of_missing(at, end);
      if (end == at) {
        at = (at / kCachePieceSize + 1) * kCachePieceSize;
        continue;
      }
    }
    fresh.push_back(std::make_shared<RangeFetch>(source_, at, end));
    windows_.emplace(at, Window{fresh.back(), 0, now});
    at = end;
  }
}

/// Widens a small read to its neighbourhood, as far as that has no windows.
ReadSpan ObjectWindows::widened(const ReadSpan& gap) const {
  ReadSpan wide{gap.begin / kUnit * kUnit, std::min((gap.end + kUnit - 1) / kUnit * kUnit, size_)};
  // Trailer and index are at the end of a frame, and are read together.
  const std::uint64_t last = size_ - std::min(size_, kUnit);
  if (gap.begin >= last) wide.begin = last;
  wide.begin = std::max(wide.begin, begin_);
  auto next = windows_.lower_bound(gap.begin);
  if (next != windows_.end()) wide.end = std::min(wide.end, std::max(next->first, gap.end));
  if (next != windows_.begin())
    wide.begin = std::max(wide.begin, std::min(std::prev(next)->second.fetch->end(), gap.begin));
  return wide;
}

/// Calls `work`, which adds windows, and adds their fetches to the traffic. The caller holds
/// mutex_, so that a reader finds no window whose fetch is not queued yet, and cannot be made
/// urgent. The range that holds `wanted` is urgent, the others are only expected. Returns true if
/// idle windows are to be watched from now on.
template <typename Work>
bool ObjectWindows::queue(std::uint64_t wanted, const Work& work) {
  Fetches fresh;
  try {
    work(fresh);
    for (const auto& fetch : fresh)
      source_->traffic->add(this, fetch, fetch->begin() <= wanted && wanted < fetch->end());
  } catch (...) {
    for (const auto& fetch : fresh) windows_.erase(fetch->begin());
    throw;
  }
  return !fresh.empty() && !std::exchange(is_watched_, true);
}

/// Starts fetches that queue() has queued. `is_new` is what queue() returned. Called without
/// mutex_.
void ObjectWindows::begin_queued(bool is_new) {
  if (is_new) source_->traffic->sweep().watch(weak_from_this());
  source_->traffic->pump();
}

void ObjectWindows::plan_read(std::uint64_t offset, std::size_t size, bool uses_cache) {
  Fetches dropped;
  bool is_new = false;
  {
    const std::lock_guard guard(mutex_);
    const auto now = Clock::now();
    const ReadSpan read{offset, offset + size};
    const ReadStreams::Ahead ahead = streams_.on_read(read, most_ahead(), now);
    is_new = queue(offset, [&](Fetches& fresh) {
      fill(read, range_of_read(size), fresh, uses_cache);
      if (fresh.size() == 1 && fresh.front()->size() < kUnit) {
        // So few bytes are not worth a request.
        const ReadSpan gap{fresh.front()->begin(), fresh.front()->end()};
        windows_.erase(gap.begin);
        fresh.clear();
        fill(widened(gap), kUnit * 2, fresh, uses_cache);
      }
      if (ahead.range > 0 && unread() < source_->traffic->budget())
        fill({ahead.extent.begin, std::min(ahead.extent.end, size_)},
             std::min(ahead.range, largest_range()), fresh);
    });
    drop_abandoned(now, dropped);
    trim(dropped);
  }
  begin_queued(is_new);
}

void ObjectWindows::note_read(std::uint64_t offset, std::size_t size) {
  const std::lock_guard guard(mutex_);
  streams_.on_read({offset, offset + size}, 0, Clock::now());
}

std::shared_ptr<RangeFetch> ObjectWindows::window_at(std::uint64_t offset) {
  const std::lock_guard guard(mutex_);
  const auto found = find(offset);
  if (found == windows_.end() || found->first > offset) return nullptr;
  found->second.used = Clock::now();
  return found->second.fetch;
}

/// Copies the object's bytes from `offset` on that the cache on disk holds, up to the next window
/// in memory. Returns how many.
std::size_t ObjectWindows::read_cached(std::uint64_t offset, MutableBytes out) {
  if (!source_->cached) return 0;
  {
    const std::lock_guard guard(mutex_);
    const auto next = windows_.lower_bound(offset);
    if (next != windows_.end())
      out = out.first(
          static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), next->first - offset)));
  }
  return source_->cached->read(offset, out);
}

void ObjectWindows::read(std::uint64_t offset, MutableBytes out) {
  plan_read(offset, out.size());
  while (!out.empty()) {
    const std::shared_ptr<RangeFetch> window = window_at(offset);
    if (!window || window->is_lost()) {
      const std::size_t count = window ? 0 : read_cached(offset, out);
      // The fetch was given up, or a piece that was found on disk is damaged or was evicted.
      // Request the bytes from the server.
      if (count == 0) plan_read(offset, out.size(), false);
      offset += count;
      out = out.subspan(count);
      continue;
    }
    if (!window->has_arrived()) {
      source_->traffic->make_urgent(this, *window);
      source_->traffic->pump();
    }
    Bytes bytes;
    try {
      bytes = window->wait();
    } catch (...) {
      if (window->is_lost()) forget(window);
      throw;
    }
    if (bytes.empty()) continue;  // given up by another reader
    bytes = bytes.subspan(static_cast<std::size_t>(offset - window->begin()));
    bytes = bytes.first(std::min(bytes.size(), out.size()));
    std::copy(bytes.begin(), bytes.end(), out.begin());
    note_taken(window, bytes.size());
    offset += bytes.size();
    out = out.subspan(bytes.size());
  }
  source_->traffic->pump();
}

/// Drops a large window once all of it was read.
void ObjectWindows::note_taken(const std::shared_ptr<RangeFetch>& fetch, std::size_t size) {
  const std::lock_guard guard(mutex_);
  const auto found = windows_.find(fetch->begin());
  if (found == windows_.end() || found->second.fetch != fetch) return;
  found->second.taken += size;
  if (found->second.taken >= fetch->size() && fetch->size() > kSmallWindow) windows_.erase(found);
}

void ObjectWindows::forget(const std::shared_ptr<RangeFetch>& fetch) {
  const std::lock_guard guard(mutex_);
  const auto found = windows_.find(fetch->begin());
  if (found != windows_.end() && found->second.fetch == fetch) windows_.erase(found);
}

/// Keeps the small windows that were read, up to kKept bytes. Moves the least recently used ones
/// beyond that to `dropped`.
void ObjectWindows::trim(Fetches& dropped) {
  std::vector<Windows::iterator> kept;
  std::size_t bytes = 0;
  for (auto at = windows_.begin(); at != windows_.end(); ++at) {
    const RangeFetch& fetch = *at->second.fetch;
    if (at->second.taken == 0 || fetch.size() > kSmallWindow || fetch.is_waited_for()) continue;
    kept.push_back(at);
    bytes += fetch.size();
  }
  if (bytes <= kKept) return;
  std::sort(kept.begin(), kept.end(),
            [](const auto& a, const auto& b) { return a->second.used < b->second.used; });
  for (auto at = kept.begin(); at != kept.end() && bytes > kKept; ++at) {
    bytes -= (*at)->second.fetch->size();
    dropped.push_back((*at)->second.fetch);
    windows_.erase(*at);
  }
}

/// Drops the windows ahead of readers that have gone.
void ObjectWindows::drop_abandoned(Clock::time_point now, Fetches& dropped) {
  for (const ReadSpan& left : streams_.take_abandoned(now))
    for (auto at = find(left.begin); at != windows_.end() && at->first < left.end;) {
      const Window& window = at->second;
      if (window.taken > 0 || window.fetch->is_waited_for()) {
        ++at;
        continue;
      }
      dropped.push_back(window.fetch);
      at = windows_.erase(at);
    }
}

/// Returns how many bytes of windows no reader has read. Returns the largest number if there are
/// too many windows, so that nothing more is requested ahead.
std::uint64_t ObjectWindows::unread() const {
  if (windows_.size() >= kMostWindows) return ~std::uint64_t{0};
  std::uint64_t bytes = 0;
  for (const auto& [begin, window] : windows_)
    bytes += window.fetch->size() - std::min(window.fetch->size(), window.taken);
  return bytes;
}

ReadSpan ObjectWindows::inside(const ByteRange& range) const {
  if (range.offset < 0 || range.size <= 0) return {};
  const auto offset = static_cast<std::uint64_t>(range.offset);
  return {std::max(offset, begin_),
          std::min(offset + static_cast<std::uint64_t>(range.size), size_)};
}

bool ObjectWindows::is_available(std::span<const ByteRange> ranges) {
  const std::lock_guard guard(mutex_);
  return std::all_of(ranges.begin(), ranges.end(), [&](const ByteRange& range) {
    for (ReadSpan extent = inside(range); extent.begin < extent.end;) {
      const auto window = find(extent.begin);
      const bool is_window = window != windows_.end() && window->first <= extent.begin;
      if (is_window && window->second.fetch->has_arrived())
        extent.begin = window->second.fetch->end();
      else if (!is_window && source_->cached && source_->cached->has(extent.begin))
        extent.begin = (extent.begin / kCachePieceSize + 1) * kCachePieceSize;
      else
        return false;
    }
    return true;
  });
}

void ObjectWindows::expect(std::span<const ByteRange> ranges) {
  std::vector<ReadSpan> wanted;
  for (const ByteRange& range : ranges) {
    const ReadSpan extent = inside(range);
    if (extent.begin < extent.end) wanted.push_back(extent);
  }
  std::sort(wanted.begin(), wanted.end(),
            [](const ReadSpan& a, const ReadSpan& b) { return a.begin < b.begin; });
  std::vector<ReadSpan> joined;
  for (const ReadSpan& extent : wanted)
    if (!joined.empty() && extent.begin < joined.back().end + kUnit)
      joined.back().end = std::max(joined.back().end, extent.end);
    else
      joined.push_back(extent);
  bool is_new = false;
  {
    const std::lock_guard guard(mutex_);
    // No range holds the byte at size_, so none is urgent.
    is_new = queue(size_, [&](Fetches& fresh) {
      for (const ReadSpan& extent : joined)
        if (unread() < source_->traffic->budget()) fill(extent, largest_range(), fresh);
    });
  }
  begin_queued(is_new);
}

void ObjectWindows::insert(std::uint64_t offset, std::vector<std::uint8_t> bytes) {
  if (bytes.empty()) return;
  auto fetch = std::make_shared<RangeFetch>(source_, offset, std::move(bytes));
  bool is_new = false;
  {
    const std::lock_guard guard(mutex_);
    const auto there = find(offset);
    if (there != windows_.end() && there->first < fetch->end()) return;
    windows_.emplace(offset, Window{std::move(fetch), 0, Clock::now()});
    is_new = !std::exchange(is_watched_, true);
  }
  if (is_new) source_->traffic->sweep().watch(weak_from_this());
}

bool ObjectWindows::drop_idle() noexcept {
  Fetches dropped;
  bool is_left = false;
  try {
    const std::lock_guard guard(mutex_);
    const auto now = Clock::now();
    drop_abandoned(now, dropped);
    for (auto at = windows_.begin(); at != windows_.end();) {
      const Window& window = at->second;
      const bool may_stay = window.taken > 0 && window.fetch->size() <= kSmallWindow;
      const bool is_idle = now - window.used > kUnwanted && !window.fetch->is_waited_for();
      if (is_idle && !may_stay) {
        dropped.push_back(window.fetch);
        at = windows_.erase(at);
        continue;
      }
      is_left |= !may_stay;
      ++at;
    }
    trim(dropped);
    is_watched_ = is_left;
  } catch (const std::bad_alloc&) {
    is_left = true;  // the next sweep tries again
  }
  dropped.clear();
  source_->traffic->pump();
  return is_left;
}

}  // namespace bloscfs::frame::inline remote
