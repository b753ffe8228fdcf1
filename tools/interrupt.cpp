#include "tools/interrupt.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <set>
#include <system_error>
#include <thread>

#include <sys/eventfd.h>
#include <unistd.h>

#include "frame/store/open_regular.hpp"
#include "frame/store/temporary_name.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::tools {
namespace {

/// A directory to which a thread still writes may need more than one attempt.
constexpr int kRemovalAttempts = 20;

std::atomic<int> caught_signal{0};
int event = -1;

/// Of the WatchedDirectories. Never destroyed: the watching thread runs until the process ends.
struct Watched {
  std::recursive_mutex mutex;
  std::multiset<int> directories;
};

Watched& watched() {
  static auto* const all = new Watched;
  return *all;
}

void remove_temporaries(int directory) {
  namespace filesystem = std::filesystem;
  std::error_code ignored;
  for (auto entry = filesystem::directory_iterator(frame::descriptor_path(directory), ignored);
       entry != filesystem::directory_iterator(); entry.increment(ignored))
    if (frame::TemporaryMaker::self().has_made(entry->path().filename().native()))
      for (int attempt = 0; attempt < kRemovalAttempts; attempt++)
        if (filesystem::remove_all(entry->path(), ignored); !ignored) break;
}

[[noreturn]] void watch(const sigset_t& signals) {
  int signal = 0;
  ::sigwait(&signals, &signal);
  caught_signal = signal;
  const std::uint64_t one = 1;
  if (::write(event, &one, sizeof one) < 0) {
    // It is readable already.
  }
  const timespec grace{0, std::chrono::nanoseconds(kInterruptGrace).count()};
  ::sigtimedwait(&signals, nullptr, &grace);
  const InterruptHold hold;
  for (const int directory : watched().directories) {
    try {
      remove_temporaries(directory);
    } catch (const std::exception&) {
      // Those in the other directories are to go, too.
    }
  }
  end_by_signal(signal);
}

}  // namespace

void watch_for_interrupts() {
  event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event < 0) frame::throw_errno("eventfd");
  std::signal(SIGXFSZ, SIG_IGN);  // writing beyond a limit is an error like others
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

}  // namespace bloscfs::tools
