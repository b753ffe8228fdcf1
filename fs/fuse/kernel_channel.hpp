#pragma once
// The loop that takes requests from the kernel. libfuse decodes them and writes the replies. Its
// own loop is not used since that would copy what a write brings (fs/fuse/request_cells.hpp), and
// hides what the kernel says of set-user-ID bits and of unmounts.

#include <atomic>
#include <csignal>
#include <cstdint>
#include <list>
#include <span>
#include <string>

#include <fuse_lowlevel.h>
#include <pthread.h>

#include "fs/support/page_pool.hpp"
#include "fs/support/pooled_buffer.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Whether the kernel asks for several names of one directory at once, or lists it meanwhile.
enum class DirectoryRequests : std::uint8_t { one_by_one, at_once };

class KernelChannel {
 public:
  /// For a session that is mounted, and has not begun. The session's user data is a MountState,
  /// whose channel this becomes. Both are used until serve() returns.
  KernelChannel(fuse_session* session, PagePool& pages,
                DirectoryRequests directory_requests = DirectoryRequests::one_by_one);
  ~KernelChannel();
  KernelChannel(const KernelChannel&) = delete;
  KernelChannel& operator=(const KernelChannel&) = delete;

  /// Serves with up to so many threads until the mount is gone, or one of the signals `ends` comes,
  /// SIGTERM among them, which the caller has blocked in all threads. Returns 0, or the errno of a
  /// read that failed. Throws std::system_error where there can be no thread.
  int serve(unsigned threads, const sigset_t& ends);
  /// What ended serve(): "unmounted", "idle_timeout has passed", or a signal and its sender.
  const std::string& end_reason() const { return end_reason_; }
  bool was_unmounted() const { return end_reason_ == kUnmounted; }

  /// Takes one request and answers it on this thread. Returns 0, or the errno of the read: EINTR
  /// to try again, ENODEV after an unmount.
  int serve_one();
  static constexpr const char* kUnmounted = "unmounted";
  static std::string reason_of(const siginfo_t& info, bool is_unmounted);

  /// True if the request that this thread is answering, one that writes, truncates or opens, takes
  /// the set-user-ID and set-group-ID bits from the file.
  bool drops_privileges() noexcept;
  /// The bytes of the write request that this thread is answering, as RequestCells::written().
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
  const std::uint32_t wanted_;  ///< of the kernel's offers, those that libfuse does not take

  Mutex mutex_;
  std::list<pthread_t> workers_ GUARDED_BY(mutex_);
  unsigned most_workers_ GUARDED_BY(mutex_) = 0;
  std::atomic<unsigned> reading_{0};  ///< workers that wait for a request
  std::atomic<bool> has_ended_{false};
  std::atomic<int> error_{0};
  std::string end_reason_ = kUnmounted;  ///< of the thread in serve()
};

// The same of the mount's channel, for the request that this thread is answering. With libfuse's
// own loop the kernel takes the bits by itself, and libfuse has the bytes.

bool request_drops_privileges(fuse_req_t request);
std::span<PooledBuffer> written_cells(fuse_req_t request);

}  // namespace bloscfs::fs
