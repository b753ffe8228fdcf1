#pragma once
// The .b2lock sidecar that other Blosc2 programs lock and count changes in
// (formats/sframe.md 3).

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "frame/byte_source.hpp"

namespace bloscfs::frame {

/// One sidecar. There is one object per sidecar in the process, so that its readers, whatever
/// snapshot they belong to, share one lock and do not release it under each other. Thread-safe.
class PeerLock {
 public:
  /// Opens `name` in `directory` (or AT_FDCWD); null if there is no such regular file, or it may
  /// not be opened: then other programs are not expected to lock either.
  static std::shared_ptr<PeerLock> open(int directory, const std::string& name);

  explicit PeerLock(UniqueFd fd) : fd_(std::move(fd)) {}

  /// Other programs do not write while one of these lives. An empty one guards nothing.
  class Shared {
   public:
    Shared() = default;
    /// Waits for a writer, up to 30 s: then throws std::system_error(ETIMEDOUT). `lock` may be
    /// null.
    explicit Shared(std::shared_ptr<PeerLock> lock);
    Shared(Shared&&) noexcept = default;
    Shared& operator=(Shared&&) = delete;
    ~Shared();

   private:
    std::shared_ptr<PeerLock> lock_;
  };

  /// The generation counter, which writers raise before each change; 0 in a new sidecar.
  std::uint64_t generation() const;

 private:
  void acquire();
  void release() noexcept;

  UniqueFd fd_;
  std::mutex mutex_;
  int readers_ = 0;
};

}  // namespace bloscfs::frame
