#pragma once
// A daemon that tries to get out of its sandbox.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/support/mount.hpp"

namespace bloscfs::test {

/// By ways (tests/support/escapee.cpp): "ok", or an errno.
using Outcomes = std::map<std::string, std::string>;
std::set<std::string> ways_out(const Outcomes& outcomes);

/// For who may not enter the build directory.
fs_std::path copy_for_all(const fs_std::path& file, const TempDir& home);

/// The daemon, run by `user`, with what it is to reach, and what not.
class Prisoner {
 public:
  /// `url`: SOURCE; empty: a folder with a frame "a".
  Prisoner(uid_t user, std::vector<std::string> options, const std::string& url = {});

  /// What became of each way.
  Outcomes escape();
  Mount& mount() { return *mount_; }
  fs_std::path outside(const char* name) const { return outside_ / name; }
  /// A file in the daemon's folder, where it has SOURCE from a URL.
  fs_std::path in_folder(const char* name) const { return folder_ / name; }

 private:
  void make_places(uid_t user) const;
  Outcomes outcomes_so_far() const;

  TempDir home_, source_, outside_, folder_;
  Child victim_;
  std::optional<Mount> mount_;
};

}  // namespace bloscfs::test
