#pragma once
// A frame, a mountpoint for mounting it from the command line, and the daemon that then runs in the
// background.

#include <string>
#include <system_error>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/comes_true.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Names of the processes outside of the sandbox: the janitor, which unmounts
/// (fs/sandbox/janitor.hpp), and the process that looks up credentials
/// (tools/credentials_process.hpp).
inline const std::string kJanitorName = "bloscfs-janitor", kKeysName = "bloscfs-keys";

inline bool is_called(const std::string& wanted, const std::string& comm) {
  if (!wanted.empty()) return comm == wanted + "\n";
  return comm != kJanitorName + "\n" && comm != kKeysName + "\n";
}

/// Finds the process named `wanted` whose command line contains `point`. An empty name stands for
/// the daemon. Returns -1 if there is none. Background daemons become children of this process.
inline pid_t process_of(const fs_std::path& point, const std::string& wanted) {
  for (const auto& entry : fs_std::directory_iterator("/proc")) {
    const std::string number = entry.path().filename();
    if (number.find_first_not_of("0123456789") != std::string::npos) continue;
    try {
      const auto command = read_file(entry.path() / "cmdline");
      const auto name = read_file(entry.path() / "comm");
      if (contains({command.begin(), command.end()}, point.string()) &&
          is_called(wanted, {name.begin(), name.end()}))
        return std::stoi(number);
    } catch (const std::system_error&) {
      continue;  // the process has ended
    }
  }
  return -1;
}
inline pid_t daemon_of(const fs_std::path& point) { return process_of(point, {}); }
inline pid_t janitor_of(const fs_std::path& point) { return process_of(point, kJanitorName); }

/// Returns the exit status of an adopted daemon, or -1 if it does not end in time.
inline int wait_for(pid_t pid) {
  int status = 0;
  if (!comes_true([&] { return waitpid(pid, &status, WNOHANG) == pid; })) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// A frame and a mountpoint. The destructor always unmounts.
struct Place {
  Place() : point(home / "mnt"), frame(home / "a.b2frame") {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    fs_std::create_directory(point);
    write_file(frame, flat_frame(std::string("contents")));
  }
  ~Place() {
    force_unmount(point);
    const pid_t pid = daemon_of(point);
    if (pid > 0 && wait_for(pid) < 0) {
      kill(pid, SIGKILL);
      wait_for(pid);
    }
  }
  ProcessResult bloscfs(Arguments options) const {
    options.insert(options.begin(), bloscfs_program());
    options.push_back(frame);
    options.push_back(point);
    return run(options);
  }
  TempDir home;
  fs_std::path point, frame;
};

}  // namespace bloscfs::test
