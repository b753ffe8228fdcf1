#include "fs/source/plain_file.hpp"

#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::fs {
namespace {

/// The kernel may read through a handle that was opened for writing alone.
frame::UniqueFd open_for_writing(const SourceObject& object, int flags) {
  const int kept = flags & (O_TRUNC | O_APPEND);
  try {
    return object.open(O_RDWR | kept);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::permission_denied || (flags & O_ACCMODE) != O_WRONLY) throw;
  }
  return object.open(O_WRONLY | kept);
}

}  // namespace

PlainFile::PlainFile(const SourceObject& object, int flags) : fd_(open_for_writing(object, flags)) {
  if ((flags & O_APPEND) != 0) paging_fd_ = open_for_writing(object, flags & ~(O_APPEND | O_TRUNC));
}

void PlainFile::truncate(std::int64_t size) const {
  if (::ftruncate(fd(), size) != 0) frame::throw_errno("ftruncate");
}

void PlainFile::allocate(int mode, std::int64_t offset, std::int64_t size) const {
  if (::fallocate(fd(), mode, offset, size) != 0) frame::throw_errno("fallocate");
}

void sync_plain(int fd) {
  if (::fsync(fd) != 0) frame::throw_errno("fsync");
}

}  // namespace bloscfs::fs
