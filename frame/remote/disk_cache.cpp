#include "frame/remote/disk_cache.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/core.h>

namespace bloscfs::frame::inline remote {
namespace {

/// Most bytes that wait for the writing thread.
constexpr std::size_t kMostWaiting = std::size_t{8} << 20;
/// The cache leaves a twentieth of the disk free.
constexpr std::uint64_t kDiskShare = 20;
/// Other processes fill the folder, too. The folder is counted again after this process has written
/// a sixteenth of the size limit.
constexpr std::uint64_t kCountShare = 16;
/// Eviction frees a tenth of the limit at once, because the search for the oldest pieces reads the
/// whole folder.
constexpr std::uint64_t kRoomShare = 10;
/// Most pieces that one eviction removes, which limits its memory.
constexpr std::size_t kMostEvicted = std::size_t{1} << 18;
/// No piece is written for this time after a failure, or when the disk has no room.
constexpr std::chrono::seconds kPauseWhenFull{10};
constexpr std::chrono::seconds kEndTime{2};

void block_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace

DiskCache::DiskCache(const std::string& folder, std::uint64_t size, Notice notice)
    : folder_(folder), size_(size), notice_(std::move(notice)) {
  thread_ = std::thread([this] { run(); });
}

DiskCache::~DiskCache() {
  {
    const std::lock_guard guard(mutex_);
    is_ending_ = true;
    end_ = Clock::now() + kEndTime;
  }
  changed_.notify_all();
  thread_.join();
}

DiskCache::Piece DiskCache::find(const PieceName& name) {
  {
    const std::lock_guard guard(recent_mutex_);
    if (const Piece* const recent = recent_.find(name)) return *recent;
  }
  auto piece = folder_.read(name);
  if (!piece) return nullptr;
  auto shared = std::make_shared<const CachedPiece>(std::move(*piece));
  remember(name, shared);
  return shared;
}

void DiskCache::remember(const PieceName& name, const Piece& piece) {
  std::optional<Piece> dropped;  // destroyed after the lock is released
  const std::lock_guard guard(recent_mutex_);
  dropped = recent_.put(name, piece);
}

void DiskCache::forget(const PieceName& name) {
  const std::lock_guard guard(recent_mutex_);
  recent_.take(name);
}

void DiskCache::keep(const PieceName& name, Bytes bytes, bool replaces) {
  {
    const std::lock_guard guard(mutex_);
    if (is_ending_ || waiting_bytes_ + bytes.size() > kMostWaiting) return;
    waiting_.push_back({name, {bytes.begin(), bytes.end()}, replaces});
    waiting_bytes_ += bytes.size();
  }
  changed_.notify_all();
}

void DiskCache::flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waiting_.empty() && !is_busy_; });
}

void DiskCache::run() {
  block_signals();
  {
    const std::lock_guard guard(mutex_);
    is_busy_ = true;
  }
  count();
  for (Waiting next; take(next);) {
    try {
      store(next);
    } catch (const std::system_error& error) {
      fail(error);
    } catch (const std::exception&) {
      // Out of memory: do not keep this piece.
    }
  }
}

/// Returns false when the cache is being destroyed.
bool DiskCache::take(Waiting& next) {
  std::unique_lock lock(mutex_);
  is_busy_ = false;
  changed_.notify_all();
  changed_.wait(lock, [&] { return is_ending_ || !waiting_.empty(); });
  if (waiting_.empty() || (is_ending_ && Clock::now() > end_)) return false;
  next = std::move(waiting_.front());
  waiting_.pop_front();
  waiting_bytes_ -= next.bytes.size();
  is_busy_ = true;
  return true;
}

void DiskCache::store(const Waiting& piece) {
  if (Clock::now() < paused_until_) return;
  // A piece that is on disk seldom arrives again, unless it is damaged. read() checks the piece,
  // and removes a damaged one.
  if (!piece.replaces && folder_.has(piece.name) && folder_.read(piece.name)) return;
  const std::uint64_t taken = CacheFolder::taken_by_piece(piece.bytes.size());
  if (!make_room(taken)) {
    paused_until_ = Clock::now() + kPauseWhenFull;
    return;
  }
  folder_.write(piece.name, piece.bytes);
  if (piece.replaces) forget(piece.name);
  used_ += taken;
  since_counted_ += taken;
}

void DiskCache::fail(const std::system_error& error) {
  paused_until_ = Clock::now() + kPauseWhenFull;
  if (std::exchange(was_notified_, true) || !notice_) return;
  try {
    notice_(fmt::format("the cache on disk cannot be written to: {}", error.code().message()));
  } catch (const std::exception&) {
    // The notice is not essential.
  }
}

/// Evicts pieces if needed. Returns false if `size` more bytes still do not fit.
bool DiskCache::make_room(std::uint64_t size) {
  if (since_counted_ > size_ / kCountShare) count();
  if (used_ + size <= allowed()) return true;
  const std::uint64_t limit = allowed();
  evict_to(limit - std::min(limit, std::max(limit / kRoomShare, size)));
  return used_ + size <= allowed();
}

/// Returns the size limit, or less if the disk is nearly full.
std::uint64_t DiskCache::allowed() const {
  const CacheFolder::Disk disk = folder_.disk();
  const std::uint64_t spared = disk.size / kDiskShare;
  if (disk.available >= spared) return std::min(size_, used_ + (disk.available - spared));
  return std::min(size_, used_ - std::min(used_, spared - disk.available));
}

void DiskCache::count() {
  std::uint64_t sum = 0;
  folder_.for_each([&](const CacheFolder::Found& found) {
    sum += found.size;
    return !is_ending();
  });
  used_ = sum;
  since_counted_ = 0;
}

/// Removes the least recently used pieces until `size` bytes are left.
void DiskCache::evict_to(std::uint64_t size) {
  using Found = CacheFolder::Found;
  const auto is_older = [](const Found& a, const Found& b) { return a.used_ns < b.used_ns; };
  std::vector<Found> oldest;  // a heap with the youngest piece in front
  std::uint64_t sum = 0;
  folder_.for_each([&](const Found& found) {
    sum += found.size;
    oldest.push_back(found);
    std::push_heap(oldest.begin(), oldest.end(), is_older);
    if (oldest.size() > kMostEvicted) {
      std::pop_heap(oldest.begin(), oldest.end(), is_older);
      oldest.pop_back();
    }
    return !is_ending();
  });
  used_ = sum;
  since_counted_ = 0;
  std::sort_heap(oldest.begin(), oldest.end(), is_older);
  for (const Found& found : oldest) {
    if (used_ <= size || is_ending()) return;
    folder_.remove(found.name);
    used_ -= std::min(used_, found.size);
  }
}

bool DiskCache::is_ending() {
  const std::lock_guard guard(mutex_);
  return is_ending_;
}

std::shared_ptr<DiskCache> open_disk_cache(const RemoteSettings& settings) {
  if (settings.disk_cache.empty()) return nullptr;
  return std::make_shared<DiskCache>(settings.disk_cache, settings.disk_cache_size,
                                     settings.notice);
}

}  // namespace bloscfs::frame::inline remote
