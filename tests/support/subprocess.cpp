#include "tests/support/subprocess.hpp"

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/comes_true.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

namespace {

constexpr int kNotStarted = 127;

/// Descriptors that become 0, 1 and 2 in the program.
struct Streams {
  int in, out, err;
};

[[noreturn]] void become(const Arguments& arguments, const Streams& streams,
                         const ProcessSettings& settings, pid_t parent) {
  if (settings.own_group) setpgid(0, 0);
  // A shell makes tests that it runs in the background ignore some signals.
  for (const int number : {SIGINT, SIGQUIT, SIGHUP, SIGTERM}) signal(number, SIG_DFL);
  for (const auto& [from, to] : {std::pair{streams.in, 0}, {streams.out, 1}, {streams.err, 2}})
    if (dup2(from, to) < 0) _exit(kNotStarted);
  for (const auto& assignment : settings.environment) putenv(const_cast<char*>(assignment.c_str()));
  if (settings.uid) {
    const auto gid = static_cast<gid_t>(*settings.uid);
    if (setgroups(0, nullptr) != 0 || setgid(gid) != 0 || setuid(*settings.uid) != 0)
      _exit(kNotStarted);
  }
  if (settings.ends_with_us) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The parent may have ended before prctl(). The kernel then sends no signal.
    if (getppid() != parent) _exit(kNotStarted);
  }
  std::vector<char*> argv;
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  const std::string text = arguments[0] + ": " + std::strerror(errno) + "\n";
  if (write(2, text.data(), text.size()) < 0) _exit(kNotStarted);
  _exit(kNotStarted);
}

pid_t start(const Arguments& arguments, const Streams& streams, const ProcessSettings& settings) {
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw_errno("fork");
  if (pid == 0) become(arguments, streams, settings, parent);
  if (settings.own_group) setpgid(pid, pid);  // in both processes: either may run first
  return pid;
}

void take_status(int status, ProcessResult& result) {
  if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
}

/// Reaps `pid` when it ends. False if it still runs after `limit`.
bool reap(pid_t pid, Seconds limit, ProcessResult& result) {
  return comes_true(
      [&] {
        int status = 0;
        const pid_t got = wait4(pid, &status, WNOHANG, &result.usage);
        if (got < 0 && errno != EINTR) throw_errno("wait4");
        if (got != pid) return false;
        take_status(status, result);
        return true;
      },
      limit);
}

std::string text_of(const Fd& file) {
  std::string text(static_cast<std::size_t>(lseek(file.get(), 0, SEEK_END)), '\0');
  const ssize_t got = pread(file.get(), text.data(), text.size(), 0);
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

Fd scratch_file() {
  Fd file(open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file) throw_errno("O_TMPFILE");
  return file;
}

}  // namespace

std::string ProcessResult::description() const {
  std::ostringstream text;
  if (timed_out) text << "time limit reached, ";
  if (signal != 0)
    text << "signal " << signal;
  else
    text << "exit status " << status;
  text << ", stderr: " << err;
  return text.str();
}

ProcessResult run(const Arguments& arguments, const ProcessSettings& settings) {
  const auto in = scratch_file(), out = scratch_file(), err = scratch_file();
  if (!settings.input.empty() &&
      pwrite(in.get(), settings.input.data(), settings.input.size(), 0) < 0)
    throw_errno("pwrite");
  ProcessResult result;
  const pid_t pid = start(arguments, {in.get(), out.get(), err.get()}, settings);
  if (!reap(pid, settings.limit, result)) {
    result.timed_out = true;
    kill(settings.own_group ? -pid : pid, SIGKILL);
    reap(pid, Seconds(60), result);
  }
  result.out = text_of(out);
  result.err = text_of(err);
  return result;
}

Child::Child(const Arguments& arguments, const std::string& log, const ProcessSettings& settings) {
  const Fd in(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Fd out(open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!in || !out) throw_errno("open " + log);
  pid_ = start(arguments, {in.get(), out.get(), out.get()}, settings);
}

Child::~Child() { kill_and_reap(); }

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), result_(std::move(other.result_)) {}

Child& Child::operator=(Child&& other) noexcept {
  kill_and_reap();
  pid_ = std::exchange(other.pid_, -1);
  result_ = std::move(other.result_);
  return *this;
}

bool Child::running() { return !wait(Seconds(0)); }

bool Child::wait(Seconds limit) {
  if (pid_ < 0) return true;
  if (!reap(pid_, limit, result_)) return false;
  pid_ = -1;
  return true;
}

void Child::signal(int number) const {
  if (pid_ > 0) kill(pid_, number);
}

void Child::kill_and_reap() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

bool have_program(const std::string& name) { return run({"sh", "-c", "command -v " + name}).ok(); }

}  // namespace bloscfs::test
