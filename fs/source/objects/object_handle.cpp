#include "fs/source/objects/object_handle.hpp"

#include <algorithm>
#include <cerrno>

#include <unistd.h>

#include "frame/store/throw_errno.hpp"
#include "fs/support/request_limits.hpp"
#include "fs/support/turns.hpp"

namespace bloscfs::fs {

ReadBytes ObjectHandle::read(std::int64_t offset, std::int64_t size) {
  ReplyData out(services_.content.cache.pages(), services_.direct_handles == 0);
  const std::int64_t end = shown_.st_size;
  if (offset >= end) return out;
  if (!object_->is_in_memory()) TurnAtNeed::need();
  try {
    const codec::MutableBytes room =
        out.add_owned(static_cast<std::size_t>(std::min(size, end - offset)));
    object_->read_exactly_at(static_cast<std::uint64_t>(offset), room, "object");
    services_.content.stats.contents_bytes_read += out.size();
  } catch (const std::exception& error) {
    if (is_interruption(error)) throw;
    services_.content.stats.io_errors++;
    services_.log_bad_data(told_path_, error);
    throw;
  }
  return out;
}

std::int64_t ObjectHandle::seek(std::int64_t offset, int whence) const {
  if (offset >= shown_.st_size) frame::throw_errno(ENXIO, "lseek");
  return whence == SEEK_DATA ? offset : shown_.st_size;
}

}  // namespace bloscfs::fs
