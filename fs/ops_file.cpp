// FUSE operations on open files.

#include <cerrno>
#include <memory>
#include <system_error>

#include <sys/types.h>
#include <unistd.h>

#include "fs/reply.hpp"

namespace bloscfs::fs {
namespace {

/// A negative offset leaves the pages alone.
void forget_attributes(fuse_req_t request, fuse_ino_t inode) {
  fuse_lowlevel_notify_inval_inode(mount_state(request).session, inode, -1, 0);
}

void op_open(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info) {
  guarded(request, "open", [&] {
    Filesystem& fs = filesystem(request);
    const Filesystem::Opened opened = fs.open(inode, info->flags);
    info->fh = opened.handle;
    // A container's node is one state of it, so its pages stay right.
    info->keep_cache = opened.changed ? 0 : 1;
    if (opened.changed) forget_attributes(request, inode);
    if (fuse_reply_open(request, info) != 0) fs.release(info->fh);
  });
}

void op_release(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  filesystem(request).release(info->fh);
  fuse_reply_err(request, 0);
}

void read_plain(fuse_req_t request, int fd, std::size_t size, off_t offset) {
  fuse_bufvec buffer = FUSE_BUFVEC_INIT(size);
  buffer.buf[0].flags = static_cast<fuse_buf_flags>(FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK);
  buffer.buf[0].fd = fd;
  buffer.buf[0].pos = offset;
  fuse_reply_data(request, &buffer, FUSE_BUF_SPLICE_MOVE);
}

void op_read(fuse_req_t request, fuse_ino_t, std::size_t size, off_t offset, fuse_file_info* info) {
  guarded(request, "read", [&] {
    Filesystem& fs = filesystem(request);
    const auto handle = fs.handle(info->fh);
    if (handle->file->plain) {
      read_plain(request, handle->file->plain.get(), size, offset);
      return;
    }
    ReplyData data;
    fs.read(*handle, offset, static_cast<std::int64_t>(size), data);
    fuse_reply_iov(request, data.pieces().data(), static_cast<int>(data.pieces().size()));
  });
}

off_t seek_plain(int fd, off_t offset, int whence) {
  const off_t found = ::lseek(fd, offset, whence);
  if (found < 0) throw std::system_error(errno, std::generic_category(), "lseek");
  return found;
}

void op_lseek(fuse_req_t request, fuse_ino_t, off_t offset, int whence, fuse_file_info* info) {
  guarded(request, "lseek", [&] {
    const auto handle = filesystem(request).handle(info->fh);
    if (handle->file->plain) {
      fuse_reply_lseek(request, seek_plain(handle->file->plain.get(), offset, whence));
      return;
    }
    const FileView& view = *handle->file->view;
    const auto found = whence == SEEK_DATA ? view.seek_data(offset) : view.seek_hole(offset);
    if (!found) {
      fuse_reply_err(request, ENXIO);
      return;
    }
    fuse_reply_lseek(request, *found);
  });
}

}  // namespace

void add_file_operations(fuse_lowlevel_ops& ops) {
  ops.open = op_open;
  ops.release = op_release;
  ops.read = op_read;
  ops.lseek = op_lseek;
}

}  // namespace bloscfs::fs
