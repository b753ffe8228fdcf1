#include "frame/remote/link_speed.hpp"

#include <algorithm>

namespace bloscfs::frame::inline remote {
namespace {

/// Each transfer lowers the best rate, and raises the shortest delay, by this share, so that the
/// estimates follow a link that becomes slower.
constexpr double kRateLoss = 1.0 / 32, kDelayGain = 1.0 / 256;

}  // namespace

LinkSpeed::Mark LinkSpeed::begin() const {
  const std::lock_guard guard(mutex_);
  return {Clock::now(), received_};
}

void LinkSpeed::end(const Mark& mark, std::size_t size) {
  const std::lock_guard guard(mutex_);
  received_ += size;
  const double time = std::max(1e-6, std::chrono::duration<double>(Clock::now() - mark.at).count());
  // The bytes of other transfers during that time came over the same link.
  const double rate = static_cast<double>(received_ - mark.received) / time;
  rate_ = std::max(rate, rate_ - rate_ * kRateLoss);
  // The shortest time of a transfer comes closest to the time until the first byte.
  delay_ = delay_ == 0 ? time : std::min(time, delay_ + delay_ * kDelayGain);
}

std::size_t LinkSpeed::product() const {
  const std::lock_guard guard(mutex_);
  return static_cast<std::size_t>(std::min(rate_ * delay_, 1e12));
}

}  // namespace bloscfs::frame::inline remote
