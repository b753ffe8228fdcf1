#include "fs/source/file_handle.hpp"

#include <cerrno>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::fs {
namespace {

[[noreturn]] void refuse_writing() {
  frame::throw_errno(EBADF, "file handle is not open for writing");
}

}  // namespace

std::size_t FileHandle::write(const WritePlace&, codec::Bytes) { refuse_writing(); }

std::size_t FileHandle::write(const WritePlace&, std::span<PooledBuffer>) { refuse_writing(); }

void FileHandle::truncate(std::int64_t) { refuse_writing(); }

void FileHandle::allocate(int, std::int64_t, std::int64_t) { refuse_writing(); }

std::size_t FileHandle::copy_from(const FileHandle&, const CopiedRange&) {
  frame::throw_errno(EOPNOTSUPP, "copy_file_range");
}

std::size_t FileHandle::copy_to(int, const CopiedRange&) const {
  frame::throw_errno(EOPNOTSUPP, "copy_file_range");
}

}  // namespace bloscfs::fs
