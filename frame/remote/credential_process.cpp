#include "frame/remote/credential_process.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame/remote/remote_error.hpp"
#include "frame/store/byte_source.hpp"

namespace bloscfs::frame::inline remote {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLongestRun{30};
constexpr std::chrono::milliseconds kBetweenLooks{100};
constexpr std::size_t kMaxOutput = std::size_t{64} << 10;

[[noreturn]] void fail(const std::string& how) {
  throw RemoteError(EACCES, "the profile's credential_process " + how);
}

/// A shell in a process group of its own. The destructor kills the group unless succeeded() has
/// waited for the shell.
class Shell {
 public:
  Shell(const std::string& command, int output) {
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    sigset_t all, none;
    ::sigfillset(&all);
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    std::string shell = "sh", option = "-c", text = command;
    char* arguments[] = {shell.data(), option.data(), text.data(), nullptr};
    const int error =
        ::posix_spawn(&process_, "/bin/sh", &files, &attributes, &arguments[0], environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&files);
    if (error != 0) fail("cannot be started");
    handle_ = frame::UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, process_, 0)));
  }
  ~Shell() {
    if (is_reaped_) return;
    ::kill(-process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  /// A pidfd, which becomes readable when the shell has ended. Negative if the kernel has none.
  int handle() const { return handle_.get(); }
  bool succeeded() {
    int status = -1;
    is_reaped_ = ::waitpid(process_, &status, 0) == process_;
    return is_reaped_ && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

 private:
  pid_t process_ = -1;
  frame::UniqueFd handle_;
  bool is_reaped_ = false;
};

void wait_for(int descriptor, Clock::time_point end, const std::atomic<bool>& stopped) {
  pollfd wanted{descriptor, POLLIN, 0};
  while (::poll(&wanted, 1, static_cast<int>(kBetweenLooks.count())) <= 0) {
    if (stopped) fail("is not waited for any more");
    if (Clock::now() >= end) fail("takes too long");
  }
}

}  // namespace

std::vector<std::uint8_t> run_credential_process(const std::string& command,
                                                 const std::atomic<bool>& stopped) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw RemoteError(errno, "pipe");
  const frame::UniqueFd output(ends[0]);
  frame::UniqueFd its_end(ends[1]);
  Shell shell(command, its_end.get());
  its_end.reset();
  const auto end = Clock::now() + kLongestRun;
  std::vector<std::uint8_t> printed(kMaxOutput + 1);
  std::size_t size = 0;
  while (size < printed.size()) {
    wait_for(output.get(), end, stopped);
    const ssize_t got = ::read(output.get(), printed.data() + size, printed.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kMaxOutput) fail("prints too much");
  if (shell.handle() >= 0) wait_for(shell.handle(), end, stopped);
  if (!shell.succeeded()) fail("has failed");
  printed.resize(size);
  return printed;
}

}  // namespace bloscfs::frame::inline remote
