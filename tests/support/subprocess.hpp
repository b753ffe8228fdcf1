#pragma once
// Programs that a test runs: with a time limit, their output, and what they used.

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
  int status = -1;         ///< exit status, -1 when ended by a signal
  int signal = 0;          ///< that signal
  bool timed_out = false;  ///< ended by us
  std::string out, err;
  rusage usage{};

  bool ok() const { return status == 0; }
  /// For messages: how it ended, and its stderr.
  std::string description() const;
};

struct ProcessSettings {
  Seconds limit{30};
  std::string input;                     ///< its stdin
  std::optional<uid_t> uid;              ///< run as this user, group of the same number
  std::vector<std::string> environment;  ///< NAME=value, added to ours
  bool own_group = true;                 ///< the limit ends all of its process group
  /// It is killed when the thread that started it ends, however that comes about.
  bool ends_with_us = false;
};

/// Runs a program (found through PATH) to its end or the limit, and reaps it.
ProcessResult run(const Arguments& arguments, const ProcessSettings& settings = {});

/// A program that runs beside the test. The destructor kills and reaps it.
class Child {
 public:
  Child() = default;
  /// Starts `arguments`; stdout and stderr go to the file `log`.
  Child(const Arguments& arguments, const std::string& log, const ProcessSettings& settings = {});
  ~Child();
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;

  pid_t pid() const { return pid_; }
  /// False once it has ended and was reaped.
  bool running();
  /// Waits for its end; false when the time is up.
  bool wait(Seconds limit);
  void signal(int number) const;
  const ProcessResult& result() const { return result_; }

 private:
  void kill_and_reap();
  pid_t pid_ = -1;
  ProcessResult result_;
};

/// Whether a program is in PATH.
bool have_program(const std::string& name);

}  // namespace bloscfs::test
