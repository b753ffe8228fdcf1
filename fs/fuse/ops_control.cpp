// FUSE operations for the mount as a whole.

#include <cerrno>

#include <unistd.h>

#include "fs/fuse/in_turn.hpp"
#include "fs/fuse/remount.hpp"

namespace bloscfs::fs {
namespace {

void op_ioctl(fuse_req_t request, fuse_ino_t inode, unsigned command, void*, fuse_file_info*,
              unsigned, const void*, std::size_t, std::size_t) {
  in_turn(request, inode, "ioctl", [=] {
    if (command != kCommitRequest || inode != kRootId) {
      fuse_reply_err(request, ENOTTY);
      return;
    }
    const uid_t user = fuse_req_ctx(request)->uid;
    if (user != 0 && user != ::geteuid()) {
      fuse_reply_err(request, EPERM);
      return;
    }
    TurnAtNeed::need();
    filesystem(request).commit_written();
    fuse_reply_ioctl(request, 0, nullptr, 0);
  });
}

}  // namespace

void add_control_operations(fuse_lowlevel_ops& ops) { ops.ioctl = op_ioctl; }

}  // namespace bloscfs::fs
