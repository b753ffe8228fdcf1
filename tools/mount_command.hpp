#pragma once
// The command line of bloscfs, and that by which mount(8) calls it as mount.bloscfs.

#include <string>
#include <variant>

#include "fs/fuse/session_settings.hpp"
#include "tools/mounts_commands.hpp"

namespace bloscfs::tools {

/// What is to be done about mounts that are there, in place of a new one.
struct MountsCommand {
  bool lists = false;
  std::string unmounted;  ///< a mountpoint, or empty
  StatsRequest stats;
  bool json = false;

  bool is_given() const { return lists || !unmounted.empty() || stats.is_given; }
};

struct MountCommand {
  std::string program;  ///< for messages
  fs::SessionSettings settings;
  bool only_checks = false;  ///< mount(8) was told to mount nothing
  MountsCommand of_mounts;
};

/// The command, or the exit status where there is nothing to be done: of --help, which has been
/// printed, or of what makes no sense, which has been told on stderr.
std::variant<MountCommand, int> parse_mount_command(int argc, const char* const* argv);

}  // namespace bloscfs::tools
