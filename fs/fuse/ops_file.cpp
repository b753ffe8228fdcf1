// FUSE operations on open files.

#include <iterator>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include <fcntl.h>
#include <sys/types.h>

#include "fs/fuse/kernel_channel.hpp"
#include "fs/fuse/kernel_readahead.hpp"
#include "fs/fuse/reply.hpp"
#include "fs/fuse/serve.hpp"

namespace bloscfs::fs {
namespace {

void reply_open(KernelRequest& request, const fuse_file_info& info, bool may_be_mapped) {
  Mount& mount = mount_of(request);
  mount_state(request).kernel_readahead->before_open(may_be_mapped);
  if (fuse_reply_open(request, &info) != 0)
    run_unanswered("open", [&](Request& rest) { mount.release(rest, info.fh); });
}

/// Has the kernel forget the attributes of a changed file, unless another thread has done so since
/// the change.
void notify_kernel_of_change(MountState& state, fuse_ino_t inode) {
  Source& source = state.mount->source();
  const MutexLock one_at_a_time(state.telling);
  if (!source.begin_notifying_kernel(inode)) return;
  fuse_lowlevel_notify_inval_inode(state.session, inode, -1, 0);
  source.end_notifying_kernel(inode);
}

/// Replies to the open of a changed file once the kernel has forgotten its attributes, so that the
/// program sees the new size. Waits for flushes of the inode first: the kernel ignores attributes
/// that it requests during an invalidation.
void reply_open_after_notice(KernelRequest& request, fuse_ino_t inode, const fuse_file_info& info,
                             bool may_be_mapped) {
  const auto reply = [=](KernelRequest& told) {
    notify_kernel_of_change(mount_state(told), inode);
    reply_open(told, info, may_be_mapped);
  };
  mount_state(request).kernel_flush->after(
      inode,
      later(request, request.hand_over(), frame::WaitReason::kernel, Operation::open, reply));
}

void op_open(fuse_req_t raw, fuse_ino_t inode, fuse_file_info* given) {
  const bool clears_setid_bits = request_clears_setid_bits(raw);
  serve(raw, inode, Operation::open, [=, info = *given](KernelRequest& request) {
    fuse_file_info reply = info;
    Mount& mount = mount_of(request);
    Source& source = source_of(request);
    request.limit_if_far(inode);
    if (clears_setid_bits) source.drop_privileges(request, inode);
    const Mount::Opened opened = mount.open(request, inode, info.flags);
    reply.fh = opened.handle;
    // A container's node stands for one state of the container, so the kernel's cached pages stay
    // valid.
    reply.keep_cache = opened.changed ? 0 : 1;
    // The close of a read-only handle has nothing to report.
    reply.noflush = (info.flags & O_ACCMODE) == O_RDONLY ? 1 : 0;
    // A truncating open must not wait for a flush, since the kernel writes no pages before the
    // reply. The kernel knows the new size without the notice.
    if (opened.changed && (info.flags & O_TRUNC) == 0)
      reply_open_after_notice(request, inode, reply, opened.may_be_mapped);
    else
      reply_open(request, reply, opened.may_be_mapped);
  });
}

void op_release(fuse_req_t raw, fuse_ino_t inode, fuse_file_info* info) {
  // Serves a waiting close even after the session has ended: the close may have to turn a plain
  // file into a frame.
  serve(
      raw, inode, Operation::release,
      [number = info->fh](KernelRequest& request) {
        mount_of(request).release(request, number);
        fuse_reply_err(request, 0);
      },
      AtSessionEnd::serve);
}

void reply_from_descriptor(KernelRequest& request, const DescriptorRange& range) {
  fuse_bufvec buffer = FUSE_BUFVEC_INIT(range.size);
  buffer.buf[0].flags = static_cast<fuse_buf_flags>(FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK);
  buffer.buf[0].fd = range.descriptor;
  buffer.buf[0].pos = range.offset;
  request.add_bytes(range.size);
  fuse_reply_data(request, &buffer, FUSE_BUF_SPLICE_MOVE);
}

void op_read(fuse_req_t raw, fuse_ino_t inode, std::size_t size, off_t offset,
             fuse_file_info* info) {
  // Reports this read to the readahead. Only once, so not in the body, which may be called twice.
  // Errors are ignored here, since the read itself meets and reports them.
  run_unanswered("read", [&](Request&) {
    mount_of(raw).handle(info->fh)->expect_more(offset, static_cast<std::int64_t>(size),
                                                fuse_req_ctx(raw)->uid);
  });
  serve(raw, inode, Operation::read, [=, number = info->fh](KernelRequest& request) {
    request.limit();
    const auto handle = mount_of(request).handle(number);
    const ReadBytes bytes = handle->read(request, offset, static_cast<std::int64_t>(size));
    if (const auto* range = std::get_if<DescriptorRange>(&bytes))
      return reply_from_descriptor(request, *range);
    const ReplyData& data = std::get<ReplyData>(bytes);
    const auto pieces = data.pieces();
    request.add_bytes(static_cast<std::size_t>(data.size()));
    fuse_reply_iov(request, pieces.data(), static_cast<int>(pieces.size()));
  });
}

void op_lseek(fuse_req_t raw, fuse_ino_t inode, off_t offset, int whence, fuse_file_info* info) {
  serve(raw, inode, Operation::lseek, [=, number = info->fh](KernelRequest& request) {
    const auto handle = mount_of(request).handle(number);
    const auto reply = [=](KernelRequest& flushed) {
      flushed.limit();
      fuse_reply_lseek(flushed, handle->seek(flushed, offset, whence));
    };
    // Without writers, the kernel has no dirty pages of the file.
    if (!handle->has_writers()) return reply(request);
    mount_state(request).kernel_flush->before(
        inode,
        later(request, request.hand_over(), frame::WaitReason::kernel, Operation::lseek, reply));
  });
}

/// Returns where the bytes of a write request go. If several programs append at once, the kernel
/// may send offsets that are not at the end. So the bytes go to the end that the daemon knows. With
/// the kernel's writeback cache, only the kernel knows the end.
WritePlace place_of(fuse_req_t request, off_t offset, const fuse_file_info& info) {
  const bool are_pages = info.writepage != 0;
  const bool appends =
      (info.flags & O_APPEND) != 0 && !are_pages && !mount_state(request).writeback;
  return {offset, appends, are_pages};
}

/// Called when a waiting write request is interrupted. Replies that the write succeeded, since the
/// bytes are already in the file.
void end_waiting_for_room(fuse_req_t request, void* budget) {
  if (const auto left = static_cast<DirtyBudget*>(budget)->leave(request)) left->reply();
}

/// Replies to a write. If the user's dirty bytes leave no room, keeps the request until there is
/// room, without occupying a thread.
void reply_write_when_there_is_room(KernelRequest& request, const FileHandle& handle,
                                    std::size_t count) {
  DirtyBudget& budget = mount_of(request).dirty_budget();
  const auto user = handle.dirty_user();
  if (!user || budget.has_room(*user)) {
    fuse_reply_write(request, count);
    return;
  }
  const fuse_req_t raw = request;
  const auto reply = later(raw, request.hand_over(), frame::WaitReason::room, Operation::write,
                           [=](KernelRequest& kept) { fuse_reply_write(kept, count); });
  // Must come before reply_later(), after which another thread may answer the request.
  fuse_req_interrupt_func(raw, end_waiting_for_room, &budget);
  const auto is_interrupted = [raw] { return fuse_req_interrupted(raw) != 0; };
  if (!budget.reply_later(*user, {raw, count, reply}, is_interrupted)) reply();
}

/// `cells` is empty if the bytes are in one piece.
void write_and_reply(KernelRequest& request, FileHandle& handle, const WritePlace& place,
                     codec::Bytes bytes, std::span<PooledBuffer> cells) {
  const std::size_t count =
      cells.empty() ? handle.write(request, place, bytes) : handle.write(request, place, cells);
  request.add_bytes(count);
  reply_write_when_there_is_room(request, handle, count);
}

/// Keeps the bytes of a write request while it waits for a slot.
struct KeptBytes {
  KeptBytes(codec::Bytes in_one_piece, std::span<PooledBuffer> in_cells)
      : cells(std::make_move_iterator(in_cells.begin()), std::make_move_iterator(in_cells.end())) {
    if (cells.empty()) bytes.assign(in_one_piece.begin(), in_one_piece.end());
  }

  std::vector<PooledBuffer> cells;
  std::vector<std::uint8_t> bytes;  ///< if there are no cells
};

void op_write_buf(fuse_req_t raw, fuse_ino_t inode, fuse_bufvec* in, off_t offset,
                  fuse_file_info* info) {
  const bool clears_setid_bits = request_clears_setid_bits(raw);
  const WritePlace place = place_of(raw, offset, *info);
  const std::span<PooledBuffer> cells = written_cells(raw);
  // Without cells, libfuse has all bytes in one piece.
  const codec::Bytes bytes(static_cast<const std::uint8_t*>(in->buf[0].mem), in->buf[0].size);
  const auto write = [=, number = info->fh](KernelRequest& request, codec::Bytes piece,
                                            std::span<PooledBuffer> pieces) {
    if (clears_setid_bits) source_of(request).drop_privileges(request, inode);
    write_and_reply(request, *mount_of(request).handle(number), place, piece, pieces);
  };
  serve_when_slot_free(
      raw, inode, Operation::write, [&](KernelRequest& request) { write(request, bytes, cells); },
      [&] {
        return [write, kept = std::make_shared<KeptBytes>(bytes, cells)](KernelRequest& request) {
          write(request, kept->bytes, kept->cells);
        };
      });
}

void op_fsync(fuse_req_t raw, fuse_ino_t inode, int, fuse_file_info* info) {
  serve(raw, inode, Operation::fsync, [=, number = info->fh](KernelRequest& request) {
    mount_of(request).handle(number)->sync(request);
    // After fsync, a program must read what SOURCE holds. If another program has replaced the file,
    // the kernel may still have pages of the old state, so the reply waits for the flushes of the
    // inode.
    mount_state(request).kernel_flush->after(
        inode, later(request, request.hand_over(), frame::WaitReason::kernel, Operation::fsync,
                     [](KernelRequest& synced) { fuse_reply_err(synced, 0); }));
  });
}

void op_flush(fuse_req_t raw, fuse_ino_t inode, fuse_file_info* info) {
  serve(raw, inode, Operation::flush, [number = info->fh](KernelRequest& request) {
    mount_of(request).handle(number)->flush(request);
    fuse_reply_err(request, 0);
  });
}

void op_fallocate(fuse_req_t raw, fuse_ino_t inode, int mode, off_t offset, off_t size,
                  fuse_file_info* info) {
  const bool clears_setid_bits = request_clears_setid_bits(raw);
  serve(raw, inode, Operation::fallocate, [=, number = info->fh](KernelRequest& request) {
    Mount& mount = mount_of(request);
    Source& source = source_of(request);
    if (clears_setid_bits) source.drop_privileges(request, inode);
    mount.handle(number)->allocate(request, mode, offset, size);
    fuse_reply_err(request, 0);
  });
}

void op_copy_file_range(fuse_req_t raw, fuse_ino_t, off_t in_offset, fuse_file_info* in_info,
                        fuse_ino_t out_inode, off_t out_offset, fuse_file_info* out_info,
                        std::size_t size, int flags) {
  const bool clears_setid_bits = request_clears_setid_bits(raw);
  serve(raw, out_inode, Operation::copy_file_range,
        [=, from = in_info->fh, to = out_info->fh](KernelRequest& request) {
          Mount& mount = mount_of(request);
          Source& source = source_of(request);
          if (clears_setid_bits) source.drop_privileges(request, out_inode);
          const auto in = mount.handle(from);
          const auto out = mount.handle(to);
          const CopiedRange range{in_offset, out_offset, size, static_cast<unsigned>(flags)};
          fuse_reply_write(request, out->copy_from(request, *in, range));
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
