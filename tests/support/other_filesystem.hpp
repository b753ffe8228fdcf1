#pragma once
// Filesystems that SOURCE may lie on, made for a test.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/needs.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// An empty one, writable for root: "tmpfs"; "ext4", "xfs" or "btrfs" on a loop device; "bindfs",
/// "mergerfs", "gocryptfs", "encfs" or "sshfs", which serve a directory by FUSE. Unmounted by the
/// destructor.
class OtherFilesystem {
 public:
  enum class Below { directory, small_disk };
  /// What is served by FUSE lies in a directory of the test's own filesystem, or on ext4 of 24 MiB.
  /// Throws std::runtime_error where it cannot be had.
  explicit OtherFilesystem(std::string kind, Below below = Below::directory);
  ~OtherFilesystem();
  OtherFilesystem(const OtherFilesystem&) = delete;
  OtherFilesystem& operator=(const OtherFilesystem&) = delete;

  const fs_std::path& path() const { return point_; }

  // Of one with a disk of its own.

  /// Leaves about so many bytes free.
  void fill(std::uint64_t free) const;
  void make_space() const;
  /// As after an error: nothing can be written any more, EROFS. Only where the disk has ext4.
  void make_read_only() const;
  /// Nothing can be read or written any more, EIO. Not of tmpfs and btrfs.
  void fail() const;
  /// Unmounts it, and mounts it again: as good as new, but for what was lost. Not of tmpfs.
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
  const bool small_disk_;  ///< below what is served
  const fs_std::path point_, below_;
};

/// needs_fuse_as_root, and that filesystem: precondition(needs_filesystem("btrfs")).
class needs_filesystem {
 public:
  explicit needs_filesystem(std::string kind) : kind_(std::move(kind)) {}
  Precondition operator()(boost::unit_test::test_unit_id id) const;

 private:
  std::string kind_;
};

}  // namespace bloscfs::test
