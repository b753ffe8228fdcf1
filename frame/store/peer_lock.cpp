#include "frame/store/peer_lock.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "frame/store/open_regular.hpp"
#include "frame/store/refusal.hpp"
#include "frame/store/throw_errno.hpp"
#include "frame/store/wait_context.hpp"

namespace bloscfs::frame::inline store {
namespace {

constexpr std::uint64_t kGenerationAt = 8;
constexpr std::size_t kSidecarSize = 16;

using LockedFile = std::pair<dev_t, ino_t>;

/// The sidecars that are open in this process.
struct Registry {
  std::mutex mutex;
  std::map<LockedFile, std::weak_ptr<PeerLock>> locks;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

/// A sidecar that may not be opened is none; one that cannot be just now may be locked.
UniqueFd open_sidecar(int directory, const std::string& name) {
  try {
    return open_regular_at(directory, name, O_RDONLY);
  } catch (const std::system_error& error) {
    // A name that has become stale leads to another sidecar by now, which somebody may have locked.
    if (is_refusal(error.code()) && error.code() != std::errc(ESTALE)) return {};
    throw;
  }
}

/// At most 16 bytes, of which the first eight are zeros.
bool is_sidecar(const ByteSource& file) {
  std::array<std::uint8_t, kSidecarSize + 1> bytes{};
  const std::size_t size = file.read_at(0, bytes);
  const auto generation = bytes.begin() + kGenerationAt;
  return size <= kSidecarSize &&
         std::find_if(bytes.begin(), generation, [](auto byte) { return byte != 0; }) == generation;
}

constexpr const char* kLockName = "another program's .b2lock";

bool try_flock(int fd, int operation) {
  while (::flock(fd, operation | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) throw_errno("flock");
  }
  return true;
}

}  // namespace

std::shared_ptr<PeerLock> PeerLock::open(int directory, const std::string& name) {
  if (directory == -1) return nullptr;
  UniqueFd fd = open_sidecar(directory, name);
  struct stat st {};
  if (!fd || ::fstat(fd.get(), &st) != 0) return nullptr;
  Registry& open_locks = registry();
  const std::lock_guard guard(open_locks.mutex);
  std::erase_if(open_locks.locks, [](const auto& item) { return item.second.expired(); });
  // One for each file in the process: flock(2) of two descriptors of one process excludes as that
  // of two processes, and a writer would wait for its own readers.
  std::weak_ptr<PeerLock>& known = open_locks.locks[LockedFile(st.st_dev, st.st_ino)];
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

bool PeerLock::try_acquire() {
  // New readers wait behind a writer of this process: else those that overlap could keep it out for
  // ever.
  if (writer_ == Writer::waiting) return false;
  if (readers_ == 0 && writer_ == Writer::none && !try_flock(fd_.get(), LOCK_SH)) return false;
  ++readers_;
  return true;
}

void PeerLock::acquire() {
  std::unique_lock guard(mutex_);
  if (try_acquire()) return;
  BeforeLocks::call();
  const SharedLockTimeout timeout;
  const WaitMark mark(WaitReason::other_program);
  for (auto pause = kFirstPause; !try_acquire(); pause = std::min(2 * pause, kLongestPause)) {
    if (LockTimeout::has_ended()) throw LockedByOthers(kLockName);
    changed_.wait_for(guard, pause);
  }
}

void PeerLock::release() noexcept {
  const std::lock_guard guard(mutex_);
  if (--readers_ > 0) return;
  // A writer of this process that waits gives the lock up itself, and one that is active keeps it.
  if (writer_ == Writer::none) ::flock(fd_.get(), LOCK_UN);
  changed_.notify_all();
}

// The descriptor has one lock. Turning a shared one into an exclusive one would give it up for a
// moment, so the readers of this process are let finish first, and again before it is released.
void PeerLock::acquire_exclusive() {
  const Clock& clock = wait_clock();
  const auto deadline = clock.now() + kLockTimeout;
  std::unique_lock guard(mutex_);
  const auto wait_until = [&](const auto& is_true) {
    while (!is_true()) {
      if (LockTimeout::is_over(deadline)) throw LockedByOthers(kLockName);
      BeforeLocks::call();
      clock.wait_until(changed_, guard, deadline);
    }
  };
  wait_until([&] { return writer_ == Writer::none; });
  writer_ = Writer::waiting;
  try {
    wait_until([&] { return readers_ == 0; });
    ::flock(fd_.get(), LOCK_UN);
    guard.unlock();
    lock_until(std::min(deadline, LockTimeout::end_of(kLockTimeout)), kLockName,
               [this] { return try_flock(fd_.get(), LOCK_EX); });
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
  if (got < 0) throw_errno("pread .b2lock");
  return got == sizeof(value) ? value : 0;
}

std::uint64_t PeerLock::foreign_changes() const {
  const std::lock_guard guard(mutex_);
  // What this process has counted up itself is no change of others.
  return generation() - own_changes_;
}

void PeerLock::announce_change(StoreFile& sidecar) {
  // Some user's file that is only called so is not written to.
  if (!is_sidecar(sidecar)) return;
  const std::lock_guard guard(mutex_);
  const std::uint64_t next = generation() + 1;
  std::uint8_t bytes[sizeof(next)];
  std::memcpy(bytes, &next, sizeof(next));  // host byte order, as above
  sidecar.write_at(kGenerationAt, bytes);
  ++own_changes_;
}

}  // namespace bloscfs::frame::inline store
