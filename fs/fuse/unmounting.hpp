#pragma once
// Ending a mount so that nothing is lost.

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

/// The steps, in this order. Each may throw std::system_error, or std::runtime_error with a message
/// for the user; neither names the mountpoint. To be called while there are no other threads.
class Unmounting {
 public:
  /// Called now and then, with the bytes that still wait for a commit.
  using Progress = std::function<void(std::uint64_t dirty_bytes)>;

  /// Refuses what is no bloscfs, and what is another user's.
  explicit Unmounting(const std::string& mountpoint);

  const MountEntry& mount() const { return mount_; }

  /// False where the daemon is gone: then the mountpoint is free, and what the daemon had not
  /// committed is lost.
  bool has_daemon();

  struct Uncommitted {
    std::string name, error;
    std::int64_t bytes = 0;
  };
  /// Has the daemon commit everything that was written. Returns the files that it could not commit;
  /// the mount still has their contents. Waits as long as the daemon answers questions. A process
  /// that does not look like a bloscfs must also commit something every 10 s.
  std::vector<Uncommitted> commit(const Progress& progress);

  /// EBUSY where it is in use.
  void unmount();

  /// Waits up to 30 s for the daemon to end. Returns the files in SOURCE that keep what was written
  /// after commit() and could not be committed. Throws HeldElsewhere.
  std::vector<KeptFile> wait_for_end(const Progress& progress);

  /// Other mount namespaces have copies of the mount, which the daemon serves on.
  struct HeldElsewhere : std::runtime_error {
    explicit HeldElsewhere(std::vector<MountUser> who)
        : std::runtime_error("held by other mount namespaces"), holders(std::move(who)) {}
    std::vector<MountUser> holders;
  };

 private:
  DaemonNumbers numbers() const;
  /// After `wait` has returned, which is called in another process.
  std::vector<KeptFile> kept_in_source(const std::function<void()>& wait,
                                       std::chrono::milliseconds limit) const;

  const MountEntry mount_;
  pid_t process_ = 0;       ///< as the mount says
  frame::UniqueFd daemon_;  ///< stands for that process; empty unless may_serve()
  std::vector<KeptFile> kept_before_;
};

}  // namespace bloscfs::fs
