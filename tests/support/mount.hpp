#pragma once
// Runs a bloscfs daemon in the foreground, mounted on a directory of the test.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/comes_true.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

struct MountSettings {
  std::vector<std::string> options;      ///< each given as -o OPTION
  std::optional<uid_t> uid;              ///< the user that runs the daemon
  Seconds limit{20};                     ///< for the mount to appear
  std::string program;                   ///< empty: bloscfs_program()
  std::vector<std::string> environment;  ///< NAME=value, added to the test's environment
};

/// Thrown if the daemon ends, or the time limit passes, before the mount appears.
struct MountRefused : std::runtime_error {
  MountRefused(std::string text, ProcessResult how)
      : std::runtime_error(std::move(text)), result(std::move(how)) {}
  ProcessResult result;  ///< `err` holds the daemon's log
};

/// A mounted daemon. The destructor always unmounts (lazily if the mount is busy) and reaps the
/// daemon.
class Mount {
 public:
  /// Throws MountRefused.
  explicit Mount(const fs_std::path& source, MountSettings settings = {});
  ~Mount();
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;

  const fs_std::path& path() const { return point_; }
  fs_std::path operator/(const fs_std::path& name) const { return point_ / name; }
  pid_t pid() const { return daemon_.pid(); }
  bool running() { return daemon_.running(); }
  /// Returns all that the daemon has written to stdout and stderr.
  std::string log() const;
  /// Returns the log without the lines that every mount writes: mounted, remounted, ended.
  std::string complaints() const;
  /// Returns the attribute user.bloscfs.stats.
  nlohmann::json stats() const;
  std::uint64_t counter(const char* name) const { return stats().at(name); }
  /// Returns the requests that the daemon serves now, in the form of user.bloscfs.requests. The
  /// request that reads this attribute is not among them.
  nlohmann::json requests() const;
  /// Returns how many of requests() have that operation (such as "write"). Counts all of them if
  /// `operation` is empty.
  std::size_t serves(const std::string& operation = {}) const;
  /// Returns how many of requests() wait for something.
  std::size_t requests_waiting() const;

  /// Unmounts and waits for the daemon's end. Throws std::runtime_error if the daemon does not end.
  const ProcessResult& unmount();
  /// Waits for the daemon to end by itself. False if it still runs after `limit`.
  bool wait(Seconds limit) { return daemon_.wait(limit); }
  void signal(int number) const { daemon_.signal(number); }
  const ProcessResult& result() const { return daemon_.result(); }

 private:
  void wait_until_mounted(Seconds limit);

  TempDir home_;
  fs_std::path point_;
  Child daemon_;
};

/// A clock for daemons that stands still until the test moves it. While it stands, a daemon
/// commits, retries and forgets nothing by itself. Must outlive the mounts that use it.
class DaemonTime {
 public:
  DaemonTime();
  ~DaemonTime();
  DaemonTime(const DaemonTime&) = delete;
  DaemonTime& operator=(const DaemonTime&) = delete;

  /// Returns the settings changed so that the daemon uses this clock.
  MountSettings of(MountSettings settings = {}) const;
  void move(std::chrono::nanoseconds time);
  /// Moves the clock second by second until `condition` holds. False if the condition does not hold
  /// within the limit of comes_true().
  template <typename Condition>
  bool passes_until(const Condition& condition) {
    return comes_true([&] {
      move(std::chrono::seconds(1));
      return condition();
    });
  }

 private:
  TempDir home_;
  void* page_;
};

/// Mounts `source`, calls `read`, and returns the mount's counters. The kernel may drop pages
/// during a read and request them again. If the mount has not read exactly `bytes` of contents, the
/// function tries again with a new mount. It returns the counters of the tenth mount in any case.
nlohmann::json counters_of_reading(const fs_std::path& source, const MountSettings& settings,
                                   std::size_t bytes,
                                   const std::function<void(const Mount&)>& read);

/// True if /proc/self/mountinfo has a mount on exactly this path.
bool is_mounted(const fs_std::path& point);
/// Unmounts the filesystem at `point`, lazily if it stays busy. True if nothing is mounted there
/// any more.
bool force_unmount(const fs_std::path& point);
std::string bloscfs_program();
std::string b2frame_program();  ///< BLOSCFS_B2FRAME, or the program of this build

}  // namespace bloscfs::test
