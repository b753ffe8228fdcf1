#pragma once
// How requests come from the kernel and replies go to it, where libfuse's own ways cost too much:
// what a write brings is read to where it stays (fs/fuse/request_cells.hpp), and it is the daemon
// who clears set-user-ID bits, so that the kernel asks for no attributes before it sends a write.
// An unmount is told apart from a failure whenever it comes.

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <fuse_lowlevel.h>
#include <pthread.h>

#include "fs/support/page_pool.hpp"
#include "fs/support/pooled_buffer.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Whether the kernel asks for several names of one directory at once, or lists it meanwhile.
enum class DirectoryRequests : std::uint8_t { one_by_one, at_once };

/// Thread-safe. libfuse reads a request and calls its operation on one thread, and passes nothing
/// of the reader's on: so what was read is kept for each thread, as long as the channel lives.
class KernelChannel {
 public:
  /// For a session that is mounted, and has not begun. The session's user data is a MountState,
  /// whose channel this becomes. The session ends before this, and `pages` outlives it. Throws
  /// std::system_error.
  KernelChannel(fuse_session* session, PagePool& pages,
                DirectoryRequests directory_requests = DirectoryRequests::one_by_one);
  ~KernelChannel();
  KernelChannel(const KernelChannel&) = delete;
  KernelChannel& operator=(const KernelChannel&) = delete;

  /// True if the request that this thread has read last, one that writes, truncates or opens, takes
  /// the set-user-ID and set-group-ID bits from the file.
  bool drops_privileges() noexcept;
  /// The bytes of the write request that this thread has read last, as RequestCells::written().
  std::span<PooledBuffer> written_cells() noexcept;

 private:
  struct Incoming;

  static ssize_t read_from_kernel(int fd, void* buffer, std::size_t size, void* state);
  static ssize_t write_to_kernel(int fd, iovec* parts, int count, void* state);

  Incoming* incoming() noexcept EXCLUDES(mutex_);
  /// As RequestCells::read().
  ssize_t read(int fd, codec::MutableBytes buffer);
  void note_offer(codec::Bytes request);
  void accept_offer(const iovec& header_part, const iovec& body);

  PagePool& pages_;
  const std::uint32_t wanted_;  ///< of the kernel's offers, those that libfuse does not take
  std::atomic<std::uint32_t> offered_{0};
  /// Number of the request that begins the session, where the kernel offers any of them.
  std::atomic<std::uint64_t> unanswered_offer_{0};
  pthread_key_t incoming_of_thread_{};
  Mutex mutex_;
  std::vector<std::unique_ptr<Incoming>> incoming_ GUARDED_BY(mutex_);
};

// The same of the mount's channel, for the request that this thread is answering. Where there is
// none, the kernel takes the bits by itself, and libfuse has the bytes.

bool request_drops_privileges(fuse_req_t request);
std::span<PooledBuffer> written_cells(fuse_req_t request);

}  // namespace bloscfs::fs
