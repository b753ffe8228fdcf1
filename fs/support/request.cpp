#include "fs/support/request.hpp"

#include <cerrno>
#include <ctime>
#include <utility>

#include <fmt/core.h>

#include "frame/store/throw_errno.hpp"
#include "fs/support/timestamps.hpp"

namespace bloscfs::fs {
namespace {

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

Request::Request(RequestSlots* slots, const Caller& caller)
    : slots_(slots), user_(caller.user), caller_(caller) {
  if (slots_ != nullptr) before_locks_.emplace([this] { need_slot(); });
}

void Request::need_slot() {
  if (slots_ == nullptr || has_slot_ || runs_once_) return;
  if (!take_slot()) throw NoSlot();
}

bool Request::take_slot() {
  has_slot_ = slots_->take(payer());
  return has_slot_;
}

void Request::limit(std::function<bool()> is_interrupted, std::chrono::milliseconds most,
                    NetworkWait far) {
  limits_ = Limits{std::move(is_interrupted), most};
  interruption_.emplace([this] { check(); }, far == NetworkWait::refused ? refuse_wait : nullptr);
}

void Request::check() {
  if (!limits_) return;
  if (limits_->is_interrupted()) throw RequestEnded(frame::errno_code(EINTR), "interrupted");
  const std::chrono::nanoseconds now = processor_time();
  // The time counts from the first check, since most requests end without one.
  if (limits_->began.count() == 0) limits_->began = now;
  if (now - limits_->began > limits_->most)
    throw RequestEnded(
        frame::errno_code(EFBIG),
        fmt::format("one request needs more than {} ms of processor time", limits_->most.count()));
}

}  // namespace bloscfs::fs
