#include "fs/source/local/space_watch.hpp"

#include <cerrno>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/btrfs.h>
#include <linux/dqblk_xfs.h>
#include <linux/quota.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::fs {
namespace {

/// Space that must be free in addition to the dirty bytes: for indexes, and for what other programs
/// write within kLookInterval.
constexpr std::uint64_t kReserve = std::uint64_t{64} << 20;
/// While much space is free, the free space is measured only this often.
constexpr std::chrono::seconds kLookInterval{1};
constexpr std::uint64_t kMuch = 4;  ///< "much" is this many times the needed space

/// True if the filesystem enforces quotas of users, groups or projects.
bool has_enforced_quotas(int directory) {
  fs_quota_statv state{};
  state.qs_version = FS_QSTATV_VERSION1;
  const long command = QCMD(Q_XGETQSTATV, USRQUOTA);
  constexpr int kEnforced = FS_QUOTA_UDQ_ENFD | FS_QUOTA_GDQ_ENFD | FS_QUOTA_PDQ_ENFD;
  return ::syscall(SYS_quotactl_fd, directory, command, 0, &state) == 0 &&
         (state.qs_flags & kEnforced) != 0;
}

/// True if Btrfs may limit the size of subvolumes: it has the directory `qgroups` in sysfs.
bool has_btrfs_limits(const frame::UniqueFd& directory) {
  const frame::UniqueFd readable(
      ::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  btrfs_ioctl_fs_info_args info{};
  if (!readable || ::ioctl(readable.get(), BTRFS_IOC_FS_INFO, &info) != 0) return false;
  const auto* const id = info.fsid;
  const std::string uuid =
      fmt::format("{:02x}-{:02x}-{:02x}-{:02x}-{:02x}", fmt::join(id, id + 4, ""),
                  fmt::join(id + 4, id + 6, ""), fmt::join(id + 6, id + 8, ""),
                  fmt::join(id + 8, id + 10, ""), fmt::join(id + 10, id + 16, ""));
  return ::access(("/sys/fs/btrfs/" + uuid + "/qgroups").c_str(), F_OK) == 0;
}

}  // namespace

bool enforces_quotas(const frame::UniqueFd& directory) {
  return has_enforced_quotas(directory.get()) || has_btrfs_limits(directory);
}

std::uint64_t SpaceWatch::free_bytes() const {
  const struct statvfs st = root_.stat_filesystem();
  return std::uint64_t{st.f_bavail} * st.f_frsize;
}

bool SpaceWatch::is_scarce() {
  if (has_quotas_) return true;
  const std::uint64_t needed = stats_.dirty_bytes + kReserve;
  const auto now = clock_.now();
  const MutexLock lock(mutex_);
  if (free_ / kMuch < needed || now - looked_ > kLookInterval) {
    free_ = free_bytes();
    looked_ = now;
  }
  return free_ < needed;
}

void SpaceWatch::require_unreserved() const {
  const struct statvfs st = root_.stat_filesystem();
  if (st.f_bavail == 0 && st.f_bfree > 0) frame::throw_errno(ENOSPC, "space reserved for root");
}

void SpaceWatch::require(std::int64_t size) const {
  if (size > 0 && static_cast<std::uint64_t>(size) >= free_bytes())
    frame::throw_errno(ENOSPC, "fallocate");
}

}  // namespace bloscfs::fs
