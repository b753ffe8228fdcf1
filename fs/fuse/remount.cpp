#include "fs/fuse/remount.hpp"

#include <array>
#include <cerrno>
#include <stdexcept>
#include <string_view>

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "frame/store/byte_source.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::fs {
namespace {

struct Flag {
  std::string_view set, cleared;  ///< the words of mount(8)
  unsigned long bit;
};

constexpr std::array<Flag, 10> kFlags = {{{"ro", "rw", MS_RDONLY},
                                          {"nosuid", "suid", MS_NOSUID},
                                          {"nodev", "dev", MS_NODEV},
                                          {"noexec", "exec", MS_NOEXEC},
                                          {"sync", "async", MS_SYNCHRONOUS},
                                          {"dirsync", "", MS_DIRSYNC},
                                          {"noatime", "atime", MS_NOATIME},
                                          {"nodiratime", "diratime", MS_NODIRATIME},
                                          {"relatime", "norelatime", MS_RELATIME},
                                          {"strictatime", "", MS_STRICTATIME}}};

unsigned long flags_of(const std::vector<std::string>& options) {
  unsigned long flags = 0;
  for (const std::string& option : options)
    for (const Flag& flag : kFlags) {
      if (option == flag.set) flags |= flag.bit;
      if (option == flag.cleared) flags &= ~flag.bit;
    }
  return flags;
}

/// True if there was a daemon that can write, which has committed everything.
bool commit_all(const std::string& mountpoint) {
  const frame::UniqueFd root(::open(mountpoint.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) frame::throw_errno();
  if (::ioctl(root.get(), kCommitRequest) == 0) return true;
  if (errno == EROFS) return false;
  if (errno == ENOTTY) throw std::invalid_argument("no bloscfs is mounted there");
  frame::throw_errno("committing what was written");
}

}  // namespace

void remount(const std::string& mountpoint, const std::vector<std::string>& options) {
  const unsigned long flags = flags_of(options);
  const bool writes = commit_all(mountpoint);
  if (!writes && (flags & MS_RDONLY) == 0)
    throw std::invalid_argument("was mounted read-only; unmount it, and mount it again");
  if (::mount(nullptr, mountpoint.c_str(), nullptr, MS_REMOUNT | flags, nullptr) != 0)
    frame::throw_errno("remount");
  // The kernel has handed over by now what it had collected.
  if ((flags & MS_RDONLY) != 0) commit_all(mountpoint);
}

}  // namespace bloscfs::fs
