#pragma once
// Filesystems that SOURCE may lie on, made for a test.

#include <string>
#include <vector>

#include "tests/support/needs.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// An empty one, writable for root: "tmpfs"; "ext4", "xfs" or "btrfs" on a loop device; "bindfs",
/// "mergerfs", "gocryptfs", "encfs" or "sshfs", which serve a directory of the test's own
/// filesystem by FUSE. Unmounted by the destructor.
class OtherFilesystem {
 public:
  /// Throws std::runtime_error where it cannot be had.
  explicit OtherFilesystem(const std::string& kind);
  ~OtherFilesystem();
  OtherFilesystem(const OtherFilesystem&) = delete;
  OtherFilesystem& operator=(const OtherFilesystem&) = delete;

  const fs_std::path& path() const { return point_; }

 private:
  TempDir home_;
  fs_std::path point_;
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
