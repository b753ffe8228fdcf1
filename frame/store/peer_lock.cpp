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

/// Returns nothing if there is no sidecar, or this process may not open it. Throws on other errors,
/// because another program may have locked the sidecar.
UniqueFd open_sidecar(int directory, const std::string& name) {
  try {
    return open_regular_at(directory, name, O_RDONLY);
  } catch (const std::system_error& error) {
    // After ESTALE, the name may lead to another sidecar, which another program may have locked.
    if (is_refusal(error.code()) && error.code() != std::errc(ESTALE)) return {};
    throw;
  }
}

/// True if the file has at most 16 bytes, of which the first eight are zeros.
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
  // One lock for each file in the process. flock(2) treats two descriptors of one process like
  // those of two processes, so a writer would wait for its own process's readers.
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
  // New readers wait behind a waiting writer of this process. Otherwise overlapping readers could
  // keep it out for ever.
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
  // A waiting writer of this process releases the lock itself. An active writer keeps it.
  if (writer_ == Writer::none) ::flock(fd_.get(), LOCK_UN);
  changed_.notify_all();
}

// All readers of this process share one lock on the descriptor. flock(2) releases a shared lock for
// a moment when it makes it exclusive, and another program could then write. A writer therefore
// waits until this process has no readers before it locks, and again before it unlocks.
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
  // Keeps new readers out, so that the present ones end.
  writer_ = Writer::waiting;
  changed_.wait(guard, [&] { return readers_ == 0; });
  ::flock(fd_.get(), LOCK_UN);
  writer_ = Writer::none;
  changed_.notify_all();
}

std::uint64_t PeerLock::generation() const {
  std::uint64_t value = 0;  // host byte order, as other programs write it
  ssize_t got = 0;
  do {
    got = ::pread(fd_.get(), &value, sizeof(value), off_t{kGenerationAt});
  } while (got < 0 && errno == EINTR);
  if (got < 0) throw_errno("pread .b2lock");
  return got == sizeof(value) ? value : 0;
}

std::uint64_t PeerLock::foreign_changes() const {
  const std::lock_guard guard(mutex_);
  // Increments by this process are not changes by others.
  return generation() - own_changes_;
}

void PeerLock::announce_change(StoreFile& sidecar) {
  // Do not write to a user's file that only has a sidecar's name.
  if (!is_sidecar(sidecar)) return;
  const std::lock_guard guard(mutex_);
  const std::uint64_t next = generation() + 1;
  std::uint8_t bytes[sizeof(next)];
  std::memcpy(bytes, &next, sizeof(next));  // host byte order, as in generation()
  sidecar.write_at(kGenerationAt, bytes);
  ++own_changes_;
}

}  // namespace bloscfs::frame::inline store
