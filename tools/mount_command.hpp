#pragma once
// The command line of bloscfs, and of mount.bloscfs, the name by which mount(8) calls it.

#include <string>
#include <variant>

#include "fs/fuse/session_settings.hpp"
#include "tools/mounts_commands.hpp"

namespace bloscfs::tools {

/// An action on existing mounts, in place of a new mount.
struct MountsCommand {
  bool lists = false;
  std::string unmounted;  ///< mountpoint, or empty
  StatsRequest stats;
  bool json = false;

  bool is_given() const { return lists || !unmounted.empty() || stats.is_given; }
};

struct MountCommand {
  std::string program;  ///< name in messages
  /// True if mount(8) called the program. Its messages all name the mountpoint, since mount -a
  /// shows those of many mounts.
  bool is_helper() const { return program == "mount.bloscfs"; }
  fs::SessionSettings settings;
  bool check_only = false;  ///< mount(8) asked only for a check of options and paths
  MountsCommand of_mounts;
};

/// Returns the command, or an exit status if nothing is left to do: after --help, which has been
/// printed, or after a usage error, which has been reported on stderr.
std::variant<MountCommand, int> parse_mount_command(int argc, const char* const* argv);

}  // namespace bloscfs::tools
