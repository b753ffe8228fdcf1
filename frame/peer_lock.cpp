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

constexpr off_t kGenerationAt = 8;
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

/// The kernel has no timed flock, and a peer that never unlocks must not hang a reader for good.
void lock_shared_within(int fd, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  auto pause = kFirstPause;
  while (::flock(fd, LOCK_SH | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) throw std::system_error(errno, std::generic_category(), "flock");
    if (std::chrono::steady_clock::now() >= deadline)
      throw std::system_error(ETIMEDOUT, std::generic_category(), "another program's .b2lock");
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

void PeerLock::acquire() {
  const std::lock_guard guard(mutex_);
  if (readers_ == 0) lock_shared_within(fd_.get(), kPatience);
  ++readers_;
}

void PeerLock::release() noexcept {
  const std::lock_guard guard(mutex_);
  if (--readers_ == 0) ::flock(fd_.get(), LOCK_UN);
}

std::uint64_t PeerLock::generation() const {
  std::uint64_t value = 0;  // host byte order, as the peers write it
  ssize_t got = 0;
  do {
    got = ::pread(fd_.get(), &value, sizeof(value), kGenerationAt);
  } while (got < 0 && errno == EINTR);
  if (got < 0) throw std::system_error(errno, std::generic_category(), "pread .b2lock");
  return got == sizeof(value) ? value : 0;
}

}  // namespace bloscfs::frame
