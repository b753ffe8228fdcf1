#pragma once
// Runs programs for a test, with a time limit. Returns their output and resource usage.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/types.h>

namespace bloscfs::test {

using Seconds = std::chrono::duration<double>;
using Arguments = std::vector<std::string>;

struct ProcessResult {
  int status = -1;         ///< exit status, -1 if a signal ended the program
  int signal = 0;          ///< that signal
  bool timed_out = false;  ///< run() killed the program at its time limit
  std::string out, err;
  rusage usage{};

  bool ok() const { return status == 0; }
  /// Returns how the program ended, and its stderr, as text for messages.
  std::string description() const;
};

struct ProcessSettings {
  Seconds limit{30};
  std::string input;                     ///< the program's stdin
  std::optional<uid_t> uid;              ///< run as this user, group of the same number
  std::vector<std::string> environment;  ///< NAME=value, added to the test's environment
  bool own_group = true;                 ///< the limit kills all of the program's process group
  /// The kernel kills the program when the thread that started it ends for any reason.
  bool ends_with_us = false;
};

/// Runs a program (found through PATH) until it ends, or kills it at the time limit. Reaps it.
ProcessResult run(const Arguments& arguments, const ProcessSettings& settings = {});

/// A program that runs at the same time as the test. The destructor kills and reaps it.
class Child {
 public:
  Child() = default;
  /// Starts `arguments`. Its stdout and stderr go to the file `log`.
  Child(const Arguments& arguments, const std::string& log, const ProcessSettings& settings = {});
  ~Child();
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;

  pid_t pid() const { return pid_; }
  /// False once the program has ended. Reaps it then.
  bool running();
  /// Waits for the program's end. False if it still runs after `limit`.
  bool wait(Seconds limit);
  void signal(int number) const;
  const ProcessResult& result() const { return result_; }

 private:
  void kill_and_reap();
  pid_t pid_ = -1;
  ProcessResult result_;
};

/// True if PATH has such a program.
bool have_program(const std::string& name);

}  // namespace bloscfs::test
