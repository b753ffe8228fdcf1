#pragma once
// A plain file of SOURCE that is open for writing. Changes go directly to the source file.

#include <cstddef>
#include <cstdint>
#include <span>

#include <sys/uio.h>

#include "frame/store/byte_source.hpp"
#include "fs/source/local/files/source_object.hpp"

namespace bloscfs::fs {

/// Errors are std::system_error with the errno. Thread-safe.
class PlainFile {
 public:
  /// `flags` as in open(2), for writing.
  PlainFile(const SourceObject& object, int flags);

  /// A descriptor for writing. Reading works, too, unless the daemon may not read the file.
  int fd() const { return fd_.get(); }
  /// Writes as pwritev(2). Appends, whatever `offset` is, if the file was opened with O_APPEND.
  std::size_t write(std::span<const iovec> pieces, std::int64_t offset) const;
  /// Writes pages of a mapping or of the kernel's writeback cache. They go to `offset` even if the
  /// file is open for appending. With `keep_time` the modification time stays: the kernel sets that
  /// itself when it has a writeback cache.
  std::size_t write_pages(std::span<const iovec> pieces, std::int64_t offset, bool keep_time) const;
  void truncate(std::int64_t size) const;
  /// As fallocate(2).
  void allocate(int mode, std::int64_t offset, std::int64_t size) const;

 private:
  int paging_fd() const { return paging_fd_ ? paging_fd_.get() : fd_.get(); }

  frame::UniqueFd fd_, paging_fd_;
};

// These functions take a plain file's descriptor, whether it is open for reading or writing.

/// Makes the contents durable.
void sync_plain(int fd);
/// As lseek(2).
std::int64_t seek_plain(int fd, std::int64_t offset, int whence);
/// As copy_file_range(2).
std::size_t copy_plain(int from, std::int64_t from_offset, int to, std::int64_t to_offset,
                       std::size_t size, unsigned flags);

}  // namespace bloscfs::fs
