#pragma once
// Estimates from recent transfers how many bytes must be under way so that a link is never idle.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace bloscfs::frame::inline remote {

/// Thread-safe.
class LinkSpeed {
 public:
  using Clock = std::chrono::steady_clock;
  /// The start of a transfer.
  struct Mark {
    Clock::time_point at;
    std::uint64_t received = 0;  ///< bytes of all transfers that had ended before
  };

  Mark begin() const;
  /// Called when a transfer is complete.
  void end(const Mark& mark, std::size_t size);
  /// Returns the bandwidth-delay product: bytes a second, times the time until the first byte. 0:
  /// not known yet.
  std::size_t product() const;

 private:
  mutable std::mutex mutex_;
  std::uint64_t received_ = 0;
  double rate_ = 0;   ///< bytes a second, of all transfers that are under way together
  double delay_ = 0;  ///< seconds
};

}  // namespace bloscfs::frame::inline remote
