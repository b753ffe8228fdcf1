// bloscfs: mounts Blosc2 frames, or a tree of them, as ordinary files. mount(8) calls it as
// mount.bloscfs.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <variant>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "frame/remote/open_remote.hpp"
#include "frame/remote/url.hpp"
#include "fs/fuse/remount.hpp"
#include "fs/fuse/session.hpp"
#include "fs/support/file_error.hpp"
#include "fs/support/printable.hpp"
#include "tools/mount_clock.hpp"
#include "tools/mount_command.hpp"
#include "tools/mounted_objects.hpp"
#include "tools/service_manager.hpp"
#include "tools/version.hpp"

namespace {

/// Opens /dev/null for each closed descriptor from 0 to 2. The daemon replaces descriptors 0 to 2
/// when it goes to the background, so no other file may get these numbers.
void occupy_standard_descriptors() {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::open("/dev/null", O_RDWR);
  if (fd >= 0) ::close(fd);
}

/// Prints an error about `file` in one line. Returns the exit status.
int report(const bloscfs::tools::MountCommand& command, const std::string& file,
           const std::exception& error) {
  const std::string& mountpoint = command.settings.mountpoint;
  const bool needs_mountpoint = command.is_helper() && file != mountpoint;
  const std::string line = bloscfs::fs::printable((needs_mountpoint ? mountpoint + ": " : "") +
                                                  file + ": " + error.what());
  std::fprintf(stderr, "%s: %s\n", command.program.c_str(), line.c_str());
  return 1;
}

/// Overwrites the queries of URLs. A query may hold a token, and every user can read the command
/// line of a process.
void hide_queries(int argc, char** argv) {
  for (int at = 1; at < argc; at++) {
    char* const query = std::strchr(argv[at], '?');
    if (query != nullptr && bloscfs::frame::is_url(argv[at]))
      std::fill_n(query + 1, std::strlen(query + 1), '.');
  }
}

void tell(const bloscfs::tools::ServiceManager& manager,
          const bloscfs::fs::SessionSettings& settings, bloscfs::fs::MountPhase phase) {
  const std::string shown = bloscfs::fs::printable(bloscfs::frame::shown_url(settings.source) +
                                                   " on " + settings.mountpoint);
  manager.tell(phase == bloscfs::fs::MountPhase::works
                   ? "READY=1\nSTATUS=Mounted " + shown
                   : "STOPPING=1\nSTATUS=Committing what was written to " + shown);
}

/// Throws unless the directory above `path`, the value of an option, exists. `path` may be empty.
void require_directory_above(const std::string& path, const char* option) {
  if (path.empty()) return;
  const std::filesystem::path above = std::filesystem::absolute(path).parent_path();
  if (!std::filesystem::is_directory(above))
    throw bloscfs::fs::FileError(
        path, fmt::format("No such file or directory; make the directory {}, or correct {}=",
                          above.string(), option));
}

/// For a mount that is only to be checked: throws what the mount would throw if a path is wrong.
void check_paths(const bloscfs::fs::SessionSettings& settings) {
  const bloscfs::fs::MountOptions& options = settings.options;
  bloscfs::fs::require_mountpoint(settings.mountpoint);
  if (!options.remount && !bloscfs::frame::is_remote(settings.source))
    bloscfs::fs::check_file_source(settings);
  require_directory_above(options.log_file, "log");
  require_directory_above(options.rescue, "rescue");
}

int run_on_mounts(const bloscfs::tools::MountsCommand& command) {
  if (command.lists) return bloscfs::tools::list_mounts(command.json);
  if (!command.unmounted.empty()) return bloscfs::tools::unmount(command.unmounted);
  return bloscfs::tools::show_stats(command.stats);
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_descriptors();
  auto parsed = bloscfs::tools::parse_mount_command(argc, argv);
  if (const int* const status = std::get_if<int>(&parsed)) return *status;
  hide_queries(argc, argv);
  auto& command = std::get<bloscfs::tools::MountCommand>(parsed);
  if (command.of_mounts.is_given()) return run_on_mounts(command.of_mounts);
  bloscfs::fs::SessionSettings& settings = command.settings;
  settings.version = bloscfs::tools::version_text();
  const bloscfs::tools::ServiceManager manager;
  settings.tell = [&](bloscfs::fs::MountPhase phase) { tell(manager, settings, phase); };
  const bool is_remount = settings.options.remount;
  try {
    if (!is_remount && !command.check_only) bloscfs::tools::set_object_source(settings);
    settings.clock = &bloscfs::tools::mount_clock();
    if (command.check_only)
      check_paths(settings);
    else if (is_remount)
      bloscfs::fs::remount(settings.mountpoint, settings.options);
    else
      bloscfs::fs::run_session(settings);
  } catch (const bloscfs::fs::FileError& error) {
    return report(command, error.file(), error);
  } catch (const std::exception& error) {
    return report(command,
                  is_remount ? settings.mountpoint : bloscfs::frame::shown_url(settings.source),
                  error);
  }
  return 0;
}
