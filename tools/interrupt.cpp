#include "tools/interrupt.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include <sys/eventfd.h>
#include <unistd.h>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::tools {
namespace {

std::atomic<int> caught_signal{0};
std::atomic<int> event{-1};
static_assert(std::atomic<int>::is_always_lock_free);

void note(int signal) {
  const int saved = errno;
  caught_signal = signal;
  const std::uint64_t one = 1;
  if (::write(event, &one, sizeof one) < 0) errno = saved;  // it is readable already
  errno = saved;
}

}  // namespace

void note_interrupts() {
  event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event < 0) frame::throw_errno("eventfd");
  std::signal(SIGXFSZ, SIG_IGN);  // writing beyond a limit is an error like others
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction present {};
    ::sigaction(signal, nullptr, &present);
    if (present.sa_handler == SIG_IGN) continue;
    struct sigaction wanted {};
    wanted.sa_handler = note;
    wanted.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigaction(signal, &wanted, nullptr);
  }
}

void throw_if_interrupted() {
  if (caught_signal != 0) throw Interrupted(caught_signal);
}

int interrupt_descriptor() { return event; }

}  // namespace bloscfs::tools
