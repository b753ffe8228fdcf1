#include "fs/fuse/dead_mount.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>

#include "fs/sandbox/unmount.hpp"
#include "fs/source/local/files/mount_table.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::fs {
namespace {

/// True if a FUSE filesystem without a daemon is mounted there: the kernel answers ENOTCONN. It
/// would answer from cached attributes for a second if it were not forced to ask.
bool is_dead(const std::string& mountpoint) {
  struct statx st {};
  return ::statx(AT_FDCWD, mountpoint.c_str(), AT_STATX_FORCE_SYNC, STATX_TYPE, &st) != 0 &&
         errno == ENOTCONN;
}

}  // namespace

void remove_dead_mount(const std::string& mountpoint) {
  if (!is_dead(mountpoint)) return;
  const auto entry = mount_at(mountpoint);
  if (!entry || entry->type != kMountType || !unmount_lazily(entry->point)) return;
  log::warn("removed a mount whose daemon had died");
}

}  // namespace bloscfs::fs
