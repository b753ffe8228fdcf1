#include "fs/fuse/background.hpp"

#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::fs {
namespace {

constexpr const char* kContext = "going into the background";

/// Waits in the caller's process until the child reports success through the pipe `status_pipe`, or
/// has ended. Then exits, with 0 or with the child's status.
[[noreturn]] void wait_for(pid_t child, int status_pipe) {
  char byte = 0;
  ssize_t got = -1;
  do {
    got = ::read(status_pipe, &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got == 1) ::_exit(0);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

}  // namespace

Background::Background() : nothing_(::open("/dev/null", O_RDWR | O_CLOEXEC)) {
  if (!nothing_) frame::throw_errno(kContext);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) frame::throw_errno(kContext);
  const frame::UniqueFd status_pipe(ends[0]);
  ready_.reset(ends[1]);
  const pid_t caller = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) frame::throw_errno(kContext);
  if (child > 0) {
    ready_.reset();
    wait_for(child, status_pipe.get());
  }
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != caller) ::_exit(1);  // the caller ended before prctl()
}

void Background::detach_from_caller() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::dup2(nothing_.get(), fd) < 0) frame::throw_errno(kContext);
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, 0);
  if (::write(ready_.get(), "", 1) != 1) frame::throw_errno(kContext);
  ready_.reset();
  nothing_.reset();
}

}  // namespace bloscfs::fs
