#pragma once
// A bloscfs daemon that a test runs in the foreground, with the directory that it is mounted on.

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
  std::optional<uid_t> uid;              ///< who runs the daemon
  Seconds limit{20};                     ///< for the mount to appear
  std::string program;                   ///< the built one when empty
  std::vector<std::string> environment;  ///< NAME=value, added to ours
};

/// The daemon ended, or hung, before its mount appeared.
struct MountRefused : std::runtime_error {
  MountRefused(std::string text, ProcessResult how)
      : std::runtime_error(std::move(text)), result(std::move(how)) {}
  ProcessResult result;  ///< err holds what the daemon said
};

/// The destructor unmounts (lazily if need be) and reaps the daemon, whatever happened.
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
  /// What the daemon wrote to stdout and stderr so far.
  std::string log() const;
  /// The lines of the log but those that every mount has: mounted, remounted, ended.
  std::string complaints() const;
  /// The attribute user.bloscfs.stats.
  nlohmann::json stats() const;
  std::uint64_t counter(const char* name) const { return stats().at(name); }
  /// What it serves now but for this, each as user.bloscfs.requests tells it.
  nlohmann::json requests() const;
  /// How many of them are of that operation ("write"), or all.
  std::size_t serves(const std::string& operation = {}) const;
  /// How many of them wait for something.
  std::size_t requests_waiting() const;

  /// Unmounts and waits for the daemon's end; throws when it does not end.
  const ProcessResult& unmount();
  /// Waits for the daemon to end by itself.
  bool wait(Seconds limit) { return daemon_.wait(limit); }
  void signal(int number) const { daemon_.signal(number); }
  const ProcessResult& result() const { return daemon_.result(); }

 private:
  void wait_until_mounted(Seconds limit);

  TempDir home_;
  fs_std::path point_;
  Child daemon_;
};

/// The time of daemons, which stands still until the test moves it: nothing is committed, tried
/// again or forgotten by itself meanwhile. Outlives the mounts that have it.
class DaemonTime {
 public:
  DaemonTime();
  ~DaemonTime();
  DaemonTime(const DaemonTime&) = delete;
  DaemonTime& operator=(const DaemonTime&) = delete;

  /// The same with a daemon that goes by this time.
  MountSettings of(MountSettings settings = {}) const;
  void move(std::chrono::nanoseconds time);
  /// Moves it by seconds until `condition` holds; false as comes_true().
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

/// Counters of a mount of `source` through which `read` has read so many bytes of contents. The
/// kernel may give pages up under readers and ask for them again: then `read` gets another mount,
/// ten at most.
nlohmann::json counters_of_reading(const fs_std::path& source, const MountSettings& settings,
                                   std::size_t bytes,
                                   const std::function<void(const Mount&)>& read);

/// Whether something is mounted exactly there, by /proc/self/mountinfo.
bool is_mounted(const fs_std::path& point);
/// Unmounts what is mounted there, lazily when it is busy; true when nothing is mounted any more.
bool force_unmount(const fs_std::path& point);
/// Paths of the programs under test.
std::string bloscfs_program();
std::string b2frame_program();  ///< BLOSCFS_B2FRAME, or that of this build

}  // namespace bloscfs::test
