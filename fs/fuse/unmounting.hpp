#pragma once
// Unmounts such that no data is lost.

#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "frame/store/byte_source.hpp"
#include "fs/fuse/mount_answer.hpp"
#include "fs/source/local/files/kept_files.hpp"
#include "fs/source/local/files/mount_table.hpp"
#include "fs/source/local/files/mount_users.hpp"

namespace bloscfs::fs {

/// The functions are called in this order. Each may throw std::system_error, or std::runtime_error
/// with a message for the user; neither names the mountpoint. To be called while there are no other
/// threads.
class Unmounting {
 public:
  /// Called repeatedly, with the number of bytes that still wait for a commit.
  using Progress = std::function<void(std::uint64_t dirty_bytes)>;

  /// Throws if no bloscfs is mounted there, or if the mount belongs to another user.
  explicit Unmounting(const std::string& mountpoint);

  const MountEntry& mount() const { return mount_; }

  /// Returns false if the daemon is gone. The mountpoint is free then, and what the daemon had not
  /// committed is lost.
  bool has_daemon();

  /// Has the daemon commit everything that was written. Returns the files that it could not commit;
  /// the mount still has their contents. Waits as long as the daemon answers questions. A process
  /// that does not look like a bloscfs must also commit something every 10 s.
  std::vector<UncommittedFile> commit(const Progress& progress);
  struct Rescue {
    std::string folder;        ///< path of the rescue folder; empty if there is none
    std::string obstacle;      ///< why there is none; may be empty
    std::uint64_t free = 0;    ///< bytes
    std::uint64_t needed = 0;  ///< bytes of the uncommitted files, which need less if they compress
  };
  /// Describes the mount's rescue folder, if commit() has returned files.
  const Rescue& rescue() const { return rescue_; }

  /// Returns how many conflict files the mount has made, as of the end of commit().
  std::uint64_t conflicts() const { return conflicts_; }

  /// Throws EBUSY if the mount is in use.
  void unmount();

  /// Waits up to 30 s for the daemon to end. Returns files in SOURCE with data that was written
  /// after commit() and could not be committed. Throws MountedElsewhere.
  std::vector<KeptFile> wait_for_end(const Progress& progress);
  /// Returns the files in SOURCE that earlier mounts could not commit, as of commit().
  const std::vector<KeptFile>& kept_before() const { return kept_before_; }

  /// Other mount namespaces have copies of the mount, so the daemon goes on serving.
  struct MountedElsewhere : std::runtime_error {
    explicit MountedElsewhere(std::vector<MountUser> who)
        : std::runtime_error("held by other mount namespaces"), holders(std::move(who)) {}
    std::vector<MountUser> holders;
  };

 private:
  DaemonNumbers numbers() const;
  void tell_daemon(unsigned command) const;
  /// Calls `wait` in another process, and then lists the kept files there. Throws if that takes
  /// longer than `limit`.
  std::vector<KeptFile> kept_in_source(const std::function<void()>& wait,
                                       std::chrono::milliseconds limit) const;

  const MountEntry mount_;
  pid_t process_ = 0;       ///< reported by the mount
  frame::UniqueFd daemon_;  ///< a pidfd of process_; empty unless it is a bloscfs process
  Rescue rescue_;
  std::uint64_t conflicts_ = 0;
  std::vector<KeptFile> kept_before_;  ///< as of the beginning of commit()
};

}  // namespace bloscfs::fs
