#pragma once
// A plain file of SOURCE that is open for writing: what is done to it is done to the source file.

#include <cstdint>

#include "frame/store/byte_source.hpp"
#include "fs/source/source_object.hpp"

namespace bloscfs::fs {

/// Errors are std::system_error with the errno. Thread-safe.
class PlainFile {
 public:
  /// `flags` as of open(2), for writing.
  PlainFile(const SourceObject& object, int flags);

  int fd() const { return fd_.get(); }
  /// For pages of a mapping: what is written through it stands where it is told to, also when the
  /// file is open for appending.
  int paging_fd() const { return paging_fd_ ? paging_fd_.get() : fd_.get(); }
  void truncate(std::int64_t size) const;
  /// As fallocate(2).
  void allocate(int mode, std::int64_t offset, std::int64_t size) const;

 private:
  frame::UniqueFd fd_, paging_fd_;
};

/// Makes a plain file's contents durable, whatever way it is open.
void sync_plain(int fd);

}  // namespace bloscfs::fs
