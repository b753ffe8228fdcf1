#include "fs/content/readahead.hpp"

#include <algorithm>
#include <utility>

#include "fs/support/request.hpp"

namespace bloscfs::fs {
namespace {

/// Bytes that must be read in order before anything is decoded ahead. Reading a block out of a
/// mapped array makes shorter runs, each at another offset.
constexpr std::int64_t kFirstRun = 512 << 10;
/// The most jumps that are decoded ahead. A reader of a block of an array reads plane by plane, in
/// equal jumps. This many planes ahead usually lie in the next layer of compressed blocks, and
/// leave time to decode it.
constexpr std::int64_t kStridesAhead = 16;
/// Shorter jumps are not followed: they mostly stay within decoded blocks.
constexpr std::int64_t kShortestStride = 64 << 10;
constexpr std::int64_t kFirstWindow = 256 << 10;
/// Bytes decoded ahead for each decoding thread. More would leave the processor's caches before the
/// reader gets there.
constexpr std::int64_t kWindowPerThread = 2 << 20;
/// The work of one task: large enough to be worth a wake-up, small enough to spread over the pool.
constexpr std::int64_t kReadaheadPart = 1 << 20;
/// Several kernel threads send one reader's requests, which may arrive out of order by this much.
constexpr std::int64_t kReorderSlack = 2 << 20;
/// Processor time for one part. A part that takes longer costs the pool more than it gains.
constexpr std::chrono::milliseconds kMostForPart{500};
constexpr std::chrono::seconds kSuspension{10};

}  // namespace

bool ReadaheadBudget::take(std::int64_t bytes) {
  if (taken_.fetch_add(bytes) + bytes <= limit_) return true;
  taken_ -= bytes;
  return false;
}

void ReadaheadBudget::suspend(uid_t user) {
  const MutexLock lock(mutex_);
  suspended_[user] = clock_.now() + kSuspension;
}

bool ReadaheadBudget::is_suspended(uid_t user) {
  const MutexLock lock(mutex_);
  const auto found = suspended_.find(user);
  if (found == suspended_.end()) return false;
  if (clock_.now() < found->second) return true;
  suspended_.erase(found);
  return false;
}

Readahead::Window Readahead::advance(std::int64_t offset, std::int64_t end, std::int64_t file_size,
                                     std::int64_t largest, Strides strides) {
  const MutexLock lock(mutex_);
  // Slack only for a known sequential reader. For a random reader, a request slightly before the
  // last one does not show an order.
  const std::int64_t slack = window_ > 0 ? kReorderSlack : 0;
  const bool sequential = next_ >= 0 && offset - slack <= next_ && end >= next_;
  if (!sequential) {
    const Window window =
        strides == Strides::are_followed ? beyond_strides(offset, file_size) : Window{};
    window_ = 0;
    begin_ = offset;
    next_ = end;
    ahead_ = end;
    *reached_ = offset;
    return window;
  }
  next_ = std::max(next_, end);
  *reached_ = offset;
  if (next_ - begin_ < kFirstRun) return {};
  // 256 KiB, 512 KiB, 1 MiB... up to 2 MiB for each thread: a reader that stops soon has cost
  // little.
  window_ = std::min(std::max(kFirstWindow, window_ * 2), largest);
  // Cannot overflow: sums of offsets within the file do not exceed its size.
  const Window window{std::max(ahead_, next_), next_ + std::min(window_, file_size - next_)};
  // Requesting half a window at a time wakes the pool less often.
  if (window.begin - next_ > window_ / 2) return {};
  ahead_ = window.end;
  return window;
}

/// Returns the range that a reader who jumped to `offset` will read some equal jumps later: one
/// jump later after the second equal jump, one more after each further jump. A reader that stops
/// soon has cost little. Returns an empty range if the jump differs from the previous one.
Readahead::Window Readahead::beyond_strides(std::int64_t offset, std::int64_t file_size) {
  const std::int64_t stride = next_ >= 0 ? offset - begin_ : 0;
  const bool is_equal = stride == std::exchange(stride_, stride);
  strides_ = is_equal ? std::min(strides_ + 1, kStridesAhead) : 0;
  const std::int64_t run = next_ - begin_;
  if (strides_ == 0 || stride < kShortestStride || run >= kFirstRun) return {};
  if (stride > (file_size - offset) / strides_) return {};
  const std::int64_t begin = offset + stride * strides_;
  return {begin, begin + std::min(run, file_size - begin)};
}

void Readahead::on_read(std::int64_t offset, std::int64_t size, uid_t user,
                        const std::shared_ptr<const OpenContainer>& file, WorkerPool& pool,
                        ReadaheadBudget& budget, Strides strides) {
  const auto threads = static_cast<std::int64_t>(pool.threads());
  const std::int64_t file_size = file->content->size();
  if (offset >= file_size) return;
  const Window window = advance(offset, offset + std::min(size, file_size - offset), file_size,
                                std::min(threads * kWindowPerThread, budget.limit()), strides);
  for (std::int64_t at = window.begin; at < window.end; at += kReadaheadPart) {
    const std::int64_t part = std::min(kReadaheadPart, window.end - at);
    // Without room in the budget for reading ahead, this reader decodes its blocks itself.
    if (budget.is_suspended(user) || !budget.take(part)) return;
    const auto decode = [file, at, part, user, &budget, reached = reached_] {
      Request request(user);
      // Decoding threads do not wait for the network (Far::refused). The task ends after it has
      // requested missing data, which arrives without it.
      request.limit([&] { return *reached == kGone; }, kMostForPart, Request::NetworkWait::refused);
      try {
        if (!budget.is_suspended(user)) file->content->prefetch(request, at, part, *reached);
      } catch (const RequestEnded& ended) {
        if (!is_interruption(ended)) budget.suspend(user);
      } catch (const std::exception&) {
        // The reader meets the same error when it gets there, and reports it.
      }
      budget.give_back(part);
    };
    try {
      pool.post_low_priority(decode);
    } catch (...) {
      budget.give_back(part);
      throw;
    }
  }
}

}  // namespace bloscfs::fs
