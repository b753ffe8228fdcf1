#include "fs/source/local/files/plain_file.hpp"

#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/store/throw_errno.hpp"
#include "frame/store/wait_context.hpp"
#include "fs/support/timestamps.hpp"

namespace bloscfs::fs {
namespace {

/// Opens for reading, too, if that is permitted: the kernel may read through a handle that a
/// program opened for writing only.
frame::UniqueFd open_for_writing(const SourceObject& object, int flags) {
  const int kept = flags & (O_TRUNC | O_APPEND);
  try {
    return object.open(O_RDWR | kept);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::permission_denied || (flags & O_ACCMODE) != O_WRONLY) throw;
  }
  return object.open(O_WRONLY | kept);
}

std::size_t write_to(int fd, std::span<const iovec> pieces, std::int64_t offset) {
  const ssize_t written = ::pwritev(fd, pieces.data(), static_cast<int>(pieces.size()), offset);
  if (written < 0) frame::throw_errno("pwritev");
  return static_cast<std::size_t>(written);
}

}  // namespace

PlainFile::PlainFile(const SourceObject& object, int flags) : fd_(open_for_writing(object, flags)) {
  if ((flags & O_APPEND) != 0) paging_fd_ = open_for_writing(object, flags & ~(O_APPEND | O_TRUNC));
}

std::size_t PlainFile::write(std::span<const iovec> pieces, std::int64_t offset) const {
  return write_to(fd(), pieces, offset);
}

std::size_t PlainFile::write_pages(std::span<const iovec> pieces, std::int64_t offset,
                                   bool keep_time) const {
  struct stat before {};
  if (keep_time && ::fstat(paging_fd(), &before) != 0) frame::throw_errno("fstat");
  const std::size_t written = write_to(paging_fd(), pieces, offset);
  if (keep_time) {
    const timespec times[2] = {kUnchangedTime, before.st_mtim};
    ::futimens(paging_fd(), times);  // a failure is ignored: only the owner may set times
  }
  return written;
}

void PlainFile::truncate(std::int64_t size) const {
  if (::ftruncate(fd(), size) != 0) frame::throw_errno("ftruncate");
}

void PlainFile::allocate(int mode, std::int64_t offset, std::int64_t size) const {
  if (::fallocate(fd(), mode, offset, size) != 0) frame::throw_errno("fallocate");
}

void sync_plain(int fd) {
  const frame::WaitMark mark(frame::WaitReason::disk);
  if (::fsync(fd) != 0) frame::throw_errno("fsync");
}

std::int64_t seek_plain(int fd, std::int64_t offset, int whence) {
  const off_t found = ::lseek(fd, offset, whence);
  if (found < 0) frame::throw_errno("lseek");
  return found;
}

std::size_t copy_plain(int from, std::int64_t from_offset, int to, std::int64_t to_offset,
                       std::size_t size, unsigned flags) {
  const ssize_t copied = ::copy_file_range(from, &from_offset, to, &to_offset, size, flags);
  if (copied < 0) frame::throw_errno("copy_file_range");
  return static_cast<std::size_t>(copied);
}

}  // namespace bloscfs::fs
