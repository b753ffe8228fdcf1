// Ordinary users, and files that not every user may read.

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

ProcessResult cat_as_nobody(const fs_std::path& path) {
  ProcessSettings settings;
  settings.uid = nobody();
  return run({"cat", path.string()}, settings);
}

/// A directory that every user may enter. One frame is readable by all, the other files only by
/// root.
struct SharedSource {
  SharedSource() {
    fs_std::permissions(directory.path(), fs_std::perms(0755));
    write_file(directory / "open.b2frame", flat_frame(std::string("for all")));
    write_file(directory / "secret.b2frame", flat_frame(std::string("for root")));
    write_file(directory / "hidden", "for root");
    write_sparse_frame(directory / "sparse.b2frame", bytes_of("for root"));
    for (const char* name : {"secret.b2frame", "hidden", "sparse.b2frame"})
      fs_std::permissions(directory / name, fs_std::perms(name[1] == 'p' ? 0700 : 0600));
  }
  TempDir directory;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(permissions)

BOOST_AUTO_TEST_CASE(ordinary_user_mounts, *precondition(needs_fuse_for_nobody)) {
  const SharedSource source;
  const TempDir home;  // the user may have no access to the build directory
  fs_std::permissions(home.path(), fs_std::perms(0755));
  fs_std::copy_file(bloscfs_program(), home / "bloscfs");
  MountSettings settings;
  settings.uid = nobody();
  settings.program = home / "bloscfs";
  Mount mount(source.directory.path(), settings);
  BOOST_TEST(cat_as_nobody(mount / "open").out == "for all");
  // A file that the daemon cannot read keeps its full name.
  for (const char* name : {"secret.b2frame", "hidden"}) {
    const auto result = cat_as_nobody(mount / name);
    BOOST_TEST(!result.ok());
    BOOST_TEST(result.err.find("Permission denied") != std::string::npos, result.err);
  }
  ProcessSettings as_nobody;
  as_nobody.uid = nobody();
  const auto listed = run({"ls", mount.path().string()}, as_nobody);
  BOOST_TEST(listed.out == "hidden\nopen\nsecret.b2frame\nsparse.b2frame\n");
  const auto inside = run({"ls", (mount / "sparse.b2frame").string()}, as_nobody);
  BOOST_TEST(inside.err.find("Permission denied") != std::string::npos, inside.description());
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_CASE(other_users_need_allow_other, *precondition(needs_fuse_as_root)) {
  const SharedSource source;
  Mount mount(source.directory.path());
  BOOST_TEST(!cat_as_nobody(mount / "open").ok());
  BOOST_TEST((read_file(mount / "open") == bytes_of("for all")));
}

BOOST_AUTO_TEST_CASE(allow_other_checks_permissions, *precondition(needs_fuse_as_root)) {
  const SharedSource source;
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"allow_other"}, {"allow_other", "default_permissions"}}) {
    MountSettings settings;
    settings.options = options;
    Mount mount(source.directory.path(), settings);
    BOOST_TEST(cat_as_nobody(mount / "open").out == "for all");
    for (const char* name : {"secret", "hidden"}) {
      const auto result = cat_as_nobody(mount / name);
      BOOST_TEST(!result.ok());
      BOOST_TEST(result.err.find("Permission denied") != std::string::npos, result.err);
    }
    BOOST_TEST((read_file(mount / "secret") == bytes_of("for root")));
  }
}

BOOST_AUTO_TEST_CASE(uid_and_gid_options_override_the_owner, *precondition(needs_fuse_as_root)) {
  const SharedSource source;
  MountSettings settings;
  settings.options = {"allow_other", "uid=1234", "gid=2345"};
  Mount mount(source.directory.path(), settings);
  struct stat st {};
  BOOST_TEST(stat((mount / "open").c_str(), &st) == 0);
  BOOST_TEST(st.st_uid == 1234u);
  BOOST_TEST(st.st_gid == 2345u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
