#pragma once
// Pieces of objects, kept on disk: at most so many bytes, those used last.

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

/// Thread-safe. Any number of processes may share a folder; each keeps to the size on its own
/// count, which it compares with what is there now and then. What cannot be kept, is damaged, or
/// fails on disk is not there: no error of the disk reaches a caller.
class DiskCache {
 public:
  using Notice = std::function<void(const std::string&)>;
  using Piece = std::shared_ptr<const CachedPiece>;

  /// `notice`, which may be empty, is told once that something cannot be written. Throws as
  /// CacheFolder, and std::system_error without a thread.
  DiskCache(const std::string& folder, std::uint64_t size, Notice notice);
  /// Writes what is waiting, for two seconds at most.
  ~DiskCache();
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  /// Null where it is not there.
  Piece find(const PieceName& name);
  /// Without a look at its bytes.
  bool has(const PieceName& name) const noexcept { return folder_.has(name); }
  /// Has a thread write a piece of at most kCachePieceSize bytes, and returns at once. If the
  /// thread cannot keep up, pieces are dropped. `replaces`: a piece of that name exists with other
  /// bytes.
  void keep(const PieceName& name, Bytes bytes, bool replaces = false);

  /// Waits until all that was to be kept is on disk, or was dropped.
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
  /// For readers of less than a piece.
  LruMap<PieceName, Piece, boost::hash<PieceName>> recent_{16};

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool is_busy_ = false, is_ending_ = false;
  Clock::time_point end_;  ///< of writing, once that is ending

  // Of the thread that writes.
  std::uint64_t used_ = 0;           ///< on disk, as far as we know
  std::uint64_t since_counted_ = 0;  ///< written by us
  bool was_told_ = false;
  Clock::time_point paused_until_;

  std::thread thread_;  ///< last: begins when all else is there
};

/// As the settings say; null for none. Throws as DiskCache.
std::shared_ptr<DiskCache> open_disk_cache(const RemoteSettings& settings);

}  // namespace bloscfs::frame::inline remote
