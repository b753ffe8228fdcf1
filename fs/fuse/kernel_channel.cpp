#include "fs/fuse/kernel_channel.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/uio.h>

#include "frame/store/throw_errno.hpp"
#include "fs/fuse/reply.hpp"
#include "fs/fuse/request_cells.hpp"

namespace bloscfs::fs {
namespace {

/// What a request has from `offset` on, zeros behind its end.
template <typename Part>
Part part_of(codec::Bytes request, std::size_t offset) {
  Part part{};
  if (request.size() > offset)
    std::memcpy(&part, request.data() + offset, std::min(request.size() - offset, sizeof part));
  return part;
}

/// libfuse does not pass on what these requests say of set-user-ID bits.
bool takes_privileges(codec::Bytes request) {
  const auto header = part_of<fuse_in_header>(request, 0);
  constexpr std::size_t kBody = sizeof header;
  switch (header.opcode) {
    case FUSE_WRITE:
      return (part_of<fuse_write_in>(request, kBody).write_flags & FUSE_WRITE_KILL_SUIDGID) != 0;
    case FUSE_SETATTR:
      return (part_of<fuse_setattr_in>(request, kBody).valid & FATTR_KILL_SUIDGID) != 0;
    case FUSE_OPEN:
      return (part_of<fuse_open_in>(request, kBody).open_flags & FUSE_OPEN_KILL_SUIDGID) != 0;
    case FUSE_FALLOCATE:
    case FUSE_COPY_FILE_RANGE:
      // Here the kernel does not tell. Root may keep the bits.
      return header.uid != 0;
    default:
      return false;
  }
}

KernelChannel& channel_of(void* state) { return *static_cast<MountState*>(state)->channel; }

ssize_t splice_to_kernel(int from, off_t* from_offset, int to, off_t* to_offset, std::size_t size,
                         unsigned flags, void*) {
  return ::splice(from, from_offset, to, to_offset, size, flags);
}

/// The later form of FUSE_HANDLE_KILLPRIV libfuse does not know; the other it forgets to take
/// before its version 3.14.1.
std::uint32_t wanted_offers(DirectoryRequests directory_requests) {
  const bool at_once = directory_requests == DirectoryRequests::at_once;
  return FUSE_HANDLE_KILLPRIV_V2 | (at_once ? FUSE_PARALLEL_DIROPS : 0);
}

}  // namespace

/// What a thread has read last.
struct KernelChannel::Incoming {
  explicit Incoming(PagePool& pages) : cells(pages) {}

  RequestCells cells;
  bool drops_privileges = false;
};

KernelChannel::KernelChannel(fuse_session* session, PagePool& pages,
                             DirectoryRequests directory_requests)
    : pages_(pages), wanted_(wanted_offers(directory_requests)) {
  if (const int error = ::pthread_key_create(&incoming_of_thread_, nullptr); error != 0)
    frame::throw_errno(error, "session");
  fuse_custom_io io{};
  io.read = read_from_kernel;
  io.writev = write_to_kernel;
  io.splice_send = splice_to_kernel;
  const int result = fuse_session_custom_io(session, &io, fuse_session_fd(session));
  if (result == 0) return;
  ::pthread_key_delete(incoming_of_thread_);
  frame::throw_errno(-result, "session");
}

KernelChannel::~KernelChannel() { ::pthread_key_delete(incoming_of_thread_); }

/// Null without memory.
KernelChannel::Incoming* KernelChannel::incoming() noexcept {
  if (void* const known = ::pthread_getspecific(incoming_of_thread_))
    return static_cast<Incoming*>(known);
  try {
    auto made = std::make_unique<Incoming>(pages_);
    Incoming* const own = made.get();
    const MutexLock lock(mutex_);
    incoming_.push_back(std::move(made));
    if (::pthread_setspecific(incoming_of_thread_, own) == 0) return own;
    incoming_.pop_back();
  } catch (const std::bad_alloc&) {
    // As if the key had found no room.
  }
  return nullptr;
}

ssize_t KernelChannel::read(int fd, codec::MutableBytes buffer) {
  Incoming* const own = incoming();
  if (own == nullptr) {
    errno = EINTR;  // libfuse asks again; of any other error it would end
    return -1;
  }
  const ssize_t got = own->cells.read(fd, buffer);
  if (got > 0) {
    const codec::Bytes request = buffer.first(static_cast<std::size_t>(got));
    const auto header = part_of<fuse_in_header>(request, 0);
    if (header.opcode == FUSE_INIT) note_offer(request);
    own->drops_privileges = takes_privileges(request);
  }
  // So the kernel tells of an unmount to a thread that it was handing a request just then. libfuse
  // would take it for a failure.
  if (got < 0 && errno == ECONNABORTED) errno = ENODEV;
  return got;
}

void KernelChannel::note_offer(codec::Bytes request) {
  const auto header = part_of<fuse_in_header>(request, 0);
  offered_ = part_of<fuse_init_in>(request, sizeof header).flags & wanted_;
  if (offered_ != 0) unanswered_offer_ = header.unique;
}

/// Takes the offers.
void KernelChannel::accept_offer(const iovec& header_part, const iovec& body) {
  fuse_out_header header{};
  std::memcpy(&header, header_part.iov_base, std::min(header_part.iov_len, sizeof header));
  if (header.unique != unanswered_offer_) return;
  unanswered_offer_ = 0;
  constexpr std::size_t kFlags = offsetof(fuse_init_out, flags);
  std::uint32_t flags = 0;
  if (header.error != 0 || body.iov_len < kFlags + sizeof flags) return;
  auto* const place = static_cast<std::uint8_t*>(body.iov_base) + kFlags;
  std::memcpy(&flags, place, sizeof flags);
  flags |= offered_;
  std::memcpy(place, &flags, sizeof flags);
}

ssize_t KernelChannel::read_from_kernel(int fd, void* buffer, std::size_t size, void* state) {
  return channel_of(state).read(fd, {static_cast<std::uint8_t*>(buffer), size});
}

ssize_t KernelChannel::write_to_kernel(int fd, iovec* parts, int count, void* state) {
  KernelChannel& channel = channel_of(state);
  if (channel.unanswered_offer_ != 0 && count > 1) channel.accept_offer(parts[0], parts[1]);
  return ::writev(fd, parts, count);
}

bool KernelChannel::drops_privileges() noexcept {
  const Incoming* const own = incoming();
  return own != nullptr && own->drops_privileges;
}

std::span<PooledBuffer> KernelChannel::written_cells() noexcept {
  Incoming* const own = incoming();
  return own == nullptr ? std::span<PooledBuffer>() : own->cells.written();
}

bool request_drops_privileges(fuse_req_t request) {
  KernelChannel* const channel = mount_state(request).channel;
  return channel != nullptr && channel->drops_privileges();
}

std::span<PooledBuffer> written_cells(fuse_req_t request) {
  KernelChannel* const channel = mount_state(request).channel;
  return channel == nullptr ? std::span<PooledBuffer>() : channel->written_cells();
}

}  // namespace bloscfs::fs
