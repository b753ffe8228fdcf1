#pragma once
// Makes a filesystem of a given kind for a test, on which SOURCE may lie.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/needs.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// A new empty filesystem that root can write. The kind is one of:
/// - "tmpfs";
/// - "ext4", "xfs" or "btrfs", on a loop device;
/// - "bindfs", "mergerfs", "gocryptfs", "encfs" or "sshfs", which serve another directory by FUSE.
/// The destructor unmounts it.
class OtherFilesystem {
 public:
  enum class Below { directory, small_disk };
  /// `below` says where the directory lies that a FUSE filesystem serves: on the filesystem of the
  /// test's temporary files, or on an ext4 of 24 MiB. Throws std::runtime_error if this machine
  /// cannot make or mount the filesystem.
  explicit OtherFilesystem(std::string kind, Below below = Below::directory);
  ~OtherFilesystem();
  OtherFilesystem(const OtherFilesystem&) = delete;
  OtherFilesystem& operator=(const OtherFilesystem&) = delete;

  const fs_std::path& path() const { return point_; }

  // The functions below work only for kinds with a disk of their own, or Below::small_disk.

  /// Fills the disk until about `free` bytes are left.
  void fill(std::uint64_t free) const;
  void make_space() const;
  /// Makes the disk read-only, as ext4 does after an error: writes fail with EROFS. Only for ext4.
  void make_read_only() const;
  /// Makes all reads and writes of the disk fail with EIO. Not for tmpfs and btrfs.
  void fail() const;
  /// Unmounts the filesystem and mounts it again. It then works again, without the data that
  /// fail() lost. Not for tmpfs.
  void mend();

 private:
  void mount_all();
  void unmount_all();
  bool has_image() const { return small_disk_ || (!served_ && kind_ != "tmpfs"); }
  fs_std::path image() const { return home_ / "image"; }
  const fs_std::path& disk() const { return served_ ? below_ : point_; }
  fs_std::path filler() const { return disk() / "filler"; }

  const std::string kind_;
  const TempDir home_;
  const bool served_;      ///< by FUSE
  const bool small_disk_;  ///< the served directory lies on an ext4 of its own
  const fs_std::path point_, below_;
};

/// needs_fuse_as_root, and the machine can make and mount such a filesystem:
/// precondition(needs_filesystem("btrfs")).
class needs_filesystem {
 public:
  explicit needs_filesystem(std::string kind) : kind_(std::move(kind)) {}
  Precondition operator()(boost::unit_test::test_unit_id id) const;

 private:
  std::string kind_;
};

}  // namespace bloscfs::test
