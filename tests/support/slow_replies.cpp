// Preloaded into a daemon. It delays the daemon's successful replies to LOOKUP and CREATE.

#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>

#include <dlfcn.h>
#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/support/pause.hpp"

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kMaking{50}, kFinding{150};

thread_local std::uint32_t operation = 0;  // of the request that this thread read last

void look_at(const void* bytes, std::size_t size, ssize_t got) {
  fuse_in_header header;
  if (size < sizeof header || got < static_cast<ssize_t>(sizeof header)) return;
  std::memcpy(&header, bytes, sizeof header);
  if (header.len == static_cast<std::uint64_t>(got)) operation = header.opcode;
}

bool is_reply_with_contents(const iovec* parts, int count) {
  fuse_out_header header;
  if (count < 2 || parts[0].iov_len != sizeof header) return false;
  std::memcpy(&header, parts[0].iov_base, sizeof header);
  return header.error == 0 && header.unique != 0;
}

template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" ssize_t read(int fd, void* out, size_t size) {
  static auto* const real_read = real<ssize_t(int, void*, size_t)>("read");
  const ssize_t got = real_read(fd, out, size);
  look_at(out, size, got);
  return got;
}

extern "C" ssize_t readv(int fd, const iovec* parts, int count) {
  static auto* const real_readv = real<ssize_t(int, const iovec*, int)>("readv");
  const ssize_t got = real_readv(fd, parts, count);
  if (count > 0) look_at(parts[0].iov_base, parts[0].iov_len, got);
  return got;
}

extern "C" ssize_t writev(int fd, const iovec* parts, int count) {
  static auto* const real_writev = real<ssize_t(int, const iovec*, int)>("writev");
  if (is_reply_with_contents(parts, count)) {
    if (operation == FUSE_CREATE) bloscfs::test::simulate_delay(kMaking);
    if (operation == FUSE_LOOKUP) bloscfs::test::simulate_delay(kFinding);
  }
  return real_writev(fd, parts, count);
}
