#pragma once
// The loop that takes requests from the kernel. libfuse decodes the requests and writes the
// replies. Its own loop is not used for two reasons. It would copy the bytes of a write
// (fs/fuse/request_cells.hpp). It also hides what the kernel says about set-user-ID bits and
// unmounts.

#include <atomic>
#include <csignal>
#include <cstdint>
#include <functional>
#include <list>
#include <span>
#include <string>

#include <fuse_lowlevel.h>
#include <pthread.h>

#include "fs/support/page_pool.hpp"
#include "fs/support/pooled_buffer.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Whether the kernel may send several requests for one directory at once: lookups and listings.
enum class DirectoryRequests : std::uint8_t { one_by_one, at_once };

class KernelChannel {
 public:
  /// `session` must be mounted, and must not have served a request yet. Its user data is a
  /// MountState, whose `channel` the caller sets to this object. Session and state are used until
  /// serve() returns.
  KernelChannel(fuse_session* session, PagePool& pages,
                DirectoryRequests directory_requests = DirectoryRequests::one_by_one);
  ~KernelChannel();
  KernelChannel(const KernelChannel&) = delete;
  KernelChannel& operator=(const KernelChannel&) = delete;

  /// Serves with up to `threads` threads until the filesystem is unmounted or one of the signals
  /// `ends` arrives. `ends` includes SIGTERM; the caller has blocked them in all threads. Returns
  /// 0, or the errno of a request that could not be read. Throws std::system_error if no thread can
  /// be started.
  /// SIGTERM from this process itself means that the mount is idle. It ends the session only if
  /// `unmount_if_unused` returns true.
  int serve(unsigned threads, const sigset_t& ends, const std::function<bool()>& unmount_if_unused);
  /// The reason for which serve() ended: "unmounted", "idle_timeout has passed", or a signal and
  /// its sender.
  const std::string& end_reason() const { return end_reason_; }
  bool was_unmounted() const { return end_reason_ == kUnmounted; }

  /// Takes one request and answers it on this thread. Returns 0, or the errno of the read: EINTR to
  /// retry, ENODEV after an unmount.
  int serve_one();
  static constexpr const char* kUnmounted = "unmounted";

  /// True if the request that this thread answers clears the file's set-user-ID and set-group-ID
  /// bits. It is a write, a truncation or an open.
  bool clears_setid_bits() noexcept;
  /// Returns the bytes of the write request that this thread answers; see RequestCells::written().
  std::span<PooledBuffer> written_cells() noexcept;

 private:
  class Reader;

  void answer(Reader& reader, std::size_t size);
  void agree(Reader& reader, std::size_t size);
  void start_worker() REQUIRES(mutex_);
  void work();
  void give_up();
  void end(int error);

  fuse_session* const session_;
  PagePool& pages_;
  const std::uint32_t wanted_;  ///< flags of FUSE_INIT that libfuse does not accept

  Mutex mutex_;
  std::list<pthread_t> workers_ GUARDED_BY(mutex_);
  unsigned most_workers_ GUARDED_BY(mutex_) = 0;
  std::atomic<unsigned> reading_{0};  ///< workers that wait for a request
  std::atomic<bool> has_ended_{false};
  std::atomic<int> error_{0};
  std::string end_reason_ = kUnmounted;  ///< used only by the thread in serve()
};

// These functions ask the mount's KernelChannel about the request that this thread answers. With
// libfuse's own loop, there is no channel. The result is then false or empty: the kernel clears
// set-user-ID bits itself, and libfuse has the bytes of a write.

bool request_clears_setid_bits(fuse_req_t request);
std::span<PooledBuffer> written_cells(fuse_req_t request);

}  // namespace bloscfs::fs
