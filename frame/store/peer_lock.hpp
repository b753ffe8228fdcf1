#pragma once
// The .b2lock sidecar that other Blosc2 programs lock and count changes in
// (frame/formats/sidecars.md, "Sidecar").

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "frame/store/byte_store.hpp"

namespace bloscfs::frame::inline store {

/// What the sidecar of a file is called behind the file's name; inside a sparse frame that is all.
inline constexpr const char* kSidecarSuffix = ".b2lock";

/// One sidecar. There is one object per sidecar in the process, so that its readers, whatever
/// snapshot they belong to, share one lock and do not release it under each other. Thread-safe.
class PeerLock {
 public:
  /// Opens `name` in `directory` (AT_FDCWD too; -1 is none); null if there is no such regular file,
  /// or it may not be opened: then other programs are not expected to lock either. Throws
  /// std::system_error where that cannot be told, as for want of descriptors.
  static std::shared_ptr<PeerLock> open(int directory, const std::string& name);

  explicit PeerLock(UniqueFd fd) : fd_(std::move(fd)) {}

  /// Other programs do not write while one of these lives. An empty one guards nothing. A thread
  /// holds one at a time.
  class Shared {
   public:
    Shared() = default;
    /// Waits for a writer, up to 10 s, or half a second where others wait already, for whatever
    /// sidecar: then throws LockedByOthers. `lock` may be null.
    explicit Shared(std::shared_ptr<PeerLock> lock);
    Shared(Shared&&) noexcept = default;
    Shared& operator=(Shared&&) = delete;
    ~Shared();

   private:
    std::shared_ptr<PeerLock> lock_;
  };

  /// Other programs neither read nor write while one of these lives; readers of this process do.
  /// Taken by one writer at a time. An empty one guards nothing.
  class Exclusive {
   public:
    Exclusive() = default;
    /// Waits for other programs and for readers that have begun, up to 30 s: then throws
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

  /// The generation counter, which writers raise before each change; 0 in a new sidecar.
  std::uint64_t generation() const;
  /// How often writers have raised the generation counter, which they do before each change, those
  /// of this process aside. Only differences mean something.
  std::uint64_t foreign_changes() const;
  /// Raises the counter, as a writer does that has just locked the sidecar, the file `sidecar`.
  /// Whoever may make files may have put any file there: what cannot be a sidecar is left alone.
  void announce_change(StoreFile& sidecar);

 private:
  enum class Writer { none, waiting, active };

  void acquire();
  bool try_acquire();  ///< with the mutex locked
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
