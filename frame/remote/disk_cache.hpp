#pragma once
// Pieces of objects, cached on disk up to a size limit. The least recently used ones are evicted.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <boost/container_hash/hash.hpp>

#include "frame/remote/cache_folder.hpp"
#include "frame/remote/remote_settings.hpp"
#include "frame/store/lru_map.hpp"

namespace bloscfs::frame::inline remote {

/// Thread-safe. Any number of processes may share a folder. Each process keeps the folder within
/// the size limit. For that it counts the disk space itself, and reads the folder again from time
/// to time. A piece that cannot be stored or read, or is damaged, counts as missing. No disk error
/// reaches a caller.
class DiskCache {
 public:
  using Notice = std::function<void(const std::string&)>;
  using Piece = std::shared_ptr<const CachedPiece>;

  /// `notice`, which may be empty, is called once, when a piece cannot be written. Throws like
  /// CacheFolder, and std::system_error if no thread can be started.
  DiskCache(const std::string& folder, std::uint64_t size, Notice notice);
  /// Writes the waiting pieces, for two seconds at most.
  ~DiskCache();
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  /// Returns null if the piece is missing.
  Piece find(const PieceName& name);
  /// True if the piece exists. Does not check its contents.
  bool has(const PieceName& name) const noexcept { return folder_.has(name); }
  /// Hands a piece of at most kCachePieceSize bytes to the writing thread, and returns at once.
  /// Drops the piece if the thread cannot keep up. `replaces`: a piece of that name may exist with
  /// other bytes.
  void keep(const PieceName& name, Bytes bytes, bool replaces = false);

  /// Waits until all pieces given to keep() are on disk, or were dropped.
  void flush();

 private:
  struct Waiting {
    PieceName name{};
    std::vector<std::uint8_t> bytes;
    bool replaces = false;
  };
  using Clock = std::chrono::steady_clock;

  void run();
  bool take(Waiting& next);
  void store(const Waiting& piece);
  void fail(const std::system_error& error);
  bool make_room(std::uint64_t size);
  std::uint64_t allowed() const;
  void count();
  void evict_to(std::uint64_t size);
  bool is_ending();
  void remember(const PieceName& name, const Piece& piece);
  void forget(const PieceName& name);

  const CacheFolder folder_;
  const std::uint64_t size_;
  const Notice notice_;

  std::mutex recent_mutex_;
  /// The pieces that were used last, for readers that read less than a piece at a time.
  LruMap<PieceName, Piece, boost::hash<PieceName>> recent_{16};

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool is_busy_ = false, is_ending_ = false;
  Clock::time_point end_;  ///< when writing must stop, once is_ending_ is true

  // For the writing thread only.
  std::uint64_t used_ = 0;           ///< disk space of all pieces, by this process's count
  std::uint64_t since_counted_ = 0;  ///< written by this process since count()
  bool was_notified_ = false;        ///< notice_ was called
  Clock::time_point paused_until_;

  std::thread thread_;  ///< last, so that it starts after all other members exist
};

/// Opens the cache that the settings name. Returns null if they name none. Throws like DiskCache.
std::shared_ptr<DiskCache> open_disk_cache(const RemoteSettings& settings);

}  // namespace bloscfs::frame::inline remote
