#pragma once
// Limits the messages that each user may cause. All users share the log, so no user may fill it, or
// the disk that it is on.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include <sys/types.h>

namespace bloscfs::fs {

/// Not thread-safe.
class LogAllowance {
 public:
  using Clock = std::chrono::steady_clock;
  /// The messages that a user may cause at once, and the time until one more is allowed.
  static constexpr int kBurst = 100;
  static constexpr std::chrono::seconds kInterval{6};
  /// Users who have an account of their own. All further users share one account.
  static constexpr std::size_t kMaxUsers = 1000;

  struct Verdict {
    bool may_be_logged;
    bool is_last;            ///< the next message will be dropped
    std::uint64_t left_out;  ///< this user's messages that were dropped since the last logged one
  };
  Verdict ask(uid_t user, Clock::time_point now);

 private:
  struct Account {
    int left = kBurst;
    Clock::time_point since;  ///< when `left` was counted
    std::uint64_t left_out = 0;
  };

  std::unordered_map<uid_t, Account> accounts_;
};

}  // namespace bloscfs::fs
