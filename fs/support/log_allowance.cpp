#include "fs/support/log_allowance.hpp"

#include <algorithm>
#include <utility>

namespace bloscfs::fs {
namespace {

/// Names the account that users without an account of their own share.
constexpr uid_t kOthers = static_cast<uid_t>(-1);

}  // namespace

LogAllowance::Verdict LogAllowance::ask(uid_t user, Clock::time_point now) {
  if (accounts_.count(user) == 0 && accounts_.size() >= kMaxUsers) {
    // A user without a message for that long has the full allowance again, and can be forgotten.
    std::erase_if(accounts_, [&](const auto& entry) {
      return entry.second.left_out == 0 && now - entry.second.since > kBurst * kInterval;
    });
    if (accounts_.size() >= kMaxUsers) user = kOthers;
  }
  const auto [known, is_new] = accounts_.try_emplace(user);
  Account& account = known->second;
  if (is_new) account.since = now;
  const auto more = std::min<std::int64_t>((now - account.since) / kInterval, kBurst);
  account.left = std::min(kBurst, account.left + static_cast<int>(more));
  // The elapsed part of the current interval counts towards the next message.
  account.since = more == kBurst ? now : account.since + more * kInterval;
  if (account.left == 0) {
    account.left_out++;
    return {false, false, 0};
  }
  account.left--;
  return {true, account.left == 0, std::exchange(account.left_out, 0)};
}

}  // namespace bloscfs::fs
