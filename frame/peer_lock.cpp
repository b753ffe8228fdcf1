#include "frame/peer_lock.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace bloscfs::frame {
namespace {

constexpr std::uint64_t kGenerationAt = 8;
constexpr std::chrono::seconds kPatience{30};
constexpr std::chrono::milliseconds kFirstPause{1}, kLongestPause{50};

using FileId = std::pair<dev_t, ino_t>;

/// The sidecars that are open in this process.
struct Registry {
  std::mutex mutex;
  std::map<FileId, std::weak_ptr<PeerLock>> locks;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

using Deadline = std::chrono::steady_clock::time_point;

[[noreturn]] void throw_timed_out() {
  throw std::system_error(ETIMEDOUT, std::generic_category(), "another program's .b2lock");
}

/// The kernel has no timed flock, and a peer that never unlocks must not hang us for good.
void lock_until(Deadline deadline, int fd, int operation) {
  auto pause = kFirstPause;
  while (::flock(fd, operation | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) throw std::system_error(errno, std::generic_category(), "flock");
    if (std::chrono::steady_clock::now() >= deadline) throw_timed_out();
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

}  // namespace

std::shared_ptr<PeerLock> PeerLock::open(int directory, const std::string& name) {
  UniqueFd fd(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat st {};
  if (!fd || ::fstat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode)) return nullptr;
  Registry& open_locks = registry();
  const std::lock_guard guard(open_locks.mutex);
  std::erase_if(open_locks.locks, [](const auto& item) { return item.second.expired(); });
  std::weak_ptr<PeerLock>& known = open_locks.locks[FileId(st.st_dev, st.st_ino)];
  std::shared_ptr<PeerLock> lock = known.lock();
  if (!lock) known = lock = std::make_shared<PeerLock>(std::move(fd));
  return lock;
}

PeerLock::Shared::Shared(std::shared_ptr<PeerLock> lock) : lock_(std::move(lock)) {
  if (lock_) lock_->acquire();
}

PeerLock::Shared::~Shared() {
  if (lock_) lock_->release();
}

PeerLock::Exclusive::Exclusive(std::shared_ptr<PeerLock> lock) : lock_(std::move(lock)) {
  if (lock_) lock_->acquire_exclusive();
}

PeerLock::Exclusive& PeerLock::Exclusive::operator=(Exclusive&& other) noexcept {
  if (lock_) lock_->release_exclusive();
  lock_ = std::move(other.lock_);
  return *this;
}

PeerLock::Exclusive::~Exclusive() {
  if (lock_) lock_->release_exclusive();
}

void PeerLock::acquire() {
  const Deadline deadline = std::chrono::steady_clock::now() + kPatience;
  std::unique_lock guard(mutex_);
  if (!changed_.wait_until(guard, deadline, [&] { return writer_ != Writer::waiting; }))
    throw_timed_out();
  if (readers_ == 0 && writer_ == Writer::none) lock_until(deadline, fd_.get(), LOCK_SH);
  ++readers_;
}

void PeerLock::release() noexcept {
  const std::lock_guard guard(mutex_);
  if (--readers_ > 0) return;
  if (writer_ == Writer::none) ::flock(fd_.get(), LOCK_UN);
  changed_.notify_all();
}

// The descriptor has one lock. Turning a shared one into an exclusive one would give it up for a
// moment, so the readers of this process are let finish first, and again before it is released.
void PeerLock::acquire_exclusive() {
  const Deadline deadline = std::chrono::steady_clock::now() + kPatience;
  std::unique_lock guard(mutex_);
  if (!changed_.wait_until(guard, deadline, [&] { return writer_ == Writer::none; }))
    throw_timed_out();
  writer_ = Writer::waiting;
  try {
    if (!changed_.wait_until(guard, deadline, [&] { return readers_ == 0; })) throw_timed_out();
    ::flock(fd_.get(), LOCK_UN);
    guard.unlock();
    lock_until(deadline, fd_.get(), LOCK_EX);
    guard.lock();
    writer_ = Writer::active;
  } catch (...) {
    if (!guard.owns_lock()) guard.lock();
    writer_ = Writer::none;
    changed_.notify_all();
    throw;
  }
  changed_.notify_all();
}

void PeerLock::release_exclusive() noexcept {
  std::unique_lock guard(mutex_);
  writer_ = Writer::waiting;
  changed_.wait(guard, [&] { return readers_ == 0; });
  ::flock(fd_.get(), LOCK_UN);
  writer_ = Writer::none;
  changed_.notify_all();
}

std::uint64_t PeerLock::generation() const {
  std::uint64_t value = 0;  // host byte order, as the peers write it
  ssize_t got = 0;
  do {
    got = ::pread(fd_.get(), &value, sizeof(value), off_t{kGenerationAt});
  } while (got < 0 && errno == EINTR);
  if (got < 0) throw std::system_error(errno, std::generic_category(), "pread .b2lock");
  return got == sizeof(value) ? value : 0;
}

std::uint64_t raise_generation(const PeerLock& lock, StoreFile& sidecar) {
  const std::uint64_t next = lock.generation() + 1;
  std::uint8_t bytes[sizeof(next)];
  std::memcpy(bytes, &next, sizeof(next));  // host byte order, as above
  sidecar.write_at(kGenerationAt, bytes);
  return next;
}

}  // namespace bloscfs::frame
