#include "fs/support/lock_breaks.hpp"

namespace bloscfs::fs {
namespace {

/// Breaks of one operation: more are needed only where somebody works against it.
constexpr int kMaxBreaks = 100;

thread_local Attempts* innermost = nullptr;

}  // namespace

Attempts::Attempts(const Request& request) : outer_(innermost), user_(request.user()) {
  innermost = this;
}

Attempts::~Attempts() { innermost = outer_; }

/// The last try has no breaks: it does its work under the lock, and ends.
void Attempts::count_break() {
  breaks_++;
  may_break_ = breaks_ < kMaxBreaks;
}

Attempts* Attempts::current() {
  // A change that has begun would be made twice by another try: from then on work is done where it
  // is needed.
  return innermost != nullptr && innermost->may_break_ ? innermost : nullptr;
}

std::optional<uid_t> Attempts::user() {
  return innermost != nullptr ? innermost->user_ : std::nullopt;
}

bool Attempts::pause(const std::function<void()>& work) const {
  return share_ != nullptr && share_->pause(work);
}

void Attempts::note_share(NamesShare* share) {
  if (innermost != nullptr) innermost->share_ = share;
}

void Attempts::begin_change() {
  if (innermost != nullptr) innermost->may_break_ = false;
}

void Attempts::end_change() {
  if (innermost != nullptr) innermost->may_break_ = innermost->breaks_ < kMaxBreaks;
}

}  // namespace bloscfs::fs
