// Preloaded into a daemon. It records the daemon's changes to files and directories in the order in
// which they happen. Calls run one at a time, so that the record of a call comes before the records
// of all calls that depend on it.

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tests/support/store_record.hpp"

namespace {

using bloscfs::test::StoreCall;
using bloscfs::test::StoreRecord;

std::mutex mutex;

/// Returns the C library's function of that name.
template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int record_file() {
  static const int fd = [] {
    const char* path = std::getenv(bloscfs::test::kRecordVariable);
    using Open = int(const char*, int, ...);
    return path == nullptr ? -1 : next<Open>("open")(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  }();
  return fd;
}

std::uint64_t inode(int fd) {
  struct stat st {};
  return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

std::uint64_t inode(int directory, const char* name) {
  struct stat st {};
  return fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_ino : 0;
}

/// True for a file of /sys, which is no part of SOURCE.
bool is_setting(int fd) {
  struct statfs fs {};
  return fstatfs(fd, &fs) == 0 && fs.f_type == SYSFS_MAGIC;
}

void append(StoreRecord record, const char* name, const char* other_name, const void* bytes) {
  record.name_size = static_cast<std::uint16_t>(std::strlen(name));
  record.other_name_size = static_cast<std::uint16_t>(std::strlen(other_name));
  const iovec parts[] = {{&record, sizeof record},
                         {const_cast<char*>(name), record.name_size},
                         {const_cast<char*>(other_name), record.other_name_size},
                         {const_cast<void*>(bytes), record.byte_count}};
  const auto size = static_cast<ssize_t>(sizeof record + record.name_size + record.other_name_size +
                                         record.byte_count);
  // A missing record would let the test pass without checking anything.
  if (writev(record_file(), parts, 4) != size) std::abort();
}

StoreRecord record_of(StoreCall call, std::uint64_t node) {
  StoreRecord record{};
  record.call = call;
  record.node = node;
  return record;
}

/// Runs a call, and records it if it succeeds. Keeps the errno of the call.
template <typename Result, typename Call, typename Record>
Result recorded(Call call, Record record) {
  if (record_file() < 0) return call();
  const std::lock_guard lock(mutex);
  const Result result = call();
  const int error = errno;
  if (result >= 0) record(result);
  errno = error;
  return result;
}

int record_sync(const char* name, int fd) {
  return recorded<int>([&] { return next<int(int)>(name)(fd); },
                       [&](int) {
                         struct stat st {};
                         const bool is_directory = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
                         const StoreCall call =
                             is_directory ? StoreCall::sync_directory : StoreCall::sync_file;
                         append(record_of(call, inode(fd)), "", "", nullptr);
                       });
}

int record_rename(int from, const char* name, int to, const char* other_name, unsigned flags) {
  StoreRecord record{};
  return recorded<int>(
      [&] {
        record = record_of(flags & RENAME_EXCHANGE ? StoreCall::exchange : StoreCall::rename,
                           inode(from));
        record.other_node = inode(to);
        record.target = inode(from, name);
        record.exchanged = inode(to, other_name);
        return next<int(int, const char*, int, const char*, unsigned)>("renameat2")(
            from, name, to, other_name, flags);
      },
      [&](int) { append(record, name, other_name, nullptr); });
}

}  // namespace

extern "C" {

// The project is compiled with 64-bit offsets, so the compiler renames pwrite() to pwrite64(), and
// so on for the others.

ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  return recorded<ssize_t>(
      [&] {
        return next<ssize_t(int, const void*, size_t, off_t)>("pwrite64")(fd, bytes, size, offset);
      },
      [&](ssize_t written) {
        if (is_setting(fd)) return;
        StoreRecord record = record_of(StoreCall::write, inode(fd));
        record.offset = static_cast<std::uint64_t>(offset);
        record.byte_count = static_cast<std::uint64_t>(written);
        append(record, "", "", bytes);
      });
}

int ftruncate(int fd, off_t size) noexcept {
  return recorded<int>([&] { return next<int(int, off_t)>("ftruncate64")(fd, size); },
                       [&](int) {
                         StoreRecord record = record_of(StoreCall::truncate, inode(fd));
                         record.size = static_cast<std::uint64_t>(size);
                         append(record, "", "", nullptr);
                       });
}

int fallocate(int fd, int mode, off_t offset, off_t size) {
  return recorded<int>(
      [&] { return next<int(int, int, off_t, off_t)>("fallocate64")(fd, mode, offset, size); },
      [&](int) {
        StoreRecord record = record_of(StoreCall::punch, inode(fd));
        record.offset = static_cast<std::uint64_t>(offset);
        record.size = static_cast<std::uint64_t>(size);
        append(record, "", "", nullptr);
      });
}

int openat(int directory, const char* name, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const auto mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : mode_t{};
  va_end(rest);
  const auto call = [&] {
    return next<int(int, const char*, int, ...)>("openat64")(directory, name, flags, mode);
  };
  if ((flags & O_CREAT) == 0) return call();
  return recorded<int>(call, [&](int fd) {
    StoreRecord record = record_of(StoreCall::create, inode(directory));
    record.target = inode(fd);
    append(record, name, "", nullptr);
  });
}

int fsync(int fd) { return record_sync("fsync", fd); }
int fdatasync(int fd) { return record_sync("fdatasync", fd); }

int syncfs(int fd) noexcept {
  return recorded<int>([&] { return next<int(int)>("syncfs")(fd); },
                       [&](int) { append(record_of(StoreCall::sync_all, 0), "", "", nullptr); });
}

int renameat(int from, const char* name, int to, const char* other_name) noexcept {
  return record_rename(from, name, to, other_name, 0);
}
int renameat2(int from, const char* name, int to, const char* other_name, unsigned flags) noexcept {
  return record_rename(from, name, to, other_name, flags);
}

int unlinkat(int directory, const char* name, int flags) noexcept {
  StoreRecord record{};
  return recorded<int>(
      [&] {
        record = record_of(StoreCall::unlink, inode(directory));
        record.target = inode(directory, name);
        return next<int(int, const char*, int)>("unlinkat")(directory, name, flags);
      },
      [&](int) { append(record, name, "", nullptr); });
}

int linkat(int from, const char* name, int to, const char* other_name, int flags) noexcept {
  return recorded<int>(
      [&] {
        return next<int(int, const char*, int, const char*, int)>("linkat")(from, name, to,
                                                                            other_name, flags);
      },
      [&](int) {
        StoreRecord record = record_of(StoreCall::link, inode(to));
        record.target = inode(to, other_name);
        append(record, other_name, "", nullptr);
      });
}

int mkdirat(int directory, const char* name, mode_t mode) noexcept {
  return recorded<int>(
      [&] { return next<int(int, const char*, mode_t)>("mkdirat")(directory, name, mode); },
      [&](int) {
        StoreRecord record = record_of(StoreCall::make_directory, inode(directory));
        record.target = inode(directory, name);
        append(record, name, "", nullptr);
      });
}

}  // extern "C"
