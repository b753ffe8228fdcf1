#include "fs/fuse/dead_mount.hpp"

#include <cerrno>
#include <cstdlib>
#include <memory>

#include <sys/stat.h>

#include "fs/sandbox/lazy_unmount.hpp"
#include "fs/source/mount_table.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::fs {
namespace {

bool is_dead(const std::string& mountpoint) {
  struct stat st {};
  return ::stat(mountpoint.c_str(), &st) != 0 && errno == ENOTCONN;
}

/// As the mount table has it; the place itself cannot be resolved any more. Empty where it cannot
/// be told.
std::string name_in_table(std::string mountpoint) {
  while (mountpoint.size() > 1 && mountpoint.ends_with('/')) mountpoint.pop_back();
  const std::size_t slash = mountpoint.rfind('/');
  const std::string name = mountpoint.substr(slash + 1);  // of npos all
  const std::string parent = slash == std::string::npos ? "." : mountpoint.substr(0, slash + 1);
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(parent.c_str(), nullptr),
                                                        std::free);
  if (!resolved) return "";
  const std::string folder = resolved.get();
  return (folder == "/" ? folder : folder + "/") + name;
}

}  // namespace

void remove_dead_mount(const std::string& mountpoint) {
  if (!is_dead(mountpoint)) return;
  const std::string point = name_in_table(mountpoint);
  std::string type;
  for (const MountEntry& entry : mount_table())
    if (entry.point == point) type = entry.type;
  if (type != "fuse.bloscfs" || !unmount_lazily(point)) return;
  log::warn("removed a mount whose daemon had died");
}

}  // namespace bloscfs::fs
