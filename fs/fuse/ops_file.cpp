// FUSE operations on open files.

#include <cerrno>
#include <memory>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "frame/store/throw_errno.hpp"
#include "fs/fuse/in_turn.hpp"
#include "fs/fuse/kernel_channel.hpp"
#include "fs/fuse/reply.hpp"
#include "fs/support/request_limits.hpp"

namespace bloscfs::fs {
namespace {

void reply_open(fuse_req_t request, const fuse_file_info& info) {
  Filesystem& fs = filesystem(request);
  if (fuse_reply_open(request, &info) != 0) run_unanswered("open", [&] { fs.release(info.fh); });
}

/// Has the kernel forget the attributes of a file that has changed, unless somebody else has done
/// so since.
void tell_change(MountState& state, fuse_ino_t inode) {
  Tree& tree = state.filesystem->tree();
  const MutexLock one_at_a_time(state.telling);
  if (!tree.begin_telling(inode)) return;
  fuse_lowlevel_notify_inval_inode(state.session, inode, -1, 0);
  tree.end_telling(inode);
}

/// A file that has changed has its new size when it is open: the kernel does not believe what it
/// asked while it was told to forget.
void reply_open_when_told(fuse_req_t request, fuse_ino_t inode, const fuse_file_info& info) {
  mount_state(request).kernel_flush->after(inode, [=] {
    guarded(request, "open", [&] {
      tell_change(mount_state(request), inode);
      reply_open(request, info);
    });
  });
}

void op_open(fuse_req_t request, fuse_ino_t inode, fuse_file_info* given) {
  const bool drops_privileges = request_drops_privileges(request);
  in_turn(request, inode, "open", [=, info = *given] {
    fuse_file_info reply = info;
    Filesystem& fs = filesystem(request);
    if (drops_privileges) fs.drop_privileges(inode, caller_of(request));
    const Filesystem::Opened opened = fs.open(inode, info.flags);
    reply.fh = opened.handle;
    // A container's node is one state of it, so its pages stay right.
    reply.keep_cache = opened.changed ? 0 : 1;
    // A reader's close has nothing to report.
    reply.noflush = (info.flags & O_ACCMODE) == O_RDONLY ? 1 : 0;
    // The kernel, which writes no pages while it waits for a truncating open, knows the size then.
    if (opened.changed && (info.flags & O_TRUNC) == 0)
      reply_open_when_told(request, inode, reply);
    else
      reply_open(request, reply);
  });
}

void op_release(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  guarded(request, "release", [&] {
    filesystem(request).release(info->fh);
    fuse_reply_err(request, 0);
  });
}

void read_plain(fuse_req_t request, int fd, std::size_t size, off_t offset) {
  fuse_bufvec buffer = FUSE_BUFVEC_INIT(size);
  buffer.buf[0].flags = static_cast<fuse_buf_flags>(FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK);
  buffer.buf[0].fd = fd;
  buffer.buf[0].pos = offset;
  fuse_reply_data(request, &buffer, FUSE_BUF_SPLICE_MOVE);
}

void read_container(fuse_req_t request, Filesystem::FileHandle& handle, std::size_t size,
                    off_t offset) {
  Filesystem& fs = filesystem(request);
  const RequestLimits limits([request] { return fuse_req_interrupted(request) != 0; });
  ReplyData data(fs.cache().pages(), fs.is_kept_by_kernel());
  fs.read(handle, offset, static_cast<std::int64_t>(size), data);
  fuse_reply_iov(request, data.pieces().data(), static_cast<int>(data.pieces().size()));
}

void op_read(fuse_req_t request, fuse_ino_t inode, std::size_t size, off_t offset,
             fuse_file_info* info) {
  guarded(request, "read", [&] {
    Filesystem& fs = filesystem(request);
    const auto handle = fs.handle(info->fh);
    if (handle->file->plain) {
      read_plain(request, handle->plain ? handle->plain->fd() : handle->file->plain.get(), size,
                 offset);
      return;
    }
    const uid_t user = fuse_req_ctx(request)->uid;
    fs.expect_more(*handle, offset, static_cast<std::int64_t>(size), user);
    in_turn(request, inode, "read", [=] { read_container(request, *handle, size, offset); });
  });
}

off_t seek_plain(int fd, off_t offset, int whence) {
  const off_t found = ::lseek(fd, offset, whence);
  if (found < 0) frame::throw_errno("lseek");
  return found;
}

void reply_lseek(fuse_req_t request, const Filesystem::FileHandle& handle, off_t offset,
                 int whence) {
  if (handle.file->plain) {
    fuse_reply_lseek(request, seek_plain(handle.file->plain.get(), offset, whence));
    return;
  }
  const RequestLimits limits([request] { return fuse_req_interrupted(request) != 0; });
  const Content& content = *handle.file->content;
  const auto found = whence == SEEK_DATA ? content.seek_data(offset) : content.seek_hole(offset);
  if (!found) {
    fuse_reply_err(request, ENXIO);
    return;
  }
  fuse_reply_lseek(request, *found);
}

void op_lseek(fuse_req_t request, fuse_ino_t inode, off_t offset, int whence,
              fuse_file_info* info) {
  guarded(request, "lseek", [&] {
    const auto handle = filesystem(request).handle(info->fh);
    const auto reply = [=] { reply_lseek(request, *handle, offset, whence); };
    if (!filesystem(request).has_writers(*handle)) return in_turn(request, inode, "lseek", reply);
    // That thread is none for requests, and must not go on with those of others.
    mount_state(request).kernel_flush->before(inode, [=] { guarded(request, "lseek", reply); });
  });
}

/// The bytes of a write request, which libfuse has in one piece if they are not in cells.
std::vector<iovec> pieces_of(fuse_req_t request, const fuse_bufvec& in) {
  std::vector<iovec> pieces;
  for (PooledBuffer& cell : written_cells(request)) pieces.push_back({cell.data(), cell.size()});
  if (pieces.empty()) pieces.push_back({in.buf[0].mem, in.buf[0].size});
  return pieces;
}

/// `keeps_time`: the kernel has collected the bytes, and tells by itself when they were written.
void write_plain(fuse_req_t request, int fd, const std::vector<iovec>& pieces, off_t offset,
                 bool keeps_time) {
  struct stat before {};
  if (keeps_time && ::fstat(fd, &before) != 0) frame::throw_errno("fstat");
  const ssize_t written = ::pwritev(fd, pieces.data(), static_cast<int>(pieces.size()), offset);
  if (written < 0) frame::throw_errno("pwritev");
  if (keeps_time) {
    const timespec times[2] = {kUnchangedTime, before.st_mtim};
    ::futimens(fd, times);  // who may not set times has none to keep
  }
  fuse_reply_write(request, static_cast<std::size_t>(written));
}

void op_write_buf(fuse_req_t request, fuse_ino_t inode, fuse_bufvec* in, off_t offset,
                  fuse_file_info* info) {
  guarded(request, "write", [&] {
    Filesystem& fs = filesystem(request);
    if (request_drops_privileges(request)) fs.drop_privileges(inode, caller_of(request));
    const auto handle = fs.handle(info->fh);
    if (handle->plain) {
      const int fd = info->writepage ? handle->plain->paging_fd() : handle->plain->fd();
      return write_plain(request, fd, pieces_of(request, *in), offset,
                         mount_state(request).writeback && info->writepage);
    }
    // Several who append at once may each have the kernel believe in another end. With its
    // writeback cache it decides on that alone.
    const bool appends =
        (info->flags & O_APPEND) != 0 && !info->writepage && !mount_state(request).writeback;
    const auto at = appends ? std::nullopt : std::optional<std::int64_t>(offset);
    const auto what = info->writepage ? Filesystem::WriteOf::pages : Filesystem::WriteOf::bytes;
    const fuse_buf& bytes = in->buf[0];
    if (const auto cells = written_cells(request); !cells.empty())
      fs.write(*handle, what, at, cells);
    else
      fs.write(*handle, what, at,
               codec::Bytes(static_cast<const std::uint8_t*>(bytes.mem), bytes.size));
    fuse_reply_write(request, bytes.size);
  });
}

void op_fsync(fuse_req_t request, fuse_ino_t inode, int, fuse_file_info* info) {
  in_turn(request, inode, "fsync", [request, number = info->fh] {
    Filesystem& fs = filesystem(request);
    const auto handle = fs.handle(number);
    // The kernel keeps the file locked meanwhile, also for who only reads it.
    if (fs.has_to_store(*handle)) TurnAtNeed::need();
    fs.sync(*handle);
    fuse_reply_err(request, 0);
  });
}

void op_flush(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info) {
  in_turn(request, inode, "flush", [request, number = info->fh] {
    Filesystem& fs = filesystem(request);
    const auto handle = fs.handle(number);
    // With sync=strict it commits.
    if (handle->writes) TurnAtNeed::need();
    fs.flush(*handle);
    fuse_reply_err(request, 0);
  });
}

void op_fallocate(fuse_req_t request, fuse_ino_t inode, int mode, off_t offset, off_t size,
                  fuse_file_info* info) {
  guarded(request, "fallocate", [&] {
    Filesystem& fs = filesystem(request);
    if (request_drops_privileges(request)) fs.drop_privileges(inode, caller_of(request));
    fs.allocate(*fs.handle(info->fh), mode, offset, size);
    fuse_reply_err(request, 0);
  });
}

/// Between plain files; the kernel copies for the others.
void op_copy_file_range(fuse_req_t request, fuse_ino_t, off_t in_offset, fuse_file_info* in_info,
                        fuse_ino_t out_inode, off_t out_offset, fuse_file_info* out_info,
                        std::size_t size, int flags) {
  guarded(request, "copy_file_range", [&] {
    Filesystem& fs = filesystem(request);
    if (request_drops_privileges(request)) fs.drop_privileges(out_inode, caller_of(request));
    const auto in = fs.handle(in_info->fh);
    const auto out = fs.handle(out_info->fh);
    if (!in->file->plain || !out->plain) frame::throw_errno(EOPNOTSUPP, "copy_file_range");
    const ssize_t copied = ::copy_file_range(in->file->plain.get(), &in_offset, out->plain->fd(),
                                             &out_offset, size, static_cast<unsigned>(flags));
    if (copied < 0) frame::throw_errno("copy_file_range");
    fuse_reply_write(request, static_cast<std::size_t>(copied));
  });
}

}  // namespace

void add_file_operations(fuse_lowlevel_ops& ops) {
  ops.open = op_open;
  ops.release = op_release;
  ops.read = op_read;
  ops.lseek = op_lseek;
  ops.write_buf = op_write_buf;
  ops.fsync = op_fsync;
  ops.flush = op_flush;
  ops.fallocate = op_fallocate;
  ops.copy_file_range = op_copy_file_range;
}

}  // namespace bloscfs::fs
