#pragma once
// How much each user may have the daemon tell: a log is for all, and nobody may fill it, or the
// disk that it is on.

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
  /// Messages of one user at once, and the time in which one more may follow.
  static constexpr int kBurst = 100;
  static constexpr std::chrono::seconds kInterval{6};
  /// Users who are told from each other; more share one allowance.
  static constexpr std::size_t kMaxUsers = 1000;

  struct Verdict {
    bool may_be_told;
    bool is_last;            ///< the next ones will be left out
    std::uint64_t left_out;  ///< since the one before
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
