#pragma once
// Limits the work of one request, because a file can be made so that one byte is arbitrarily
// expensive to decode.

#include <cstdint>
#include <limits>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// Counts the bytes that are produced for one request, including intermediate ones. For one thread.
class Work {
 public:
  static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
  /// About a second of decoding, and hundreds of times the largest request.
  static constexpr std::int64_t kRequestLimit = std::int64_t{512} << 20;

  Work(Request& request, std::int64_t limit) : request_(request), limit_(limit) {}

  Request& request() const { return request_; }

  bool exhausted() const { return done_ > limit_; }
  /// Call this before producing `bytes`. Throws codec::Error(too_large) if the limit was passed
  /// before, so one step is always allowed, however large. Throws the errors of check().
  void begin(std::int64_t bytes) {
    check();
    if (exhausted())
      throw codec::Error(codec::FormatErrc::too_large,
                         fmt::format("one request needs more than {} bytes decoded", limit_));
    add(bytes);
  }
  /// Call this before a step. Throws NoSlot and RequestEnded.
  void check() {
    if (done_ < next_check_) return;
    request_.need_slot();
    request_.check();
    next_check_ = done_ + kCheckInterval;
  }
  /// Counts bytes whose number was not known before.
  void add(std::int64_t bytes) { done_ += bytes; }

 private:
  static constexpr std::int64_t kCheckInterval = std::int64_t{1} << 20;

  Request& request_;
  std::int64_t limit_;
  std::int64_t done_ = 0;
  std::int64_t next_check_ = 0;
};

}  // namespace bloscfs::fs
