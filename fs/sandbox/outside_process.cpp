#include "fs/sandbox/outside_process.hpp"

#include <csignal>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::fs {
namespace {

constexpr int kSocket = 3;

/// Closes all inherited descriptors except the socket, which becomes descriptor kSocket. Leaves the
/// session and directory of the daemon. Returns false on failure.
bool leave_daemon(int socket, const char* name) {
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0) return false;
  const int kept = ::fcntl(socket, F_DUPFD, kSocket + 1);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::dup2(nothing, fd) < 0) return false;
  if (::dup3(kept, kSocket, O_CLOEXEC) < 0) return false;
  ::close_range(kSocket + 1, ~0u, 0);
  ::setsid();
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE}) ::signal(number, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);
  ::prctl(PR_SET_DUMPABLE, 0);
  ::prctl(PR_SET_NAME, name);
  return ::chdir("/") == 0;
}

}  // namespace

OutsideProcess::OutsideProcess(const char* name, const std::function<void(int socket)>& work) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) frame::throw_errno(name);
  socket_.reset(ends[0]);
  const frame::UniqueFd other(ends[1]);
  process_ = ::fork();
  if (process_ < 0) frame::throw_errno(name);
  if (process_ > 0) return;
  if (!leave_daemon(other.get(), name)) ::_exit(1);
  try {
    work(kSocket);
  } catch (...) {  // the daemon's stack must not be unwound here
    ::_exit(1);
  }
  ::_exit(0);
}

}  // namespace bloscfs::fs
