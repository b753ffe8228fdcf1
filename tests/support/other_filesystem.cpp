#include "tests/support/other_filesystem.hpp"

#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tests/support/comes_true.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/subprocess.hpp"

namespace bloscfs::test {
namespace {

constexpr std::uintmax_t kMiB = 1 << 20;

void must_run(const Arguments& command) {
  const ProcessResult result = run(command);
  if (!result.ok()) throw std::runtime_error(command.front() + ": " + result.description());
}

/// Returns the size of the image, which is about the least that mkfs accepts.
std::uintmax_t image_size(const std::string& kind) {
  if (kind == "xfs") return 300 * kMiB;
  return kind == "btrfs" ? 128 * kMiB : 24 * kMiB;
}

void make_image(const std::string& kind, const fs_std::path& image) {
  write_file(image, "");
  fs_std::resize_file(image, image_size(kind));
  must_run({"mkfs." + kind, "-q", image.string()});
}

bool is_of_disk(const std::string& kind) {
  return kind == "ext4" || kind == "xfs" || kind == "btrfs";
}

bool is_attached(const fs_std::path& image) {
  for (const auto& device : fs_std::directory_iterator("/sys/block")) {
    std::string file;
    std::getline(std::ifstream(device.path() / "loop/backing_file"), file);
    if (file == image) return true;
  }
  return false;
}

void unmount_there(const fs_std::path& point) {
  comes_true([&] { return ::umount2(point.c_str(), 0) == 0; }, std::chrono::seconds(10));
  if (is_mounted(point)) ::umount2(point.c_str(), MNT_DETACH);
}

/// Mounts a FUSE filesystem at `point` that serves `home`/below/files, which must exist. Writes
/// other files that the program needs into `home`.
void mount_fuse(const std::string& kind, const fs_std::path& home, const fs_std::path& point) {
  const std::string below = (home / "below/files").string();
  if (kind == "bindfs") return must_run({"bindfs", below, point.string()});
  if (kind == "mergerfs") {
    const fs_std::path second = home / "below/second";
    fs_std::create_directories(second);
    return must_run({"mergerfs", "-o", "allow_other,minfreespace=0", below + ":" + second.string(),
                     point.string()});
  }
  if (kind == "sshfs") {
    // Plays ssh: ignores the host and the command, and runs the SFTP server here.
    const fs_std::path ssh = home / "ssh";
    write_file(ssh, "#!/bin/sh\nexec /usr/lib/openssh/sftp-server\n");
    fs_std::permissions(ssh, fs_std::perms(0700));
    return must_run({"sshfs", "-o", "allow_other,default_permissions,ssh_command=" + ssh.string(),
                     "host:" + below, point.string()});
  }
  const std::string password = (home / "password").string();
  write_file(password, "password\n");
  if (kind == "gocryptfs") {
    if (fs_std::is_empty(below))
      must_run({"gocryptfs", "-init", "-q", "-scryptn", "10", "-passfile", password, below});
    return must_run(
        {"gocryptfs", "-q", "-allow_other", "-passfile", password, below, point.string()});
  }
  must_run({"encfs", "--standard", "--extpass=cat " + password, below, point.string()});
}

}  // namespace

OtherFilesystem::OtherFilesystem(std::string kind, Below below)
    : kind_(std::move(kind)),
      served_(!is_of_disk(kind_) && kind_ != "tmpfs"),
      small_disk_(served_ && below == Below::small_disk),
      point_(home_ / "point"),
      below_(home_ / "below") {
  // Users other than root must be able to reach `point_` below it.
  fs_std::permissions(home_.path(), fs_std::perms(0755));
  fs_std::create_directory(point_);
  fs_std::create_directory(below_);
  if (is_of_disk(kind_)) make_image(kind_, image());
  if (small_disk_) make_image("ext4", image());
  try {
    mount_all();
  } catch (const std::exception&) {
    unmount_all();
    throw;
  }
}

OtherFilesystem::~OtherFilesystem() { unmount_all(); }

void OtherFilesystem::mount_all() {
  if (kind_ == "tmpfs") {
    if (::mount("none", point_.c_str(), "tmpfs", 0, "size=24m") != 0) throw_errno("mount tmpfs");
    return;
  }
  if (has_image()) must_run({"mount", "-o", "loop", image().string(), disk().string()});
  if (!served_) return;
  fs_std::create_directories(below_ / "files");
  mount_fuse(kind_, home_.path(), point_);
}

void OtherFilesystem::unmount_all() {
  unmount_there(point_);
  if (small_disk_) unmount_there(below_);
}

void OtherFilesystem::fill(std::uint64_t free) const {
  struct statvfs st {};
  if (::statvfs(disk().c_str(), &st) != 0) throw_errno("statvfs");
  const Fd file(::open(filler().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  const auto size = static_cast<off_t>(st.f_bavail * st.f_frsize - free);
  if (::posix_fallocate(file.get(), 0, size) != 0) throw_errno("posix_fallocate");
}

void OtherFilesystem::make_space() const { fs_std::remove(filler()); }

void OtherFilesystem::make_read_only() const {
  // Not by running mount(8): the child process would close its copies of the test's open files, and
  // bloscfs commits at a close if space is scarce.
  if (::mount(nullptr, disk().c_str(), nullptr, MS_REMOUNT, "abort") != 0) throw_errno("remount");
}

void OtherFilesystem::fail() const {
  constexpr unsigned long kShutDown = 0x8004587d;  // EXT4_IOC_SHUTDOWN, XFS_IOC_GOINGDOWN
  const Fd top(::open(disk().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::uint32_t without_log = 2;
  if (::ioctl(top.get(), kShutDown, &without_log) != 0) throw_errno("shut down");
}

void OtherFilesystem::mend() {
  unmount_all();
  // A mount namespace of another program may hold the loop device for longer. mount(8) would find
  // that device and mount the failed filesystem again.
  if (has_image()) comes_true([&] { return !is_attached(image()); });
  mount_all();
}

Precondition needs_filesystem::operator()(boost::unit_test::test_unit_id id) const {
  if (const Precondition fuse = needs_fuse_as_root(id); !fuse) return fuse;
  try {
    const OtherFilesystem tried(kind_);
    return true;
  } catch (const std::runtime_error& error) {
    return skip(error.what());
  }
}

}  // namespace bloscfs::test
