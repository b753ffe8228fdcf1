#pragma once
// A SOURCE that is shared by users who do not trust each other, in one mount for all of them. The
// rules are the same if root has mounted it or an ordinary user.

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/source_dir.hpp"

namespace bloscfs::test {

/// The user who mounts SOURCE, as the parameter of a test case.
struct ByRoot {
  static uid_t user() { return 0; }
};
struct ByOrdinaryUser {
  static uid_t user() { return nobody(); }
};
using Mounters = std::tuple<ByRoot, ByOrdinaryUser>;

/// Returns what a case with such a parameter needs.
inline Precondition needs_mounter(boost::unit_test::test_unit_id id) {
  const std::string& name = boost::unit_test::framework::get(id, boost::unit_test::TUT_ANY).p_name;
  const bool is_users = name.find("ByOrdinaryUser") != std::string::npos;
  return is_users ? needs_fuse_for_others(id) : needs_fuse_as_root(id);
}

inline MountSettings for_all(uid_t mounter, MountSettings settings = {}) {
  settings.options.push_back("allow_other");
  if (mounter != 0) settings.uid = mounter;
  return settings;
}

/// Allows set-user-ID and set-group-ID bits in the mount.
inline MountSettings with_set_ids() {
  MountSettings settings;
  settings.options = {"suid"};
  return settings;
}

inline constexpr uid_t kVictim = 70001, kStranger = 70002;
inline constexpr gid_t kShared = 70010;

inline struct stat lstat_of(const fs_std::path& path) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0)
    throw std::system_error(errno, std::generic_category(), path);
  return st;
}

inline void give(const fs_std::path& path, uid_t owner, mode_t mode) {
  BOOST_REQUIRE(::lchown(path.c_str(), owner, static_cast<gid_t>(owner)) == 0);
  BOOST_REQUIRE(::chmod(path.c_str(), mode) == 0);
}

inline void make_directory(const fs_std::path& path, uid_t owner, mode_t mode) {
  fs_std::create_directory(path);
  give(path, owner, mode);
}

inline void make_file(const fs_std::path& path, const ByteVector& bytes, uid_t owner, mode_t mode) {
  write_file(path, bytes);
  give(path, owner, mode);
}

inline ProcessResult run_as(uid_t user, const std::string& script) {
  ProcessSettings settings;
  settings.uid = user;
  return run({"sh", "-c", script}, settings);
}

/// A directory `p` of the user kStranger, in a SOURCE that every user may enter. If the daemon is
/// not root's, every user may write to `p`, so that the daemon may too.
struct Shared {
  explicit Shared(uid_t who = 0, MountSettings settings = {})
      : mounter(who), mount_settings(for_all(who, std::move(settings))) {
    give(source.path(), mounter, 0755);
    make_directory(source / "p", kStranger, mounter == 0 ? 0755 : 0777);
  }
  Mount& mounted() {
    if (!mount) mount.emplace(source.path(), mount_settings);
    return *mount;
  }
  /// Runs a script as a user. It starts in the directory `in` of the mount, and $S is the path of
  /// `p`.
  ProcessResult run_user(uid_t user, const std::string& in, const std::string& script) {
    return run_as(user, "S='" + (source / "p").string() + "'; cd '" + (mounted() / in).string() +
                            "' && { " + script + "; }");
  }
  ProcessResult run_stranger(const std::string& in, const std::string& script) {
    return run_user(kStranger, in, script);
  }
  /// The user whose files a daemon might expose if it acted with its own rights.
  uid_t victim() const { return mounter == 0 ? kVictim : mounter; }

  const uid_t mounter;
  SourceDir source;
  MountSettings mount_settings;
  std::optional<Mount> mount;
};

}  // namespace bloscfs::test
