#include "fs/support/request_limits.hpp"

#include <cerrno>
#include <ctime>
#include <utility>

#include <fmt/core.h>

#include "frame/store/throw_errno.hpp"
#include "fs/support/timestamps.hpp"

namespace bloscfs::fs {
namespace {

thread_local RequestLimits* current_limits = nullptr;

std::chrono::nanoseconds processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::nanoseconds(nanoseconds(time));
}

void refuse_wait() {
  throw RequestEnded(frame::errno_code(EINTR), "what is far away would be waited for");
}

}  // namespace

bool is_interruption(const std::exception& error) {
  const auto* const ended = dynamic_cast<const RequestEnded*>(&error);
  return ended != nullptr && ended->code() == std::errc::interrupted;
}

RequestLimits::RequestLimits(std::function<bool()> is_interrupted, std::chrono::milliseconds most,
                             Far far)
    : is_interrupted_(std::move(is_interrupted)),
      most_(most),
      interruption_(check, far == Far::ends_it ? refuse_wait : nullptr) {
  current_limits = this;
}

RequestLimits::~RequestLimits() { current_limits = nullptr; }

void RequestLimits::check() {
  if (current_limits == nullptr) return;
  if (current_limits->is_interrupted_())
    throw RequestEnded(frame::errno_code(EINTR), "interrupted");
  const std::chrono::nanoseconds now = processor_time();
  // The clock begins at the first check: most requests are done without one.
  if (current_limits->began_.count() == 0) current_limits->began_ = now;
  if (now - current_limits->began_ > current_limits->most_)
    throw RequestEnded(frame::errno_code(EFBIG),
                       fmt::format("one request needs more than {} ms of processor time",
                                   current_limits->most_.count()));
}

}  // namespace bloscfs::fs
