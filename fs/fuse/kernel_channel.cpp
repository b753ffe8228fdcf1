#include "fs/fuse/kernel_channel.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/fuse.h>
#include <sys/mman.h>
#include <unistd.h>

#include "frame/store/byte_source.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/fuse/reply.hpp"
#include "fs/fuse/request_cells.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::fs {
namespace {

/// Returns the part of a request at `offset`. Bytes beyond the request's end are zero.
template <typename Part>
Part part_of(codec::Bytes request, std::size_t offset) {
  Part part{};
  if (request.size() > offset)
    std::memcpy(&part, request.data() + offset, std::min(request.size() - offset, sizeof part));
  return part;
}

/// True if the request asks the daemon to clear the file's set-user-ID and set-group-ID bits.
/// libfuse does not pass these flags on.
bool asks_to_clear_setid_bits(codec::Bytes request) {
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
      // These requests have no such flag. Only root's requests keep the bits.
      return header.uid != 0;
    default:
      return false;
  }
}

/// Returns the flags of FUSE_INIT that the daemon accepts in addition to those of libfuse. libfuse
/// does not know FUSE_HANDLE_KILLPRIV_V2. Before version 3.14.1, it forgets to accept
/// FUSE_PARALLEL_DIROPS.
std::uint32_t wanted_offers(DirectoryRequests directory_requests) {
  const bool at_once = directory_requests == DirectoryRequests::at_once;
  return FUSE_HANDLE_KILLPRIV_V2 | (at_once ? FUSE_PARALLEL_DIROPS : 0);
}

/// Room for a request of the largest size, with its headers.
constexpr std::size_t kBufferSize = kRequestSize + 4096;
/// Nearly all requests are smaller.
constexpr std::size_t kUsualSize = std::size_t{64} << 10;

/// True for a FORGET request. It needs no reply, so no other worker has to be ready while it is
/// served.
bool is_forget(codec::Bytes request) {
  const std::uint32_t opcode = part_of<fuse_in_header>(request, 0).opcode;
  return opcode == FUSE_FORGET || opcode == FUSE_BATCH_FORGET;
}

void set_cancelling(bool is_possible) {
  ::pthread_setcancelstate(is_possible ? PTHREAD_CANCEL_ENABLE : PTHREAD_CANCEL_DISABLE, nullptr);
}

/// Redirects what is written to a descriptor into a pipe, until the object is destroyed.
class Diversion {
 public:
  explicit Diversion(int fd) : fd_(fd), kernel_(::fcntl(fd, F_DUPFD_CLOEXEC, 0)) {
    int ends[2];
    if (!kernel_ || ::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) frame::throw_errno("session");
    out_ = frame::UniqueFd(ends[0]);
    const frame::UniqueFd in(ends[1]);
    if (::dup3(in.get(), fd_, O_CLOEXEC) < 0) frame::throw_errno("session");
  }
  ~Diversion() { ::dup3(kernel_.get(), fd_, O_CLOEXEC); }
  Diversion(const Diversion&) = delete;
  Diversion& operator=(const Diversion&) = delete;

  /// Reads what was written, as read(2) does.
  ssize_t take(codec::MutableBytes buffer) const {
    return ::read(out_.get(), buffer.data(), buffer.size());
  }

 private:
  const int fd_;
  const frame::UniqueFd kernel_;
  frame::UniqueFd out_;
};

}  // namespace

/// The last request that one thread has read.
class KernelChannel::Reader {
 public:
  explicit Reader(PagePool& pages)
      : cells(pages), buffer(std::make_unique_for_overwrite<std::uint8_t[]>(kBufferSize)) {}

  codec::MutableBytes all() { return {buffer.get(), kBufferSize}; }

  /// Returns the buffer's pages beyond kUsualSize to the system, after a large request. The next
  /// large writes do not need them, because they use cells.
  void shrink() {
    const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    auto* const end = buffer.get() + kBufferSize;
    auto* const kept = buffer.get() + kUsualSize;
    auto* const from = kept + (page - reinterpret_cast<std::uintptr_t>(kept) % page) % page;
    const auto size = static_cast<std::size_t>(end - from) / page * page;
    ::madvise(from, size, MADV_DONTNEED);
  }

  RequestCells cells;
  const std::unique_ptr<std::uint8_t[]> buffer;
  bool clears_setid_bits = false;

  /// The reader whose request this thread answers. libfuse has no way to pass it on.
  static thread_local Reader* answering;
};

thread_local KernelChannel::Reader* KernelChannel::Reader::answering = nullptr;

KernelChannel::KernelChannel(fuse_session* session, PagePool& pages,
                             DirectoryRequests directory_requests)
    : session_(session), pages_(pages), wanted_(wanted_offers(directory_requests)) {}

KernelChannel::~KernelChannel() = default;

/// Answers the kernel's first request, FUSE_INIT. libfuse does not know all wanted features, so
/// this diverts libfuse's reply into a pipe and adds their flags.
void KernelChannel::agree(Reader& reader, std::size_t size) {
  const codec::Bytes request = reader.all().first(size);
  const std::uint32_t accepted =
      part_of<fuse_init_in>(request, sizeof(fuse_in_header)).flags & wanted_;
  fuse_buf buffer{};
  buffer.mem = reader.buffer.get();
  buffer.size = size;
  std::array<std::uint8_t, 4096> reply;
  ssize_t got = -1;
  {
    const Diversion diversion(fuse_session_fd(session_));
    fuse_session_process_buf(session_, &buffer);
    got = diversion.take(reply);
  }
  if (got <= 0) return log::warn("libfuse answers the kernel by itself; writes are slower");
  constexpr std::size_t kFlags = sizeof(fuse_out_header) + offsetof(fuse_init_out, flags);
  const codec::MutableBytes bytes(reply.data(), static_cast<std::size_t>(got));
  if (part_of<fuse_out_header>(bytes, 0).error == 0 &&
      bytes.size() >= kFlags + sizeof(std::uint32_t)) {
    const std::uint32_t flags = part_of<std::uint32_t>(bytes, kFlags) | accepted;
    std::memcpy(bytes.data() + kFlags, &flags, sizeof flags);
  }
  // Ignores errors of an unmounted filesystem: the next read of a request reports the unmount.
  if (::write(fuse_session_fd(session_), bytes.data(), bytes.size()) < 0 && errno != ENOENT &&
      errno != ENODEV && errno != ECONNABORTED)
    frame::throw_errno("session");
}

void KernelChannel::answer(Reader& reader, std::size_t size) {
  const codec::Bytes request = reader.all().first(size);
  if (part_of<fuse_in_header>(request, 0).opcode == FUSE_INIT) return agree(reader, size);
  reader.clears_setid_bits = asks_to_clear_setid_bits(request);
  fuse_buf buffer{};
  buffer.mem = reader.buffer.get();
  buffer.size = size;
  Reader::answering = &reader;
  fuse_session_process_buf(session_, &buffer);
  Reader::answering = nullptr;
  if (size > kUsualSize && reader.cells.written().empty()) reader.shrink();
}

int KernelChannel::serve_one() {
  Reader reader(pages_);
  const ssize_t got = reader.cells.read(fuse_session_fd(session_), reader.all());
  if (got < 0) return errno;
  answer(reader, static_cast<std::size_t>(got));
  return 0;
}

/// Starts a worker, since all others are busy. If no thread can be started, the existing workers go
/// on; without any, throws std::system_error.
void KernelChannel::start_worker() {
  if (has_ended_ || workers_.size() >= most_workers_) return;
  pthread_t worker{};
  const auto run = [](void* channel) -> void* {
    set_cancelling(false);
    static_cast<KernelChannel*>(channel)->work();
    return nullptr;
  };
  reading_++;
  const int error = ::pthread_create(&worker, nullptr, run, this);
  if (error == 0) return workers_.push_back(worker);
  reading_--;
  if (workers_.empty()) frame::throw_errno(error, "session");
}

void KernelChannel::work() {
  std::optional<Reader> reader;
  try {
    reader.emplace(pages_);
  } catch (const std::bad_alloc&) {
    return give_up();
  }
  while (!has_ended_) {
    set_cancelling(true);
    const ssize_t got = reader->cells.read(fuse_session_fd(session_), reader->all());
    const int error = got < 0 ? errno : 0;
    set_cancelling(false);
    // ENOENT: the request was interrupted before it was read. ECONNABORTED: the filesystem was
    // unmounted while the kernel handed over a request.
    if (error == EINTR || error == EAGAIN || error == ENOENT) continue;
    if (error != 0 || got == 0) return end(error == ENODEV || error == ECONNABORTED ? 0 : error);
    if (--reading_ == 0 && !is_forget(reader->all())) {
      const MutexLock lock(mutex_);
      start_worker();
    }
    answer(*reader, static_cast<std::size_t>(got));
    reading_++;
  }
}

/// Ends a worker that has no memory for requests. Ends the session with ENOMEM if it is the only
/// one.
void KernelChannel::give_up() {
  reading_--;
  const MutexLock lock(mutex_);
  if (workers_.size() <= 1 && !has_ended_) end(ENOMEM);
}

void KernelChannel::end(int error) {
  if (error != 0) error_ = error;
  has_ended_ = true;
  ::kill(::getpid(), SIGTERM);  // wakes the thread in serve(); all others block it
}

int KernelChannel::serve(unsigned threads, const sigset_t& ends,
                         const std::function<bool()>& unmount_if_unused) {
  int error = EINTR;
  while (error == EINTR || error == EAGAIN) error = serve_one();
  if (error != 0) return error == ENODEV || error == ECONNABORTED ? 0 : error;
  if (fuse_session_exited(session_) != 0) return EPROTO;  // libfuse and the kernel do not agree
  {
    const MutexLock lock(mutex_);
    most_workers_ = threads;
    start_worker();
  }
  for (bool serves = true; serves;) {
    siginfo_t info{};
    while (::sigwaitinfo(&ends, &info) < 0 && errno == EINTR) continue;
    serves = false;
    if (has_ended_) {
      end_reason_ = kUnmounted;
    } else if (info.si_code == SI_USER && info.si_pid == ::getpid()) {
      end_reason_ = "idle_timeout has passed";
      serves = !unmount_if_unused();
    } else {
      end_reason_ = fmt::format("SIG{} of process {}", ::sigabbrev_np(info.si_signo), info.si_pid);
    }
  }
  has_ended_ = true;
  fuse_session_exit(session_);
  // Since has_ended_ is set, no worker is started any more. Those that wait for a request are
  // cancelled.
  std::list<pthread_t> workers;
  {
    const MutexLock lock(mutex_);
    workers.swap(workers_);
  }
  for (const pthread_t worker : workers) ::pthread_cancel(worker);
  for (const pthread_t worker : workers) ::pthread_join(worker, nullptr);
  return error_;
}

bool KernelChannel::clears_setid_bits() noexcept {
  return Reader::answering != nullptr && Reader::answering->clears_setid_bits;
}

std::span<PooledBuffer> KernelChannel::written_cells() noexcept {
  return Reader::answering == nullptr ? std::span<PooledBuffer>()
                                      : Reader::answering->cells.written();
}

bool request_clears_setid_bits(fuse_req_t request) {
  KernelChannel* const channel = mount_state(request).channel;
  return channel != nullptr && channel->clears_setid_bits();
}

std::span<PooledBuffer> written_cells(fuse_req_t request) {
  KernelChannel* const channel = mount_state(request).channel;
  return channel == nullptr ? std::span<PooledBuffer>() : channel->written_cells();
}

}  // namespace bloscfs::fs
