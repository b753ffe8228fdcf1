#include "frame/remote/credential_process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <system_error>

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

constexpr std::chrono::milliseconds kBetweenLooks{100};
constexpr std::size_t kMaxOutput = std::size_t{64} << 10;

[[noreturn]] void fail(const std::string& how) {
  throw RemoteError(EACCES, "the profile's credential_process " + how);
}

/// Returns 0 if the process no longer exists.
pid_t parent_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  // The name of the program is in parentheses, and may itself have some.
  pid_t parent = 0;
  const std::size_t after_name = text.rfind(')');
  if (after_name != std::string::npos) std::sscanf(text.c_str() + after_name, ") %*c %d", &parent);
  return parent;
}

/// Kills a process and its descendants, also those in other sessions. Stops each process first, so
/// that it starts no further ones.
void kill_tree(pid_t process) {
  ::kill(process, SIGSTOP);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const pid_t other = std::atoi(entry.path().filename().c_str());
    if (other > 0 && parent_of(other) == process) kill_tree(other);
  }
  ::kill(process, SIGKILL);
}

/// A shell in a process group of its own. Unless succeeded() has waited for the shell, the
/// destructor kills its descendants and its group. A descendant outlives that if its parent has
/// ended and it has left the group.
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
    try {
      kill_tree(process_);
    } catch (const std::exception&) {  // memory is short
    }
    ::kill(-process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  /// A pidfd, which becomes readable when the shell has ended. Negative if the kernel has none.
  int handle() const { return handle_.get(); }
  bool has_ended() const {
    siginfo_t ended{};
    return ::waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           ended.si_pid != 0;
  }
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

}  // namespace

/// A program that the shell has started may keep the pipe open for as long as it runs. So the end
/// of the shell ends the output, and not the end of the pipe.
std::vector<std::uint8_t> run_credential_process(const std::string& command,
                                                 std::chrono::milliseconds longest,
                                                 const std::atomic<bool>& stopped) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw RemoteError(errno, "pipe");
  const frame::UniqueFd output(ends[0]);
  frame::UniqueFd its_end(ends[1]);
  if (::fcntl(output.get(), F_SETFL, O_NONBLOCK) != 0) throw RemoteError(errno, "pipe");
  Shell shell(command, its_end.get());
  its_end.reset();
  const auto end = Clock::now() + longest;
  std::array<pollfd, 2> awaited{{{output.get(), POLLIN, 0}, {shell.handle(), POLLIN, 0}}};
  std::vector<std::uint8_t> printed(kMaxOutput + 1);
  std::size_t size = 0;
  for (;;) {
    const bool has_ended = shell.has_ended();
    ssize_t got = 0;
    while ((got = ::read(output.get(), printed.data() + size, printed.size() - size)) > 0)
      size += static_cast<std::size_t>(got);
    if (size > kMaxOutput) fail("prints too much");
    if (has_ended) break;
    if (stopped) fail("is not waited for any more");
    if (Clock::now() >= end) fail("takes too long");
    if (got == 0) awaited[0].fd = -1;  // otherwise poll() would return at once for the closed pipe
    ::poll(awaited.data(), awaited.size(), static_cast<int>(kBetweenLooks.count()));
  }
  if (!shell.succeeded()) fail("has failed");
  printed.resize(size);
  return printed;
}

}  // namespace bloscfs::frame::inline remote
