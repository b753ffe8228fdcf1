#include "fs/sandbox/private_namespace.hpp"

#include <cerrno>
#include <exception>
#include <functional>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;
using frame::UniqueFd;

constexpr const char* kMountNamespace = "the mount namespace";
constexpr const char *kSource = "source", *kProc = "proc";
constexpr const char *kEmptyDirectory = "empty", *kEmptyFile = "empty_file";

void check(int result) {
  if (result < 0) throw_errno(kMountNamespace);
}

UniqueFd checked(int fd) {
  check(fd);
  return UniqueFd(fd);
}

void set_attributes(const UniqueFd& mount, std::uint64_t attributes, std::uint64_t propagation,
                    unsigned flags) {
  mount_attr wanted{};
  wanted.attr_set = attributes;
  wanted.propagation = propagation;
  check(::mount_setattr(mount.get(), "", AT_EMPTY_PATH | flags, &wanted, sizeof wanted));
}

UniqueFd new_mount(const char* type, const char* option, const char* value, unsigned attributes) {
  const UniqueFd filesystem = checked(::fsopen(type, FSOPEN_CLOEXEC));
  check(::fsconfig(filesystem.get(), FSCONFIG_SET_STRING, option, value, 0));
  check(::fsconfig(filesystem.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0));
  return checked(::fsmount(filesystem.get(), FSMOUNT_CLOEXEC,
                           MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC | attributes));
}

/// Returns a /proc with processes only, without the kernel's settings. A container may forbid that,
/// because a new /proc would show what the container covers. Then returns a copy of the present
/// one.
UniqueFd processes() {
  try {
    return new_mount("proc", "subset", "pid", MOUNT_ATTR_RDONLY);
  } catch (const std::system_error&) {
    UniqueFd copy =
        checked(::open_tree(AT_FDCWD, "/proc", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
    set_attributes(copy, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 0, AT_RECURSIVE);
    return copy;
  }
}

void attach(const UniqueFd& mount, int directory, const char* place) {
  const unsigned flags = MOVE_MOUNT_F_EMPTY_PATH | (*place == '\0' ? MOVE_MOUNT_T_EMPTY_PATH : 0);
  check(::move_mount(mount.get(), "", directory, place, flags));
}

/// Covers a path in the copy with an empty file or directory. Does nothing if the path is gone, or
/// another mount covers it in the copy.
void cover(const UniqueFd& root, const UniqueFd& copy, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
  const UniqueFd place(
      static_cast<int>(::syscall(SYS_openat2, copy.get(), path.c_str(), &how, sizeof how)));
  struct stat st {};
  if (!place || ::fstat(place.get(), &st) != 0) return;
  const char* const empty = S_ISDIR(st.st_mode) ? kEmptyDirectory : kEmptyFile;
  attach(checked(::open_tree(root.get(), empty, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)), place.get(),
         "");
}

/// Builds a root directory with /proc and the mounts that `furnish` adds, and moves the process
/// there.
void build(const std::function<void(const UniqueFd&)>& furnish) {
  // Later mounts must not propagate to the outer namespace.
  check(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
  const UniqueFd old_root = checked(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const UniqueFd proc = processes();
  const UniqueFd root = new_mount("tmpfs", "mode", "0755", 0);
  check(::mkdirat(root.get(), kProc, 0755));
  attach(root, AT_FDCWD, "/");
  attach(proc, root.get(), kProc);
  furnish(root);
  set_attributes(root, MOUNT_ATTR_RDONLY, 0, 0);
  check(::fchdir(root.get()));
  // This puts the old root on top of the new one, from where it is unmounted.
  check(static_cast<int>(::syscall(SYS_pivot_root, ".", ".")));
  check(::fchdir(old_root.get()));
  check(::umount2(".", MNT_DETACH));
  check(::chdir("/"));
}

/// Calls build() in a new mount namespace. If that throws, returns to the old namespace and
/// directories.
void enter(const std::function<void(const UniqueFd&)>& furnish) {
  const UniqueFd outside = checked(::open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
  const UniqueFd old_root = checked(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const UniqueFd old_directory = checked(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  check(::unshare(CLONE_NEWNS));
  try {
    build(furnish);
  } catch (const std::exception&) {
    // Must not stay in the new namespace: its copies of all mounts would keep them busy after
    // others unmount them.
    if (::setns(outside.get(), CLONE_NEWNS) != 0 || ::fchdir(old_root.get()) != 0 ||
        ::chroot(".") != 0 || ::fchdir(old_directory.get()) != 0)
      std::terminate();
    throw;
  }
}

/// Makes a directory or an empty file as the mountpoint at the absolute `path`, unless something
/// exists there.
void make_place(const UniqueFd& root, const std::string& path, bool is_directory) {
  struct stat st {};
  const std::string below = path.substr(1);
  if (::fstatat(root.get(), below.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) return;
  for (std::size_t end = below.find('/'); end != std::string::npos; end = below.find('/', end + 1))
    if (::mkdirat(root.get(), below.substr(0, end).c_str(), 0755) != 0 && errno != EEXIST)
      throw_errno(kMountNamespace);
  if (is_directory)
    check(::mkdirat(root.get(), below.c_str(), 0755));
  else
    checked(::openat(root.get(), below.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
}

/// Shows the file or directory at `path`, if it exists, under the same name. A symlink is replaced
/// by its present target.
void show(const UniqueFd& root, const std::string& path, bool writes) {
  const UniqueFd there(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat st {};
  if (!there || ::fstat(there.get(), &st) != 0) return;
  // Includes the mounts below `path`, where containers have volumes.
  const UniqueFd copy = checked(::open_tree(
      there.get(), "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
  set_attributes(
      copy,
      MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC | (writes ? 0U : MOUNT_ATTR_RDONLY),
      MS_SLAVE, AT_RECURSIVE);
  make_place(root, path, S_ISDIR(st.st_mode));
  attach(copy, root.get(), path.c_str() + 1);
}

}  // namespace

UniqueFd detached_copy(const UniqueFd& directory, OtherMounts others, bool writes) {
  const unsigned recursive = others == OtherMounts::enter ? AT_RECURSIVE : 0;
  UniqueFd copy = checked(::open_tree(
      directory.get(), "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | recursive));
  const unsigned read_only = writes ? 0 : MOUNT_ATTR_RDONLY;
  set_attributes(copy, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | read_only, MS_SLAVE, recursive);
  return copy;
}

void enter_private_namespace(const UniqueFd& copy, const std::vector<std::string>& left_out) {
  enter([&](const UniqueFd& root) {
    for (const char* name : {kSource, kEmptyDirectory}) check(::mkdirat(root.get(), name, 0755));
    checked(::openat(root.get(), kEmptyFile, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
    attach(copy, root.get(), kSource);
    for (const std::string& path : left_out) cover(root, copy, path);
  });
}

void enter_private_namespace(const std::vector<std::string>& read,
                             const std::vector<std::string>& written) {
  enter([&](const UniqueFd& root) {
    for (const std::string& path : read) show(root, path, false);
    for (const std::string& path : written) show(root, path, true);
  });
}

}  // namespace bloscfs::fs
