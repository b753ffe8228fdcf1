#include "fs/mount/wait_notice.hpp"

#include <fmt/core.h>

#include "fs/source/local/files/mount_lock.hpp"
#include "fs/source/local/files/mount_table.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::fs {
namespace {

constexpr std::chrono::seconds kUsualEnd{1};

}  // namespace

void WaitNotice::operator()() {
  if (told_) return;
  const auto holder = find_bloscfs_mount(source_, true);
  if (!holder && clock_->now() - began_ < kUsualEnd) return;
  told_ = true;
  const std::string who = holder ? "is mounted for writing at " + holder->point
                                 : "is being written to by another bloscfs or b2frame";
  log::info(fmt::format("{}: {}; waiting up to {} s for its end", source_, who,
                        kMountLockPatience.count()));
}

}  // namespace bloscfs::fs
