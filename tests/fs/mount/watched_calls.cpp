#include "tests/fs/mount/watched_calls.hpp"

#include <cerrno>
#include <cstdarg>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bloscfs::test {
namespace {

std::atomic<bool> is_watching{false};
std::shared_mutex watcher_mutex;
Watcher current_watcher;
thread_local bool is_in_watcher = false;

template <typename Path>
bool fails(Call call, const Path& path) {
  if (!is_watching || is_in_watcher) return false;
  const std::shared_lock lock(watcher_mutex);
  if (!current_watcher) return false;
  is_in_watcher = true;
  const int error = current_watcher(call, path());
  is_in_watcher = false;
  if (error != 0) errno = error;
  return error != 0;
}

std::string path_of(int fd) {
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  char target[4096];
  const ssize_t size = ::readlink(link.c_str(), target, sizeof target);
  return size < 0 ? link : std::string(target, static_cast<std::size_t>(size));
}

bool fails(Call call, int fd) {
  return fails(call, [fd] { return path_of(fd); });
}

bool fails(Call call, const char* name) {
  return fails(call, [name] { return std::string(name); });
}

bool flush_fails(int fd) {
  if (!is_watching) return false;
  struct stat st {};
  const bool is_directory = ::fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
  return fails(is_directory ? Call::flush_directory : Call::flush_file, fd);
}

/// Returns the C library's own function.
template <typename Function>
Function* library(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

WatchedCalls::WatchedCalls(Watcher watcher) {
  const std::unique_lock lock(watcher_mutex);
  current_watcher = std::move(watcher);
  is_watching = true;
}

WatchedCalls::~WatchedCalls() {
  const std::unique_lock lock(watcher_mutex);
  is_watching = false;
  current_watcher = nullptr;
}

FailedCalls::FailedCalls(Call call, int error, std::string path_end)
    : watched_(
          [this, call, error, path_end = std::move(path_end)](Call made, const std::string& path) {
            if (made != call || !path.ends_with(path_end)) return 0;
            count_++;
            return error;
          }) {}

}  // namespace bloscfs::test

using bloscfs::test::Call;

extern "C" {

int fstatat64(int directory, const char* name, struct stat64* st, int flags) noexcept {
  static const auto next = bloscfs::test::library<decltype(fstatat64)>("fstatat64");
  return bloscfs::test::fails(Call::look, name) ? -1 : next(directory, name, st, flags);
}

int statx(int directory, const char* name, int flags, unsigned mask, struct statx* st) noexcept {
  static const auto next = bloscfs::test::library<decltype(statx)>("statx");
  const bool is_name = *name != '\0';
  return is_name && bloscfs::test::fails(Call::look, name) ? -1
                                                           : next(directory, name, flags, mask, st);
}

int openat64(int directory, const char* name, int flags, ...) {
  static const auto next = bloscfs::test::library<decltype(openat64)>("openat64");
  std::va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return bloscfs::test::fails(Call::look, name) ? -1 : next(directory, name, flags, mode);
}

// With _FORTIFY_SOURCE, code calls this function in place of openat() without a mode.
int __openat64_2(int directory, const char* name, int flags) {
  return openat64(directory, name, flags);
}

ssize_t pread64(int fd, void* out, size_t size, off64_t offset) {
  static const auto next = bloscfs::test::library<decltype(pread64)>("pread64");
  return bloscfs::test::fails(Call::read, fd) ? -1 : next(fd, out, size, offset);
}

ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t offset) {
  static const auto next = bloscfs::test::library<decltype(pwrite64)>("pwrite64");
  return bloscfs::test::fails(Call::write, fd) ? -1 : next(fd, bytes, size, offset);
}

int fsync(int fd) {
  static const auto next = bloscfs::test::library<int(int)>("fsync");
  return bloscfs::test::flush_fails(fd) ? -1 : next(fd);
}

int fdatasync(int fd) {
  static const auto next = bloscfs::test::library<int(int)>("fdatasync");
  return bloscfs::test::flush_fails(fd) ? -1 : next(fd);
}

int syncfs(int fd) noexcept {
  static const auto next = bloscfs::test::library<int(int)>("syncfs");
  return bloscfs::test::fails(Call::flush_all, fd) ? -1 : next(fd);
}

int renameat(int from, const char* name, int to, const char* new_name) noexcept {
  using Rename = int(int, const char*, int, const char*);
  static const auto next = bloscfs::test::library<Rename>("renameat");
  return bloscfs::test::fails(Call::rename, new_name) ? -1 : next(from, name, to, new_name);
}

int renameat2(int from, const char* name, int to, const char* new_name, unsigned flags) noexcept {
  using Rename = int(int, const char*, int, const char*, unsigned);
  static const auto next = bloscfs::test::library<Rename>("renameat2");
  return bloscfs::test::fails(Call::rename, new_name) ? -1 : next(from, name, to, new_name, flags);
}

int unlinkat(int directory, const char* name, int flags) noexcept {
  static const auto next = bloscfs::test::library<int(int, const char*, int)>("unlinkat");
  return bloscfs::test::fails(Call::remove, name) ? -1 : next(directory, name, flags);
}
}
