#include "fs/content/epochs.hpp"

#include <cerrno>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::fs {
namespace {

constexpr std::chrono::seconds kSaveRetryDelay{1};

}  // namespace

std::uint64_t Epochs::of_pages() const {
  // The kernel writes pages back long after the write(2). Until it has dropped the pages of an
  // older epoch, the state that a page belongs to is unknown.
  if (is_abandoned_ || (pages_forgotten_ && !*pages_forgotten_))
    frame::throw_errno(ESTALE, "page of another state");
  return current_;
}

std::shared_ptr<std::atomic<bool>> Epochs::begin_next(const End& end) {
  current_++;
  if (end.loses_something) first_without_loss_ = current_;
  is_abandoned_ = end.is_abandoned;
  is_ending_ = is_saved_ = false;
  // Each epoch has its own flag: the kernel may answer for an older epoch after the next one has
  // begun.
  pages_forgotten_ = std::make_shared<std::atomic<bool>>(false);
  return pages_forgotten_;
}

bool Epochs::save_failed_recently() const {
  return save_failed_at_ && clock_.now() - *save_failed_at_ < kSaveRetryDelay;
}

}  // namespace bloscfs::fs
