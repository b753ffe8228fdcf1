#pragma once
// Runs a daemon that tries to get out of its sandbox.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/support/mount.hpp"

namespace bloscfs::test {

/// For each way out (tests/support/escapee.cpp) "ok", or the errno.
using Outcomes = std::map<std::string, std::string>;
std::set<std::string> ways_out(const Outcomes& outcomes);

/// Copies a program or library into `home` and returns the copy's path. Other users may be unable
/// to enter the build directory.
fs_std::path copy_for_all(const fs_std::path& file, const TempDir& home);

/// A daemon that `user` runs with escapee.cpp preloaded. The object also makes what the daemon
/// tries to reach: files outside of SOURCE, and another process of the user.
class Prisoner {
 public:
  /// Mounts `url` with a disk cache. If `url` is empty, mounts a directory that holds the frame
  /// a.b2frame.
  Prisoner(uid_t user, std::vector<std::string> options, const std::string& url = {});

  /// Makes the daemon try all ways out, and returns their outcomes.
  Outcomes escape();
  Mount& mount() { return *mount_; }
  fs_std::path outside(const char* name) const { return outside_ / name; }
  /// Returns the path of a file in the disk cache of a daemon that mounts a URL.
  fs_std::path in_folder(const char* name) const { return folder_ / name; }

 private:
  void make_places(uid_t user) const;
  Outcomes outcomes_so_far() const;

  TempDir home_, source_, outside_, folder_;
  Child victim_;
  std::optional<Mount> mount_;
};

}  // namespace bloscfs::test
