#include "tools/interrupt.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "frame/store/open_regular.hpp"
#include "frame/store/temporary_name.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/mount/ended_mounts.hpp"

namespace bloscfs::tools {
namespace {

/// Attempts to remove a busy directory, 1 ms apart. A thread that waits for a processor may create
/// its last file only after the limit on open files was set to 0.
constexpr int kRemovalAttempts = 400;

std::atomic<int> caught_signal{0};
int event = -1;

/// The directories of all WatchedDirectory objects and the locks of all WatchedLock objects. Never
/// destroyed, because the watching thread runs until the process ends.
struct Watched {
  std::recursive_mutex mutex;
  std::multiset<int> directories;
  std::list<std::unique_ptr<fs::MountLock>> locks;
};

Watched& watched() {
  static auto* const all = new Watched;
  return *all;
}

/// A temporary directory that could not be removed, because threads still write to it.
struct Busy {
  int above;
  std::string name;
  DIR* entries;
};

/// Removes this process's temporaries from a directory. Returns those temporary directories that
/// could not be removed.
std::vector<Busy> remove_temporaries(int directory) {
  namespace filesystem = std::filesystem;
  std::error_code ignored;
  std::vector<Busy> left;
  for (auto entry = filesystem::directory_iterator(frame::descriptor_path(directory), ignored);
       entry != filesystem::directory_iterator(); entry.increment(ignored)) {
    const std::string name = entry->path().filename();
    if (!frame::TemporaryMaker::self().has_made(name)) continue;
    filesystem::remove_all(entry->path(), ignored);
    if (!ignored) continue;
    const int busy = ::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (DIR* const entries = busy < 0 ? nullptr : ::fdopendir(busy))
      left.push_back({directory, name, entries});
  }
  return left;
}

/// Tries again to remove a directory and the files in it.
bool remove_busy(const Busy& left) {
  ::rewinddir(left.entries);
  while (const dirent* entry = ::readdir(left.entries))
    ::unlinkat(::dirfd(left.entries), entry->d_name, 0);
  return ::unlinkat(left.above, left.name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
}

[[noreturn]] void watch(const sigset_t& signals) {
  int signal = 0;
  ::sigwait(&signals, &signal);
  caught_signal = signal;
  const std::uint64_t one = 1;
  if (::write(event, &one, sizeof one) < 0) {
    // The descriptor is readable already.
  }
  const timespec grace{0, std::chrono::nanoseconds(kInterruptGrace).count()};
  ::sigtimedwait(&signals, nullptr, &grace);
  const InterruptHold hold;
  std::vector<Busy> busy;
  for (const int directory : watched().directories) {
    try {
      std::ranges::move(remove_temporaries(directory), std::back_inserter(busy));
    } catch (const std::exception&) {
      // The temporaries in the other directories must still be removed.
    }
  }
  if (!busy.empty()) {
    // With a limit of 0, no thread can open another file. Otherwise threads could create files
    // faster than this loop removes them.
    rlimit usual{};
    ::getrlimit(RLIMIT_NOFILE, &usual);
    const rlimit none{0, usual.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
    for (const Busy& left : busy)
      for (int attempt = 0; attempt < kRemovalAttempts && !remove_busy(left); attempt++)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ::setrlimit(RLIMIT_NOFILE, &usual);
  }
  // The locks are released last, because other threads write until the process ends.
  watched().locks.clear();
  end_by_signal(signal);
}

}  // namespace

void watch_for_interrupts() {
  event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event < 0) frame::throw_errno("eventfd");
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond a size limit then fails with EFBIG
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction present {};
    ::sigaction(signal, nullptr, &present);
    if (present.sa_handler != SIG_IGN) ::sigaddset(&signals, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals] { watch(signals); }).detach();
}

void throw_if_interrupted() {
  if (caught_signal != 0) throw Interrupted(caught_signal);
}

int interrupt_descriptor() { return event; }

void end_by_signal(int signal) {
  std::signal(signal, SIG_DFL);
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  ::kill(::getpid(), signal);
  for (;;) ::pause();
}

InterruptHold::InterruptHold() : lock_(watched().mutex) {}

WatchedDirectory::WatchedDirectory(int directory) : directory_(directory) {
  const InterruptHold hold;
  watched().directories.insert(directory);
}

WatchedDirectory::~WatchedDirectory() {
  const InterruptHold hold;
  auto& directories = watched().directories;
  directories.erase(directories.find(directory_));
}

WatchedLock::WatchedLock(int directory, const std::optional<std::string>& single,
                         const std::string& shown) {
  // Takes no InterruptHold here, because this may wait for long. While it waits, the lock has no
  // file.
  auto lock = std::make_unique<fs::MountLock>(directory, single, fs::kMountLockTimeout,
                                              fs::WaitNotice(shown));
  const InterruptHold hold;
  lock_ = watched().locks.insert(watched().locks.end(), std::move(lock));
}

WatchedLock::~WatchedLock() {
  const InterruptHold hold;
  watched().locks.erase(lock_);
}

}  // namespace bloscfs::tools
