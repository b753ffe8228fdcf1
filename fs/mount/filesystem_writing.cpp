// What changes files: their bytes, sizes, modes and owners, and when that is committed.

#include <cerrno>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/statvfs.h>

#include "codec/error.hpp"
#include "frame/store/lock_patience.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/mount/filesystem.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

}  // namespace

/// Each writer has the source file open for itself.
void Filesystem::open_plain(FileHandle& handle, int flags) {
  const KeyedMutex::Lock lock(plain_files_, handle.node);
  tree_.begin_plain_writing(handle.node);
  try {
    const auto object = tree_.object(handle.node);
    // With its writeback cache the kernel itself says where the end is.
    const int ignored = write_options_.writeback ? O_APPEND : 0;
    handle.plain = std::make_unique<const PlainFile>(*object, flags & ~ignored);
    if (handle.file) return;
    auto file = std::make_shared<OpenFile>();
    file->attributes = object->stat();
    file->plain = frame::UniqueFd(::fcntl(handle.plain->fd(), F_DUPFD_CLOEXEC, 0));
    handle.file = std::move(file);
  } catch (const std::exception&) {
    tree_.end_plain_writing(handle.node);
    throw;
  }
}

/// A plain file that has been left with the bytes of a container becomes a frame of those bytes.
void Filesystem::close_plain(NodeId node) {
  const KeyedMutex::Lock lock(plain_files_, node);
  if (tree_.is_last_plain_writer(node)) {
    try {
      if (classifier_.is_container(*tree_.object(node)))
        contents_.store_bytes_as_frame(node, names_.home(node));
    } catch (const std::exception& error) {
      log::error(
          fmt::format("a file with the bytes of a frame is left as it is: {}", error.what()));
    }
  }
  tree_.end_plain_writing(node);
}

bool Filesystem::has_writers(const FileHandle& handle) const {
  return handle.file->content ? handle.file->content->has_writers()
                              : tree_.has_plain_writers(handle.node);
}

/// ESTALE, once, for who has written to a state that is gone.
void Filesystem::tell_loss(FileHandle& handle) {
  const Content& content = *handle.file->content;
  const std::uint64_t known = handle.epoch.exchange(content.epoch());
  if (content.lost_contents_of(known)) throw_errno(ESTALE, "changed by another program");
}

Content& Filesystem::changing(FileHandle& handle) {
  if (!handle.writes) throw_errno(EBADF, "file handle is not open for writing");
  // Where nothing waits there is nothing to lose: what is written goes to what is there now.
  Content& content = *handle.file->content;
  if (!content.needs_commit() && content.is_overtaken()) contents_.try_follow(handle.node);
  tell_loss(handle);
  if (content.is_abandoned()) throw_errno(ESTALE, "changed by another program");
  committer_.note(handle.file->content, handle.file);
  return content;
}

void Filesystem::require_changeable(NodeId node, const Content& content) {
  try {
    content.require_changeable(*names_.home(node));
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::read_only_file_system ||
        dynamic_cast<const codec::Error*>(&error) != nullptr)
      log_bad_data(node, error);
    throw;
  }
}

void Filesystem::drop_privileges(NodeId node, const Caller& caller) {
  const struct stat st = tree_.attributes(node);
  const mode_t dropped = bits_to_drop(st.st_mode, st.st_gid, caller);
  if (dropped == 0) return;
  NewAttributes wanted;
  wanted.mode = st.st_mode & ~dropped;
  try {
    names_.set_attributes(node, wanted, nullptr);
  } catch (const std::system_error& error) {
    // Of a file that is not the daemon's SOURCE takes them itself, with the first byte.
    if (error.code() != std::errc::operation_not_permitted) throw;
  }
}

void Filesystem::set_attributes(NodeId node, NewAttributes wanted, const Caller& caller) {
  if (wanted.owner || wanted.group) {
    const struct stat st = tree_.attributes(node);
    const mode_t dropped = bits_to_drop(st.st_mode, st.st_gid, caller);
    // So the kernel also announces a write, for which no owner is needed; that tells by itself
    // which bits it takes.
    const bool names_nobody = wanted.owner == kUnchangedOwner && !wanted.group;
    if (names_nobody && caller.user != 0 && caller.user != st.st_uid) return;
    if (dropped != 0) wanted.mode = wanted.mode.value_or(st.st_mode) & ~dropped;
  }
  names_.set_attributes(node, wanted, &caller);
}

/// Again where the content goes on from another state meanwhile, unless that lost something.
template <typename Write>
void Filesystem::write_knowing(FileHandle& handle, WriteOf what, const Write& write) {
  if (what == WriteOf::pages) {
    if (!handle.writes) throw_errno(EBADF, "file handle is not open for writing");
    // Never to a state that nobody has looked at, which it would bring old bytes to.
    Content& content = *handle.file->content;
    const std::uint64_t epoch = content.epoch_of_pages();
    committer_.note(handle.file->content, handle.file);
    return write(content, epoch);
  }
  for (;;) {
    Content& content = changing(handle);
    const std::uint64_t epoch = handle.epoch;
    try {
      return write(content, epoch);
    } catch (const std::system_error& error) {
      if (error.code() != std::errc(ESTALE) || content.epoch() == epoch) throw;
    }
  }
}

void Filesystem::write(FileHandle& handle, WriteOf what, std::optional<std::int64_t> at,
                       codec::Bytes bytes) {
  write_knowing(handle, what,
                [&](Content& content, auto epoch) { content.write(at, bytes, epoch); });
}

void Filesystem::write(FileHandle& handle, WriteOf what, std::optional<std::int64_t> at,
                       std::span<PooledBuffer> cells) {
  write_knowing(handle, what,
                [&](Content& content, auto epoch) { content.write(at, cells, epoch); });
}

void Filesystem::truncate(FileHandle& handle, std::int64_t size) {
  if (handle.plain)
    handle.plain->truncate(size);
  else
    write_knowing(handle, WriteOf::bytes,
                  [&](Content& content, auto epoch) { content.resize(size, epoch); });
}

void Filesystem::resize(NodeId node, std::int64_t size) {
  if (!writable_) throw_errno(EROFS, "truncate");
  if (tree_.entry(node).is_container) {
    require_changeable(node, *container(node)->content);
    return contents_.resize(node, names_.home(node), size);
  }
  FileHandle handle;
  handle.node = node;
  open_plain(handle, O_WRONLY);
  try {
    handle.plain->truncate(size);
  } catch (const std::exception&) {
    close_plain(node);
    throw;
  }
  close_plain(node);
}

void Filesystem::allocate(FileHandle& handle, int mode, std::int64_t offset, std::int64_t size) {
  if (handle.plain) return handle.plain->allocate(mode, offset, size);
  const bool keeps_size = (mode & FALLOC_FL_KEEP_SIZE) != 0;
  const bool punches = (mode & FALLOC_FL_PUNCH_HOLE) != 0;
  const bool zeroes = (mode & FALLOC_FL_ZERO_RANGE) != 0;
  if ((mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0)
    throw_errno(EOPNOTSUPP, "fallocate");
  if (size > std::numeric_limits<std::int64_t>::max() - offset) throw_errno(EFBIG, "fallocate");
  write_knowing(handle, WriteOf::bytes, [&](Content& content, auto epoch) {
    if (!punches) {
      // What no disk has room for is told from what no file can hold.
      content.require_storable(offset + size);
      require_space(offset + size - content.size());
      content.reserve(keeps_size ? 0 : offset + size, epoch);
    }
    if (punches || zeroes) content.zero(offset, size, epoch);
  });
}

void Filesystem::require_space(std::int64_t size) const {
  const struct statvfs st = root_.stat_filesystem();
  if (size > 0 && static_cast<std::uint64_t>(size) / st.f_frsize >= st.f_bavail)
    throw_errno(ENOSPC, "fallocate");
}

bool Filesystem::has_to_store(const FileHandle& handle) const {
  return !handle.file->content || handle.file->content->needs_commit();
}

void Filesystem::sync(FileHandle& handle) {
  const auto& content = handle.file->content;
  if (!content) return sync_plain(handle.plain ? handle.plain->fd() : handle.file->plain.get());
  if (const std::error_code error = content->take_error())
    throw std::system_error(error, "earlier commit");
  if (content->needs_commit()) committer_.commit({content});
  if (handle.writes) tell_loss(handle);
}

void Filesystem::flush(FileHandle& handle) {
  if (!handle.writes) return;
  const auto& content = handle.file->content;
  if (const std::error_code error = content->take_error())
    throw std::system_error(error, "earlier commit");
  if (content->leads() && content->is_overtaken()) contents_.try_follow(handle.node);
  if (write_options_.strict && content->needs_commit()) committer_.commit({content});
  // Others may close a copy of the descriptor and not look at this, as a program that is started
  // does: who writes on, or calls fsync, is still to be told.
  if (content->lost_contents_of(handle.epoch)) throw_errno(ESTALE, "changed by another program");
}

void Filesystem::commit_written() {
  if (!writable_) throw_errno(EROFS, "commit");
  committer_.commit_all();
}

void Filesystem::commit_all() {
  const frame::LockPatience for_all(frame::kLockPatience);
  sweep_.reset();
  committer_.stop();
  try {
    committer_.commit_all();
  } catch (const std::exception&) {
    const std::string losses = contents_.keep_for_recovery(committer_.uncommitted());
    if (!losses.empty()) throw std::runtime_error(losses);
  }
}

}  // namespace bloscfs::fs
