// Sets owners, modes, times and extended attributes through a mount.

#include <cerrno>
#include <functional>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/mount/errno_of.hpp"
#include "tests/mount/naming_cases.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/xattr.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

struct stat status_of(const fs_std::path& path) {
  struct stat st {};
  if (lstat(path.c_str(), &st) != 0) throw_errno(path);
  return st;
}

int errno_of_removing_xattr(const fs_std::path& path, const std::string& name) {
  return errno_of(lremovexattr(path.c_str(), name.c_str()));
}

/// Makes one file of each kind, which the mount shows as kNames.
void fill_with_frames(const fs_std::path& source) {
  const Maker maker(source);
  maker.flat("flat.b2frame");
  maker.sparse("sparse.b2frame");
  maker.array("array.b2nd");
  maker.bloscpack("pack.blp");
  maker.plain("plain");
  maker.directory("directory");
  maker.fifo("fifo");
  maker.link("link", "nowhere");
}

const std::vector<std::string> kNames = {"flat",  "sparse",    "array.npy", "pack",
                                         "plain", "directory", "fifo"};

ProcessResult run_as_nobody(const std::string& script) {
  ProcessSettings settings;
  settings.uid = nobody();
  return run({"sh", "-c", script}, settings);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(describing)

BOOST_AUTO_TEST_CASE(mode_owner_and_times_are_the_source_files, *precondition(needs_fuse_as_root)) {
  const TempDir source;
  fill_with_frames(source.path());
  MountSettings settings;
  settings.options = {"suid"};
  Mount mount(source.path(), settings);
  const timespec times[2] = {{1000, 5}, {2000, 7}};
  for (const std::string& name : kNames) {
    const fs_std::path path = mount / name;
    const auto before = status_of(path);
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(errno_of(chown(path.c_str(), 12, 34)) == 0);
      BOOST_TEST(errno_of(chmod(path.c_str(), 02751)) == 0);
      BOOST_TEST(errno_of(utimensat(AT_FDCWD, path.c_str(), times, 0)) == 0);
      const auto after = status_of(path);
      BOOST_TEST(after.st_mode == ((before.st_mode & S_IFMT) | 02751u));
      BOOST_TEST(after.st_uid == 12u);
      BOOST_TEST(after.st_gid == 34u);
      BOOST_TEST(after.st_atim.tv_nsec == 5);
      BOOST_TEST(after.st_mtim.tv_sec == 2000);
      BOOST_TEST(after.st_size == before.st_size);
      BOOST_TEST(after.st_ino == before.st_ino);
    }
  }
  const timespec only_mtime[2] = {{0, UTIME_OMIT}, {3000, 0}};
  BOOST_TEST(errno_of(utimensat(AT_FDCWD, (mount / "link").c_str(), only_mtime,
                                AT_SYMLINK_NOFOLLOW)) == 0);
  BOOST_TEST(errno_of(lchown((mount / "link").c_str(), 56, 78)) == 0);
  BOOST_TEST(status_of(source / "link").st_mtim.tv_sec == 3000);
  BOOST_TEST(status_of(source / "link").st_uid == 56u);
  BOOST_TEST(status_of(source / "flat.b2frame").st_mtim.tv_sec == 2000);
  for (const auto& part : fs_std::directory_iterator(source / "sparse.b2frame"))
    BOOST_TEST(status_of(part.path()).st_uid == 12u);
}

BOOST_AUTO_TEST_CASE(a_commit_keeps_a_time_of_any_century, *precondition(needs_fuse)) {
  const TempDir source;
  fill_with_frames(source.path());
  const fs_std::path stored = source / "flat.b2frame";
  const timespec times[2] = {{0, 1}, {10'413'792'000, 5}};  // 2300-01-01
  BOOST_TEST(errno_of(utimensat(AT_FDCWD, stored.c_str(), times, 0)) == 0);
  const timespec before = status_of(stored).st_mtim;
  Mount mount(source.path());
  BOOST_TEST(status_of(mount / "flat").st_mtim.tv_sec == before.tv_sec);
  BOOST_TEST(errno_of_set_xattr(mount / "flat", "user.blosc2.vlmeta.note", "text") == 0);
  BOOST_TEST(mount.unmount().ok(), mount.log());
  const timespec after = status_of(stored).st_mtim;
  BOOST_TEST(after.tv_sec == before.tv_sec);
  BOOST_TEST(after.tv_nsec == before.tv_nsec);
}

BOOST_AUTO_TEST_CASE(readers_go_on_when_a_frame_is_described_anew, *precondition(needs_fuse)) {
  const TempDir source;
  const auto contents = make_contents("noise", 1, 1 << 20, 1);
  write_file(source / "a.b2frame", flat_frame(contents));
  write_sparse_frame(source / "s.b2frame", contents);
  Mount mount(source.path());
  for (const char* name : {"a", "s"}) {
    const fs_std::path path = mount / name;
    const Fd file(open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
    ByteVector bytes(4096);
    BOOST_TEST(pread(file.get(), bytes.data(), bytes.size(), 0) == 4096);
    const timespec times[2] = {{1000, 0}, {2000, 0}};
    BOOST_TEST(errno_of(utimensat(AT_FDCWD, path.c_str(), times, 0)) == 0);
    BOOST_TEST(errno_of(chmod(path.c_str(), 0600)) == 0);
    BOOST_TEST(errno_of_set_xattr(path, "user.note", "text") == 0);
    BOOST_TEST(errno_of(rename(path.c_str(), (mount / "moved").c_str())) == 0);
    BOOST_TEST(pread(file.get(), bytes.data(), bytes.size(), 700 * 1024) == 4096);
    struct stat st {};
    BOOST_TEST(errno_of(fstat(file.get(), &st)) == 0);
    BOOST_TEST(st.st_mtim.tv_sec == 2000);
    BOOST_TEST(st.st_mode == (S_IFREG | 0600u));
    BOOST_TEST(errno_of(unlink((mount / "moved").c_str())) == 0);
  }
}

BOOST_AUTO_TEST_CASE(new_objects_belong_to_their_makers, *precondition(needs_fuse_as_root)) {
  const TempDir source;
  fs_std::permissions(source.path(), fs_std::perms(0777));
  fs_std::create_directory(source / "group");
  BOOST_REQUIRE(chown((source / "group").c_str(), 0, 4321) == 0);
  fs_std::permissions(source / "group", fs_std::perms(02777));
  MountSettings settings;
  settings.options = {"allow_other"};
  Mount mount(source.path(), settings);
  const auto result = run_as_nobody("umask 027; cd '" + mount.path().string() +
                                    "' && mkdir d && mkfifo f && ln -s x l && echo t >n &&"
                                    " mkdir group/d && echo t >group/n");
  BOOST_TEST(result.ok(), result.err);
  const auto check = [&](const char* name, mode_t mode, gid_t group) {
    for (const fs_std::path& root : {mount.path(), source.path()}) {
      const fs_std::path path = root / name;
      if (!fs_std::exists(fs_std::symlink_status(path))) continue;
      const auto st = status_of(path);
      BOOST_TEST_CONTEXT(path) {
        BOOST_TEST(st.st_mode == mode);
        BOOST_TEST(st.st_uid == nobody());
        BOOST_TEST(st.st_gid == group);
      }
    }
  };
  const auto group = static_cast<gid_t>(nobody());
  check("d", S_IFDIR | 0750, group);
  check("f", S_IFIFO | 0640, group);
  check("l", S_IFLNK | 0777, group);
  check("n", S_IFREG | 0640, group);
  check("group/d", S_IFDIR | S_ISGID | 0750, 4321);
  check("group/n", S_IFREG | 0640, 4321);
  BOOST_TEST(mount.unmount().ok(), mount.log());
  check("n.b2frame", S_IFREG | 0640, group);
  check("group/n.b2frame", S_IFREG | 0640, 4321);
}

// Does the same operations in a plain directory, and expects the same result.
BOOST_AUTO_TEST_CASE(changes_clear_set_user_id_bits, *precondition(needs_fuse_as_root)) {
  const TempDir source, plain;
  const Maker maker(source.path());
  fs_std::permissions(source.path(), fs_std::perms(0755));
  fs_std::permissions(plain.path(), fs_std::perms(0755));
  const std::vector<std::string> files = {"flat", "sparse", "plain"};
  const std::vector<std::string> by_nobody = {
      "echo text >>", ": >", "truncate -s 3 ", "fallocate -l 100 ",
      "dd if=/dev/zero bs=1M count=1 conv=notrunc status=none of="};
  const std::vector<std::string> by_root = {"echo text >>", ": >", "truncate -s 3 ", "chown 4321 ",
                                            "chgrp 4321 "};
  MountSettings settings;
  settings.options = {"allow_other", "suid"};
  for (const mode_t mode : {06777u, 04666u, 02776u, 02766u, 0777u}) {
    maker.flat("flat.b2frame");
    maker.sparse("sparse.b2frame");
    maker.plain("plain");
    for (const auto& name : files) write_file(plain / name, ByteVector(1000));
    Mount mount(source.path(), settings);
    const auto check = [&](const std::string& name, const std::string& command, bool is_root) {
      for (const fs_std::path& root : {mount.path(), plain.path()}) {
        const fs_std::path path = root / name;
        BOOST_REQUIRE(chown(path.c_str(), 0, 0) == 0);
        BOOST_REQUIRE(chmod(path.c_str(), mode) == 0);
        const std::string script = command + "'" + path.string() + "'";
        const auto result = is_root ? run({"sh", "-c", script}) : run_as_nobody(script);
        BOOST_TEST(result.ok(), script << ": " << result.err);
      }
      BOOST_TEST_CONTEXT(command << name << ", mode " << std::oct << mode)
      BOOST_TEST(status_of(mount / name).st_mode == status_of(plain / name).st_mode);
    };
    for (const auto& name : files) {
      for (const auto& command : by_nobody) check(name, command, false);
      for (const auto& command : by_root) check(name, command, true);
    }
    BOOST_TEST(mount.unmount().ok(), mount.log());
    for (const auto& entry : fs_std::directory_iterator(source.path())) fs_std::remove_all(entry);
  }
}

// The bits and devices would work wherever else the filesystem of SOURCE is mounted.
BOOST_AUTO_TEST_CASE(set_user_id_bits_and_devices_take_an_option,
                     *precondition(needs_fuse_as_root)) {
  for (const char* sandbox : {"sandbox=auto", "sandbox=off"}) BOOST_TEST_CONTEXT(sandbox) {
      const TempDir source;
      const Maker maker(source.path());
      fill_with_frames(source.path());
      maker.directory("group");
      maker.flat("privileged.b2frame");
      fs_std::permissions(source / "group", fs_std::perms(02775));
      fs_std::permissions(source / "privileged.b2frame", fs_std::perms(06755));
      MountSettings settings;
      settings.options = {sandbox};
      Mount mount(source.path(), settings);
      for (const std::string& name : kNames)
        for (const mode_t mode : {04755u, 02755u, 06000u}) {
          const mode_t before = status_of(mount / name).st_mode;
          BOOST_TEST(errno_of(chmod((mount / name).c_str(), mode)) == EPERM, name);
          BOOST_TEST(status_of(mount / name).st_mode == before, name);
        }
      const fs_std::path made = mount / "new";
      BOOST_TEST(errno_of(::open(made.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 04755)) == EPERM);
      for (const mode_t mode : {S_IFREG | 04755u, S_IFIFO | 02755u, S_IFCHR | 0600u})
        BOOST_TEST(errno_of(mknod(made.c_str(), mode, makedev(1, 3))) == EPERM);
      BOOST_TEST(!fs_std::exists(made));
      // Bits that exist already stay when other permissions change.
      const auto change = [&](const char* name, mode_t mode) {
        BOOST_TEST(errno_of(chmod((mount / name).c_str(), mode)) == 0, name);
        BOOST_TEST((status_of(mount / name).st_mode & 07777) == mode, name);
      };
      change("group", 02750);
      change("privileged", 06711);
      BOOST_TEST(errno_of(mkdir((mount / "group/d").c_str(), 0755)) == 0);
      BOOST_TEST((status_of(mount / "group/d").st_mode & 07777) == 02755u);
      change("group", 0750);
      BOOST_TEST(errno_of(chmod((mount / "group").c_str(), 02750)) == EPERM);
      BOOST_TEST(mount.unmount().ok(), mount.log());
    }
}

BOOST_AUTO_TEST_CASE(an_ordinary_users_mount_makes_files_of_that_user,
                     *precondition(needs_fuse_for_nobody)) {
  const TempDir source, home;
  BOOST_REQUIRE(chown(source.path().c_str(), nobody(), static_cast<gid_t>(nobody())) == 0);
  Maker(source.path()).plain("of_root");
  fs_std::permissions(home.path(), fs_std::perms(0755));
  fs_std::copy_file(bloscfs_program(), home / "bloscfs");
  MountSettings settings;
  settings.uid = nobody();
  settings.program = home / "bloscfs";
  Mount mount(source.path(), settings);
  const std::string inside = "cd '" + mount.path().string() + "' && ";
  const auto made =
      run_as_nobody(inside + "umask 022; mkdir d && echo t >d/n && mv d/n m && ln m o");
  BOOST_TEST(made.ok(), made.err);
  for (const char* refused : {"chown 0 m", "chown 0 d", "chmod 600 of_root", "touch of_root"}) {
    const auto result = run_as_nobody(inside + refused);
    BOOST_TEST(!result.ok());
    BOOST_TEST(
        result.err.find("not permitted") + result.err.find("denied") != 2 * std::string::npos,
        result.err);
  }
  BOOST_TEST(run_as_nobody(inside + "chmod 640 m && cat m").out == "t\n");
  BOOST_TEST(mount.unmount().ok(), mount.log());
  const auto st = status_of(source / "m.b2frame");
  BOOST_TEST(st.st_uid == nobody());
  BOOST_TEST(st.st_mode == (S_IFREG | 0640u));
}

BOOST_AUTO_TEST_CASE(attributes_of_source_files_pass_through, *precondition(needs_fuse)) {
  const TempDir source;
  fill_with_frames(source.path());
  Mount mount(source.path());
  for (const char* name : {"flat", "sparse", "array.npy", "plain", "directory"}) {
    const fs_std::path path = mount / name;
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(errno_of_set_xattr(path, "user.note", "text") == 0);
      BOOST_TEST(get_xattr(path, "user.note").value_or("") == "text");
      BOOST_TEST(errno_of(lsetxattr(path.c_str(), "user.note", "x", 1, XATTR_CREATE)) == EEXIST);
      BOOST_TEST(errno_of(lsetxattr(path.c_str(), "user.none", "x", 1, XATTR_REPLACE)) == ENODATA);
      BOOST_TEST(errno_of_removing_xattr(path, "user.note") == 0);
      BOOST_TEST(errno_of_removing_xattr(path, "user.note") == ENODATA);
      BOOST_TEST(errno_of_set_xattr(path, "security.note", "x") == EOPNOTSUPP);
    }
  }
  BOOST_TEST(errno_of_set_xattr(mount / "plain", "user.blosc2.codec", "x") == 0);
}

BOOST_AUTO_TEST_CASE(bloscpack_files_keep_contents_and_attributes, *precondition(needs_fuse)) {
  const TempDir source;
  fill_with_frames(source.path());
  Mount mount(source.path());
  const fs_std::path path = mount / "pack";
  BOOST_TEST(errno_of(open(path.c_str(), O_WRONLY)) == EROFS);
  BOOST_TEST(errno_of(truncate(path.c_str(), 3)) == EROFS);
  BOOST_TEST(errno_of_set_xattr(path, "user.note", "x") == EROFS);
  BOOST_TEST(errno_of_removing_xattr(path, "user.blosc2.nbytes") == EROFS);
  BOOST_TEST(errno_of(chmod(path.c_str(), 0600)) == 0);
  BOOST_TEST(errno_of(rename(path.c_str(), (mount / "packed").c_str())) == 0);
  BOOST_TEST(fs_std::exists(source / "packed.blp"));
  BOOST_TEST((read_file(mount / "packed") == bytes_of(flat_text())));
  BOOST_TEST(errno_of(unlink((mount / "packed").c_str())) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
