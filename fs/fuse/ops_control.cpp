// FUSE operations for the mount as a whole.

#include <cerrno>

#include "fs/fuse/in_turn.hpp"
#include "fs/fuse/mount_attributes.hpp"
#include "fs/fuse/remount.hpp"
#include "fs/fuse/watched_operation.hpp"

namespace bloscfs::fs {
namespace {

void op_ioctl(fuse_req_t request, fuse_ino_t inode, unsigned command, void*, fuse_file_info*,
              unsigned, const void*, std::size_t, std::size_t) {
  in_turn(request, inode, "ioctl", [=] {
    if (command != kCommitRequest || inode != kRootId) {
      fuse_reply_err(request, ENOTTY);
      return;
    }
    if (!may_manage(request)) {
      fuse_reply_err(request, EPERM);
      return;
    }
    TurnAtNeed::need();
    filesystem(request).commit_written();
    fuse_reply_ioctl(request, 0, nullptr, 0);
  });
}

}  // namespace

void add_control_operations(fuse_lowlevel_ops& ops) {
  ops.ioctl = watched<Operation::ioctl, op_ioctl>;
}

}  // namespace bloscfs::fs
