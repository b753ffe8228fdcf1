// FUSE operations on open files.

#include <iterator>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include <fcntl.h>
#include <sys/types.h>

#include "fs/fuse/far_limits.hpp"
#include "fs/fuse/in_turn.hpp"
#include "fs/fuse/kernel_channel.hpp"
#include "fs/fuse/reply.hpp"
#include "fs/fuse/watched_operation.hpp"
#include "fs/support/request_limits.hpp"

namespace bloscfs::fs {
namespace {

void reply_open(fuse_req_t request, const fuse_file_info& info) {
  Mount& mount = mount_of(request);
  if (fuse_reply_open(request, &info) != 0) run_unanswered("open", [&] { mount.release(info.fh); });
}

/// Has the kernel forget the attributes of a file that has changed, unless somebody else has done
/// so since.
void tell_change(MountState& state, fuse_ino_t inode) {
  Source& source = state.mount->source();
  const MutexLock one_at_a_time(state.telling);
  if (!source.begin_telling(inode)) return;
  fuse_lowlevel_notify_inval_inode(state.session, inode, -1, 0);
  source.end_telling(inode);
}

/// A file that has changed has its new size when it is open: the kernel does not believe what it
/// asked while it was told to forget.
void reply_open_when_told(fuse_req_t request, fuse_ino_t inode, const fuse_file_info& info) {
  const auto reply = [=] {
    guarded(request, "open", [&] {
      tell_change(mount_state(request), inode);
      reply_open(request, info);
    });
  };
  mount_state(request).kernel_flush->after(inode,
                                           RequestWatch::carried(frame::WaitReason::kernel, reply));
}

void op_open(fuse_req_t request, fuse_ino_t inode, fuse_file_info* given) {
  const bool drops_privileges = request_drops_privileges(request);
  in_turn(request, inode, "open", [=, info = *given] {
    fuse_file_info reply = info;
    Mount& mount = mount_of(request);
    Source& source = source_of(request);
    const FarLimits limits(request, inode);
    if (drops_privileges) source.drop_privileges(inode, caller_of(request));
    const Mount::Opened opened = mount.open(inode, info.flags);
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

void op_release(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info) {
  // The close also happens at the end of the session: a plain file may have to become a frame.
  in_turn(
      request, inode, "release",
      [request, number = info->fh] {
        mount_of(request).release(number);
        fuse_reply_err(request, 0);
      },
      AtSessionEnd::serve);
}

void reply_from_descriptor(fuse_req_t request, const DescriptorRange& range) {
  fuse_bufvec buffer = FUSE_BUFVEC_INIT(range.size);
  buffer.buf[0].flags = static_cast<fuse_buf_flags>(FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK);
  buffer.buf[0].fd = range.descriptor;
  buffer.buf[0].pos = range.offset;
  RequestWatch::add_bytes(range.size);
  fuse_reply_data(request, &buffer, FUSE_BUF_SPLICE_MOVE);
}

void reply_read(fuse_req_t request, FileHandle& handle, std::size_t size, off_t offset) {
  const RequestLimits limits([request] { return is_given_up(request); });
  const ReadBytes bytes = handle.read(offset, static_cast<std::int64_t>(size));
  if (const auto* range = std::get_if<DescriptorRange>(&bytes))
    return reply_from_descriptor(request, *range);
  const ReplyData& data = std::get<ReplyData>(bytes);
  const auto pieces = data.pieces();
  RequestWatch::add_bytes(static_cast<std::size_t>(data.size()));
  fuse_reply_iov(request, pieces.data(), static_cast<int>(pieces.size()));
}

void op_read(fuse_req_t request, fuse_ino_t inode, std::size_t size, off_t offset,
             fuse_file_info* info) {
  guarded(request, "read", [&] {
    const auto handle = mount_of(request).handle(info->fh);
    const uid_t user = fuse_req_ctx(request)->uid;
    handle->expect_more(offset, static_cast<std::int64_t>(size), user);
    in_turn(request, inode, "read", [=] { reply_read(request, *handle, size, offset); });
  });
}

void reply_lseek(fuse_req_t request, const FileHandle& handle, off_t offset, int whence) {
  const RequestLimits limits([request] { return is_given_up(request); });
  fuse_reply_lseek(request, handle.seek(offset, whence));
}

void op_lseek(fuse_req_t request, fuse_ino_t inode, off_t offset, int whence,
              fuse_file_info* info) {
  guarded(request, "lseek", [&] {
    const auto handle = mount_of(request).handle(info->fh);
    const auto reply = [=] { reply_lseek(request, *handle, offset, whence); };
    if (!handle->has_writers()) return in_turn(request, inode, "lseek", reply);
    // That thread is none for requests, and must not go on with those of others.
    mount_state(request).kernel_flush->before(
        inode, RequestWatch::carried(frame::WaitReason::kernel,
                                     [=] { guarded(request, "lseek", reply); }));
  });
}

/// Of a write request. Several who append at once may each have the kernel believe in another end.
/// With its writeback cache it decides on that alone.
WritePlace place_of(fuse_req_t request, off_t offset, const fuse_file_info& info) {
  const bool are_pages = info.writepage != 0;
  const bool appends =
      (info.flags & O_APPEND) != 0 && !are_pages && !mount_state(request).writeback;
  return {offset, appends, are_pages};
}

/// The bytes are in the file: whoever is interrupted while there is no room leaves as if there
/// were.
void end_waiting_for_room(fuse_req_t request, void* budget) {
  if (const auto left = static_cast<DirtyBudget*>(budget)->leave(request)) left->reply();
}

/// Without room the request is kept, and holds no thread.
void reply_write_when_there_is_room(fuse_req_t request, const FileHandle& handle,
                                    std::size_t count) {
  DirtyBudget& budget = mount_of(request).dirty_budget();
  const auto user = handle.dirty_user();
  if (!user || budget.has_room(*user)) {
    fuse_reply_write(request, count);
    return;
  }
  const auto reply =
      RequestWatch::carried(frame::WaitReason::room, [=] { fuse_reply_write(request, count); });
  // Before another thread may have answered the request.
  fuse_req_interrupt_func(request, end_waiting_for_room, &budget);
  const auto is_interrupted = [request] { return fuse_req_interrupted(request) != 0; };
  if (!budget.reply_later(*user, {request, count, reply}, is_interrupted)) reply();
}

/// Of a write request.
struct WrittenBytes {
  std::vector<PooledBuffer> cells;
  std::vector<std::uint8_t> bytes;  ///< where there are no cells
};

/// `cells` are empty where the bytes are in one piece.
void write_and_reply(fuse_req_t request, FileHandle& handle, const WritePlace& place,
                     codec::Bytes bytes, std::span<PooledBuffer> cells) {
  const std::size_t count = cells.empty() ? handle.write(place, bytes) : handle.write(place, cells);
  RequestWatch::add_bytes(count);
  reply_write_when_there_is_room(request, handle, count);
}

void op_write_buf(fuse_req_t request, fuse_ino_t inode, fuse_bufvec* in, off_t offset,
                  fuse_file_info* info) {
  guarded(request, "write", [&] {
    Mount& mount = mount_of(request);
    Source& source = source_of(request);
    if (request_drops_privileges(request)) source.drop_privileges(inode, caller_of(request));
    const auto handle = mount.handle(info->fh);
    const WritePlace place = place_of(request, offset, *info);
    const auto cells = written_cells(request);
    // What is not in cells libfuse has in one piece.
    const fuse_buf& all = in->buf[0];
    const codec::Bytes bytes(static_cast<const std::uint8_t*>(all.mem), all.size);
    std::size_t size = bytes.size();
    if (!cells.empty()) size = 0;
    for (const PooledBuffer& cell : cells) size += cell.size();
    if (!handle->needs_turn_to_write(place, size))
      return write_and_reply(request, *handle, place, bytes, cells);
    const auto kept = std::make_shared<WrittenBytes>();
    if (cells.empty())
      kept->bytes.assign(bytes.begin(), bytes.end());
    else
      kept->cells.assign(std::make_move_iterator(cells.begin()),
                         std::make_move_iterator(cells.end()));
    in_turn(request, inode, "write",
            [=] { write_and_reply(request, *handle, place, kept->bytes, kept->cells); });
  });
}

void op_fsync(fuse_req_t request, fuse_ino_t inode, int, fuse_file_info* info) {
  in_turn(request, inode, "fsync", [request, number = info->fh] {
    mount_of(request).handle(number)->sync();
    fuse_reply_err(request, 0);
  });
}

void op_flush(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info) {
  in_turn(request, inode, "flush", [request, number = info->fh] {
    mount_of(request).handle(number)->flush();
    fuse_reply_err(request, 0);
  });
}

void op_fallocate(fuse_req_t request, fuse_ino_t inode, int mode, off_t offset, off_t size,
                  fuse_file_info* info) {
  const bool drops_privileges = request_drops_privileges(request);
  in_turn(request, inode, "fallocate", [=, number = info->fh] {
    Mount& mount = mount_of(request);
    Source& source = source_of(request);
    if (drops_privileges) source.drop_privileges(inode, caller_of(request));
    mount.handle(number)->allocate(mode, offset, size);
    fuse_reply_err(request, 0);
  });
}

void op_copy_file_range(fuse_req_t request, fuse_ino_t, off_t in_offset, fuse_file_info* in_info,
                        fuse_ino_t out_inode, off_t out_offset, fuse_file_info* out_info,
                        std::size_t size, int flags) {
  const bool drops_privileges = request_drops_privileges(request);
  in_turn(request, out_inode, "copy_file_range", [=, from = in_info->fh, to = out_info->fh] {
    Mount& mount = mount_of(request);
    Source& source = source_of(request);
    if (drops_privileges) source.drop_privileges(out_inode, caller_of(request));
    const auto in = mount.handle(from);
    const auto out = mount.handle(to);
    const CopiedRange range{in_offset, out_offset, size, static_cast<unsigned>(flags)};
    fuse_reply_write(request, out->copy_from(*in, range));
  });
}

}  // namespace

void add_file_operations(fuse_lowlevel_ops& ops) {
  ops.open = watched<Operation::open, op_open>;
  ops.release = watched<Operation::release, op_release>;
  ops.read = watched<Operation::read, op_read>;
  ops.lseek = watched<Operation::lseek, op_lseek>;
  ops.write_buf = watched<Operation::write, op_write_buf>;
  ops.fsync = watched<Operation::fsync, op_fsync>;
  ops.flush = watched<Operation::flush, op_flush>;
  ops.fallocate = watched<Operation::fallocate, op_fallocate>;
  ops.copy_file_range = watched<Operation::copy_file_range, op_copy_file_range>;
}

}  // namespace bloscfs::fs
