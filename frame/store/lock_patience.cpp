#include "frame/store/lock_patience.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline store {
namespace {

using Clock = LockPatience::Clock;

constexpr int kPatientOnes = 2;
constexpr std::chrono::seconds kLong{10};
constexpr std::chrono::milliseconds kShort{500};

std::atomic<int> waiting{0};

thread_local Clock::time_point patience_end = Clock::time_point::max();

}  // namespace

LockedByOthers::LockedByOthers(const char* what) : std::system_error(errno_code(ETIMEDOUT), what) {}

/// Two threads may wait long for others' locks, all more give up soon: a program that keeps its
/// lock must not take every thread of the mount.
CountedPatience::CountedPatience() : time_(++waiting <= kPatientOnes ? kLong : kShort) {}

CountedPatience::~CountedPatience() { --waiting; }

LockPatience::LockPatience(Clock::duration most) : outer_(patience_end) {
  patience_end = end_of(most);
}

LockPatience::~LockPatience() { patience_end = outer_; }

Clock::time_point LockPatience::end_of(Clock::duration most) {
  const auto now = Clock::now();
  // The inner patience never outlasts the outer one.
  return most < Clock::time_point::max() - now ? std::min(patience_end, now + most) : patience_end;
}

}  // namespace bloscfs::frame::inline store
