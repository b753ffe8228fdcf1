// FUSE operations for the mount as a whole.

#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <string>

#include "fs/fuse/mount_attributes.hpp"
#include "fs/fuse/remount.hpp"
#include "fs/fuse/running_options.hpp"
#include "fs/fuse/serve.hpp"

namespace bloscfs::fs {
namespace {

bool is_known(unsigned command) {
  return command == kCommitRequest || command == kChangeRequest || command == kUnmountBegins ||
         command == kUnmountRefused;
}

/// `text` may contain a zero byte, which ends it.
void change_options(KernelRequest& request, const std::string& text) {
  try {
    mount_state(request).running_options->change(text.substr(0, text.find('\0')));
    fuse_reply_ioctl(request, 0, nullptr, 0);
  } catch (const std::invalid_argument&) {
    fuse_reply_err(request, EINVAL);  // mount -o remount has checked the options, with a message
  }
}

void op_ioctl(fuse_req_t raw, fuse_ino_t inode, unsigned command, void*, fuse_file_info*, unsigned,
              const void* in, std::size_t in_size, std::size_t) {
  const std::string text(static_cast<const char*>(in), in_size);
  serve(raw, inode, Operation::ioctl, [=](KernelRequest& request) {
    if (!is_known(command) || inode != kRootId) {
      fuse_reply_err(request, ENOTTY);
      return;
    }
    if (!may_manage(request)) {
      fuse_reply_err(request, EPERM);
      return;
    }
    if (command == kChangeRequest) return change_options(request, text);
    if (command == kCommitRequest) {
      request.need_slot();
      mount_of(request).commit_written();
    } else {
      using Time = std::chrono::steady_clock;
      mount_state(request).unmount_begun =
          command == kUnmountBegins ? Time::now() : Time::time_point{};
    }
    fuse_reply_ioctl(request, 0, nullptr, 0);
  });
}

}  // namespace

void add_control_operations(fuse_lowlevel_ops& ops) { ops.ioctl = op_ioctl; }

}  // namespace bloscfs::fs
