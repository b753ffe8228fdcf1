#include "tests/support/other_filesystem.hpp"

#include <stdexcept>

#include <fmt/core.h>
#include <sys/mount.h>
#include <unistd.h>

#include "tests/support/mount.hpp"
#include "tests/support/subprocess.hpp"

namespace bloscfs::test {
namespace {

constexpr std::uintmax_t kMiB = 1 << 20;

void must_run(const Arguments& command) {
  const ProcessResult result = run(command);
  if (!result.ok()) throw std::runtime_error(command.front() + ": " + result.description());
}

/// The least that mkfs accepts.
std::uintmax_t image_size(const std::string& kind) {
  if (kind == "xfs") return 300 * kMiB;
  return kind == "btrfs" ? 128 * kMiB : 24 * kMiB;
}

void mount_image(const std::string& kind, const fs_std::path& image, const fs_std::path& point) {
  write_file(image, "");
  fs_std::resize_file(image, image_size(kind));
  must_run({"mkfs." + kind, "-q", image.string()});
  must_run({"mount", "-o", "loop", image.string(), point.string()});
}

/// Serves the directory `home`/below, which is there, at `point`. Other files that the program
/// needs go into `home`, too.
void mount_fuse(const std::string& kind, const fs_std::path& home, const fs_std::path& point) {
  const std::string below = (home / "below").string();
  if (kind == "bindfs") return must_run({"bindfs", below, point.string()});
  if (kind == "mergerfs") {
    fs_std::create_directory(home / "second");
    return must_run({"mergerfs", "-o", "allow_other", below + ":" + (home / "second").string(),
                     point.string()});
  }
  if (kind == "sshfs") {
    // Whatever it is asked to run on the host: that is the server.
    const fs_std::path ssh = home / "ssh";
    write_file(ssh, "#!/bin/sh\nexec /usr/lib/openssh/sftp-server\n");
    fs_std::permissions(ssh, fs_std::perms(0700));
    return must_run({"sshfs", "-o", "allow_other,default_permissions,ssh_command=" + ssh.string(),
                     "host:" + below, point.string()});
  }
  const std::string password = (home / "password").string();
  write_file(password, "password\n");
  if (kind == "gocryptfs") {
    must_run({"gocryptfs", "-init", "-q", "-scryptn", "10", "-passfile", password, below});
    return must_run(
        {"gocryptfs", "-q", "-allow_other", "-passfile", password, below, point.string()});
  }
  must_run({"encfs", "--standard", "--extpass=cat " + password, below, point.string()});
}

}  // namespace

OtherFilesystem::OtherFilesystem(const std::string& kind) : point_(home_ / "point") {
  // Users other than root go through it.
  fs_std::permissions(home_.path(), fs_std::perms(0755));
  fs_std::create_directory(point_);
  if (kind == "tmpfs") {
    if (::mount("none", point_.c_str(), "tmpfs", 0, "size=24m") != 0) throw_errno("mount tmpfs");
  } else if (kind == "ext4" || kind == "xfs" || kind == "btrfs") {
    mount_image(kind, home_ / "image", point_);
  } else {
    fs_std::create_directory(home_ / "below");
    mount_fuse(kind, home_.path(), point_);
  }
}

OtherFilesystem::~OtherFilesystem() {
  for (int i = 0; i < 100 && ::umount2(point_.c_str(), 0) != 0; i++) ::usleep(10000);
  if (is_mounted(point_)) ::umount2(point_.c_str(), MNT_DETACH);
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
