#include "fs/view/memory_budget.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/store/throw_errno.hpp"
#include "frame/store/wait_context.hpp"

namespace bloscfs::fs {
namespace {

/// What open files may hold in addition to half of the budget, so that thousands of files can be
/// open even if cache_size is small. With cache_size=8M this exceeds the budget by 12 MiB;
/// mount/memory_test allows 48 MiB.
constexpr std::size_t kHeldExtra = std::size_t{16} << 20;
/// Listings enlarge their shares in steps of this size, to lock the share only once for some
/// hundred names.
constexpr std::size_t kListingStep = std::size_t{64} << 10;
/// Work of up to this size needs no permit. Eight threads exceed the budget by at most 16 MiB with
/// it; mount/memory_test allows 48 MiB.
constexpr std::int64_t kSmallWork = std::int64_t{2} << 20;

}  // namespace

MemoryBudget::MemoryBudget(std::size_t capacity, std::function<bool()> free_one,
                           LargestWork largest)
    : capacity_(capacity),
      free_one_(std::move(free_one)),
      largest_(largest),
      held_limit_(capacity / 2 + kHeldExtra),
      held_(held_limit_),
      listings_(capacity + kListingsExtra) {}

void MemoryBudget::take(std::size_t bytes) {
  used_ += bytes;
  shrink(capacity_);
}

void MemoryBudget::shrink(std::size_t most) {
  while (used_ > most && free_one_()) {
  }
}

void MemoryBudget::require_affordable(std::size_t working_memory) const {
  if (largest_ == LargestWork::is_refused && working_memory > capacity_ / 2)
    throw codec::Error(codec::FormatErrc::too_large,
                       fmt::format("needs {} bytes of memory, more than half of cache_size {}: "
                                   "mount with a larger cache_size",
                                   working_memory, capacity()));
}

bool MemoryBudget::runs_alone(std::int64_t working_memory) const {
  return largest_ == LargestWork::runs_alone &&
         working_memory > static_cast<std::int64_t>(capacity_ / 2);
}

void MemoryBudget::refuse_held(std::optional<uid_t> user, std::size_t bytes) {
  // A user who is alone may have half of the limit (FairShare).
  const bool never_fits = bytes > held_limit_ / 2;
  const std::string cause =
      never_fits
          ? fmt::format(
                "the file takes {} bytes of memory while it is open, and one user may have {}: "
                "mount with a larger cache_size",
                bytes, held_limit_ / 2)
          : "open files take all the memory that one user may have: close files, or mount with "
            "a larger cache_size";
  log_.error(user, fmt::format("user {}: {}", user.value_or(0), cause));
  frame::throw_errno(ENOMEM, cause);
}

void MemoryBudget::Part::resize(std::size_t bytes) {
  const std::size_t before = std::exchange(bytes_, bytes);
  if (bytes > before)
    budget_.take(bytes - before);
  else
    budget_.give_back(before - bytes);
}

MemoryBudget::Held::Held(Request& request, MemoryBudget& budget, std::size_t bytes)
    : share_(budget.held_.take(request.user().value_or(0), bytes)), part_(budget) {
  // Take the share first: a user who may not have more must not evict values of other users.
  if (!share_) budget.refuse_held(request.user(), bytes);
  part_.resize(bytes);
}

MemoryBudget::Listing::Listing(Request& request, MemoryBudget& budget, std::string name,
                               std::function<bool()> make_room)
    : budget_(budget),
      user_(request.user()),
      name_(std::move(name)),
      make_room_(std::move(make_room)),
      share_(budget.listings_.take_none(user_.value_or(0))) {}

MemoryBudget::Listing::~Listing() { budget_.give_back(share_.amount()); }

MemoryBudget::Listing::Grown MemoryBudget::Listing::grow(std::size_t bytes) {
  const std::size_t most = budget_.capacity() / 2;
  std::size_t more = 0;
  {
    const MutexLock lock(mutex_);
    if (bytes > most || taken_ > most - bytes) return Grown::too_large;
    const std::size_t wanted = taken_ + bytes;
    const std::size_t stepped = std::min(most, (wanted / kListingStep + 1) * kListingStep);
    more = wanted > share_.amount() ? stepped - share_.amount() : 0;
    if (more > 0 && !share_.grow(more)) return Grown::too_many;
    taken_ = wanted;
  }
  // Without the lock, because this may evict values of the cache.
  if (more > 0) budget_.take(more);
  return Grown::yes;
}

void MemoryBudget::Listing::take(std::size_t bytes) {
  Grown grown = grow(bytes);
  while (grown == Grown::too_many && make_room_ && make_room_()) grown = grow(bytes);
  if (grown != Grown::yes) refuse(grown);
}

void MemoryBudget::Listing::give_back(std::size_t bytes) noexcept {
  const MutexLock lock(mutex_);
  taken_ -= bytes;
  const std::size_t kept = std::min(share_.amount(), (taken_ / kListingStep + 1) * kListingStep);
  const std::size_t less = share_.amount() - kept;
  if (less < kListingStep) return;
  share_.shrink(less);
  budget_.give_back(less);
}

std::size_t MemoryBudget::Listing::taken() const {
  const MutexLock lock(mutex_);
  return taken_;
}

void MemoryBudget::Listing::keep(std::size_t bytes) {
  const std::size_t before = taken();
  bytes > before ? take(bytes - before) : give_back(before - bytes);
}

void MemoryBudget::Listing::refuse(Grown why) {
  const std::string cause =
      why == Grown::too_large
          ? fmt::format(
                "the listing needs more than {} bytes of memory, half of cache_size: mount with a "
                "larger cache_size",
                budget_.capacity() / 2)
          : fmt::format(
                "the listings of user {} take all that one user may have of cache_size, {} bytes: "
                "close directories, or mount with a larger cache_size",
                user_.value_or(0), budget_.capacity() / 2);
  if (!name_.empty()) budget_.log_.error(user_, name_ + ": " + cause);
  frame::throw_errno(why == Grown::too_large ? EFBIG : ENOMEM, cause);
}

bool MemoryBudget::LargeWork::is_large(std::int64_t bytes) { return bytes > kSmallWork; }

MemoryBudget::LargeWork::LargeWork(Request& request, MemoryBudget& budget, std::int64_t bytes)
    : budget_(budget), bytes_(is_large(bytes) ? static_cast<std::size_t>(bytes) : 0) {
  if (bytes_ == 0) return;
  budget_.require_affordable(bytes_);
  const MutexLock lock(budget_.large_mutex_);
  // A thread with a permit never waits for another one, because it has only one. So it gives its
  // permit back in the end. Example with a budget of 256 MiB: two works of 60 MiB run together, and
  // a third one waits for either.
  std::optional<frame::WaitMark> mark;
  while (budget_.large_work_ > 0 && budget_.large_work_ + bytes_ > budget_.capacity_ / 2) {
    request.need_slot();
    if (!mark) mark.emplace(frame::WaitReason::memory);
    budget_.large_freed_.wait_for(budget_.large_mutex_, frame::Interruption::kCheckInterval);
    request.check();
  }
  budget_.large_work_ += bytes_;
}

MemoryBudget::LargeWork::~LargeWork() {
  if (bytes_ == 0) return;
  const MutexLock lock(budget_.large_mutex_);
  budget_.large_work_ -= bytes_;
  budget_.large_freed_.notify_all();
}

}  // namespace bloscfs::fs
