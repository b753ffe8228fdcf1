#pragma once
// The .b2lock sidecar, which other Blosc2 programs lock, and in which they count changes
// (frame/formats/sidecars.md, "Sidecar").

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "frame/store/byte_store.hpp"

namespace bloscfs::frame::inline store {

/// The suffix that makes a file's name the name of its sidecar. Inside a sparse frame it is the
/// whole name.
inline constexpr const char* kSidecarSuffix = ".b2lock";

/// One sidecar. The process has one object per sidecar, so that all its readers share one lock and
/// do not release it under each other. Thread-safe.
class PeerLock {
 public:
  /// Opens `name` in `directory`, which may be AT_FDCWD, or -1 for none. Returns null if there is
  /// no such regular file, or this process may not open it: other programs are then not expected to
  /// lock either. Throws std::system_error if the call fails otherwise, for example without free
  /// descriptors.
  static std::shared_ptr<PeerLock> open(int directory, const std::string& name);

  explicit PeerLock(UniqueFd fd) : fd_(std::move(fd)) {}

  /// While it exists, other programs do not write. A default-constructed Shared locks nothing. A
  /// thread may hold one Shared at a time.
  class Shared {
   public:
    Shared() = default;
    /// Waits for a writer up to 10 s, or half a second if two other threads already wait for a
    /// sidecar. Then throws LockedByOthers. `lock` may be null.
    explicit Shared(std::shared_ptr<PeerLock> lock);
    Shared(Shared&&) noexcept = default;
    Shared& operator=(Shared&&) = delete;
    ~Shared();

   private:
    std::shared_ptr<PeerLock> lock_;
  };

  /// While it exists, other programs neither read nor write. Readers of this process may read. One
  /// writer at a time may hold it. A default-constructed Exclusive locks nothing.
  class Exclusive {
   public:
    Exclusive() = default;
    /// Waits for other programs, and for readers that have begun, up to 30 s. Then throws
    /// LockedByOthers. `lock` may be null.
    explicit Exclusive(std::shared_ptr<PeerLock> lock);
    Exclusive(Exclusive&&) noexcept = default;
    Exclusive& operator=(Exclusive&& other) noexcept;
    ~Exclusive();
    explicit operator bool() const { return lock_ != nullptr; }
    PeerLock& lock() const { return *lock_; }
    const std::shared_ptr<PeerLock>& shared_lock() const { return lock_; }

   private:
    std::shared_ptr<PeerLock> lock_;
  };

  /// Returns the generation counter, which writers increment before each change. 0 in a new
  /// sidecar.
  std::uint64_t generation() const;
  /// Returns how often writers of other processes have incremented the generation counter. Only
  /// differences between two results are meaningful.
  std::uint64_t foreign_changes() const;
  /// Increments the generation counter in `sidecar`. The caller has just locked it exclusively.
  /// Does nothing if the file cannot be a sidecar, because a user may have given another file that
  /// name.
  void announce_change(StoreFile& sidecar);

 private:
  enum class Writer { none, waiting, active };

  void acquire();
  bool try_acquire();  ///< the caller holds the mutex
  void release() noexcept;
  void acquire_exclusive();
  void release_exclusive() noexcept;

  UniqueFd fd_;
  mutable std::mutex mutex_;
  std::uint64_t own_changes_ = 0;
  std::condition_variable changed_;
  int readers_ = 0;
  Writer writer_ = Writer::none;
};

}  // namespace bloscfs::frame::inline store
