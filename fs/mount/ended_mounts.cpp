#include "fs/mount/ended_mounts.hpp"

#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>

#include <fmt/core.h>

#include "fs/source/local/files/mount_lock.hpp"
#include "fs/source/local/files/mount_table.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::fs {
namespace {

namespace filesystem = std::filesystem;

constexpr std::chrono::milliseconds kAskAgain{20};
constexpr std::chrono::seconds kUsualEnd{1};

}  // namespace

void WaitNotice::operator()() {
  if (was_notified_) return;
  const auto holder = find_bloscfs_mount(source_, true);
  if (!holder && clock_->now() - began_ < kUsualEnd) return;
  was_notified_ = true;
  // A mount that was remounted read-only still has the lock.
  const auto reader = holder ? std::nullopt : find_bloscfs_mount(source_);
  const std::string who =
      holder   ? "is mounted for writing at " + holder->point
      : reader ? fmt::format(
                     "is in use by another bloscfs or b2frame, perhaps the mount at {}, if "
                     "that was remounted read-only",
                     reader->point)
               : "is being written to by another bloscfs or b2frame";
  log::info(fmt::format("{}: {}; waiting up to {} s for its end", source_, who,
                        kMountLockTimeout.count()));
}

void wait_for_ended_mounts(const std::string& path, const frame::Clock& clock) {
  const auto end = clock.now() + kMountLockTimeout;
  std::error_code error;
  // Checks `path`, which may not exist yet, and each directory above it.
  for (filesystem::path place = filesystem::weakly_canonical(path, error); !error && !place.empty();
       place = place == place.parent_path() ? "" : place.parent_path()) {
    WaitNotice notice(place, clock);
    while (is_locked_by_other(place) && !find_bloscfs_mount(place) && clock.now() < end) {
      notice();
      std::this_thread::sleep_for(kAskAgain);
    }
  }
}

}  // namespace bloscfs::fs
