#include "fs/fuse/kernel_channel.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/uio.h>

#include "frame/store/throw_errno.hpp"
#include "fs/fuse/request_cells.hpp"

namespace bloscfs::fs {
namespace {

/// Number of the request that begins the session, where the kernel lets the daemon clear the bits.
thread_local std::uint64_t unanswered_offer = 0;
thread_local bool drops_privileges = false;

/// What a request begins with, zeros behind its end.
template <typename Part>
Part part_of(const std::uint8_t* request, std::size_t size, std::size_t offset) {
  Part part{};
  if (size > offset) std::memcpy(&part, request + offset, std::min(size - offset, sizeof part));
  return part;
}

/// libfuse does not pass on what these requests say of set-user-ID bits.
void look_at(const std::uint8_t* request, std::size_t size) {
  const auto header = part_of<fuse_in_header>(request, size, 0);
  constexpr std::size_t kBody = sizeof header;
  drops_privileges = false;
  switch (header.opcode) {
    case FUSE_INIT:
      if ((part_of<fuse_init_in>(request, size, kBody).flags & FUSE_HANDLE_KILLPRIV_V2) != 0)
        unanswered_offer = header.unique;
      break;
    case FUSE_WRITE:
      drops_privileges =
          (part_of<fuse_write_in>(request, size, kBody).write_flags & FUSE_WRITE_KILL_SUIDGID) != 0;
      break;
    case FUSE_SETATTR:
      drops_privileges =
          (part_of<fuse_setattr_in>(request, size, kBody).valid & FATTR_KILL_SUIDGID) != 0;
      break;
    case FUSE_OPEN:
      drops_privileges =
          (part_of<fuse_open_in>(request, size, kBody).open_flags & FUSE_OPEN_KILL_SUIDGID) != 0;
      break;
    case FUSE_FALLOCATE:
    case FUSE_COPY_FILE_RANGE:
      // Here the kernel does not tell. Root may keep the bits.
      drops_privileges = header.uid != 0;
      break;
    default:
      break;
  }
}

/// Takes the offer, of which libfuse does not know.
void accept_offer(const iovec& header_part, const iovec& body) {
  fuse_out_header header{};
  std::memcpy(&header, header_part.iov_base, std::min(header_part.iov_len, sizeof header));
  if (header.unique != unanswered_offer) return;
  unanswered_offer = 0;
  constexpr std::size_t kFlags = offsetof(fuse_init_out, flags);
  std::uint32_t flags = 0;
  if (header.error != 0 || body.iov_len < kFlags + sizeof flags) return;
  auto* const place = static_cast<std::uint8_t*>(body.iov_base) + kFlags;
  std::memcpy(&flags, place, sizeof flags);
  flags |= FUSE_HANDLE_KILLPRIV_V2;
  std::memcpy(place, &flags, sizeof flags);
}

ssize_t read_from_kernel(int fd, void* buffer, std::size_t size, void*) {
  auto* const request = static_cast<std::uint8_t*>(buffer);
  const ssize_t got = read_request(fd, {request, size});
  if (got > 0) look_at(request, static_cast<std::size_t>(got));
  // So the kernel tells of an unmount to a thread that it was handing a request just then. libfuse
  // would take it for a failure.
  if (got < 0 && errno == ECONNABORTED) errno = ENODEV;
  return got;
}

ssize_t write_to_kernel(int fd, iovec* parts, int count, void*) {
  if (unanswered_offer != 0 && count > 1) accept_offer(parts[0], parts[1]);
  return ::writev(fd, parts, count);
}

ssize_t splice_to_kernel(int from, off_t* from_offset, int to, off_t* to_offset, std::size_t size,
                         unsigned flags, void*) {
  return ::splice(from, from_offset, to, to_offset, size, flags);
}

}  // namespace

void use_kernel_channel(fuse_session* session) {
  fuse_custom_io io{};
  io.read = read_from_kernel;
  io.writev = write_to_kernel;
  io.splice_send = splice_to_kernel;
  const int result = fuse_session_custom_io(session, &io, fuse_session_fd(session));
  if (result != 0) frame::throw_errno(-result, "session");
}

bool request_drops_privileges() { return drops_privileges; }

}  // namespace bloscfs::fs
