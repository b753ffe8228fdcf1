#pragma once
// The few capabilities of root that the daemon keeps.

namespace bloscfs::fs {

/// Drops all capabilities that serving a mount does not need, also for programs that the process
/// might execute. Reading needs capabilities to find and read all files. Writing needs those to act
/// as other users (fs/source/local/files/on_behalf.hpp), and to make files and change their owners
/// as these users may. A process without capabilities gets none. The process must have only one
/// thread. Throws std::system_error.
struct NeededCapabilities {
  bool writes = false;
  bool devices = false;         ///< device files can be made: CAP_MKNOD
  bool trusted_xattrs = false;  ///< needs CAP_SYS_ADMIN
};
void keep_needed_capabilities(const NeededCapabilities& needed);

/// Drops all capabilities: for a SOURCE that is a URL.
void keep_no_capabilities();

}  // namespace bloscfs::fs
