#include "fs/request_limits.hpp"

#include <cerrno>
#include <ctime>
#include <utility>

#include "fs/timestamps.hpp"

namespace bloscfs::fs {
namespace {

constexpr std::int64_t kMostNs = 2'000'000'000;

thread_local RequestLimits* current = nullptr;

std::int64_t processor_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return nanoseconds(time);
}

}  // namespace

bool is_interruption(const std::exception& error) {
  const auto* const ended = dynamic_cast<const RequestEnded*>(&error);
  return ended != nullptr && ended->code() == std::errc::interrupted;
}

RequestLimits::RequestLimits(std::function<bool()> is_interrupted)
    : is_interrupted_(std::move(is_interrupted)) {
  current = this;
}

RequestLimits::~RequestLimits() { current = nullptr; }

void RequestLimits::check() {
  if (current == nullptr) return;
  if (current->is_interrupted_()) throw RequestEnded(EINTR, std::generic_category(), "interrupted");
  const std::int64_t now = processor_ns();
  if (current->began_ns_ == 0) current->began_ns_ = now;
  if (now - current->began_ns_ > kMostNs)
    throw RequestEnded(EFBIG, std::generic_category(),
                       "one request needs more than 2 s of processor time");
}

}  // namespace bloscfs::fs
