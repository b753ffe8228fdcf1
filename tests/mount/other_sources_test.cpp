// SOURCE on several kinds of filesystems. Whatever happens to it, data that was written through a
// mount is stored, or reported and kept, and nothing is left behind. With BLOSCFS_TEST_SOURCE other
// suites run on each of these filesystems too.

#include <algorithm>
#include <cerrno>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mount/errno_of.hpp"
#include "tests/mount/foreign_changes.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/other_filesystem.hpp"
#include "tests/support/subprocess.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr std::size_t kMebi = 1 << 20;

std::string text_of(const fs_std::path& path) {
  const ByteVector bytes = read_file(path);
  return {bytes.begin(), bytes.end()};
}

void store_now(const fs_std::path& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  BOOST_TEST(fsync(file.get()) == 0);
}

void rename_files(const fs_std::path& top) {
  write_file(top / "waiting", "one");
  write_file(top / "other", "two");
  fs_std::rename(top / "waiting", top / "other");
  BOOST_TEST(text_of(top / "other") == "one");

  write_file(top / "stored", "two");
  store_now(top / "stored");
  write_file(top / "waiting", "three");
  fs_std::rename(top / "waiting", top / "stored");
  BOOST_TEST(text_of(top / "stored") == "three");

  for (const char* name : {"from", "to"}) {
    write_file(top / name, name);
    store_now(top / name);
  }
  fs_std::rename(top / "from", top / "to");
  BOOST_TEST(text_of(top / "to") == "from");
  fs_std::rename(top / "to", top / "new");
  BOOST_TEST(text_of(top / "new") == "from");

  fs_std::create_directory(top / "directory");
  write_file(top / "directory/file", "within");
  fs_std::rename(top / "directory", top / "moved");
  BOOST_TEST(text_of(top / "moved/file") == "within");
}

void remove_files(const fs_std::path& top) {
  write_file(top / "waiting", "x");
  fs_std::remove(top / "waiting");
  write_file(top / "stored again", "x");
  store_now(top / "stored again");
  fs_std::remove(top / "stored again");

  // Remove the file while it is open.
  const Fd file(open((top / "open").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  BOOST_TEST(write(file.get(), "first ", 6) == 6);
  fs_std::remove(top / "open");
  BOOST_TEST(write(file.get(), "second", 6) == 6);
  char bytes[13] = {};
  BOOST_TEST(pread(file.get(), bytes, sizeof bytes, 0) == 12);
  BOOST_TEST(std::string(bytes) == "first second");
  struct stat st {};
  BOOST_TEST(fstat(file.get(), &st) == 0);
  BOOST_TEST(st.st_size == 12);

  store_now(top / "new");
  const Fd stored(open((top / "new").c_str(), O_RDONLY | O_CLOEXEC));
  fs_std::remove(top / "new");
  BOOST_TEST(pread(stored.get(), bytes, sizeof bytes, 0) == 4);
  BOOST_TEST(fstat(stored.get(), &st) == 0);
}

void link_files(const fs_std::path& top) {
  store_now(top / "other");
  BOOST_TEST(errno_of(link((top / "other").c_str(), (top / "link").c_str())) == 0);
  write_file(top / "link", "by the link");
  store_now(top / "link");
  BOOST_TEST(text_of(top / "other") == "by the link");
}

void change_attributes(const fs_std::path& file) {
  BOOST_TEST(errno_of(chmod(file.c_str(), 0640)) == 0);
  const timespec times[2] = {{1000, 0}, {2000, 0}};
  BOOST_TEST(errno_of(utimensat(AT_FDCWD, file.c_str(), times, 0)) == 0);
  write_file(file, "again");
  store_now(file);
  struct stat st {};
  BOOST_TEST(stat(file.c_str(), &st) == 0);
  BOOST_TEST((st.st_mode & 07777) == 0640u);
}

/// Checks that the mount follows changes by another program.
void follow_changes(const fs_std::path& source, const fs_std::path& top) {
  write_file(source / "plain", "there");
  BOOST_TEST(text_of(top / "plain") == "there");
  fs_std::remove(source / "moved/file.b2frame");
  BOOST_TEST(comes_true([&] { return !fs_std::exists(top / "moved/file"); }));
}

/// Has the kernel drop inodes. Filesystems that FUSE serves may then give files other inode
/// numbers.
void have_inodes_forgotten() { write_file("/proc/sys/vm/drop_caches", "2"); }

/// A disk of its own with SOURCE on it.
struct Place {
  explicit Place(const std::string& kind)
      : filesystem(kind, OtherFilesystem::Below::small_disk), source(filesystem.path() / "source") {
    fs_std::create_directory(source);
    ::sync();
    settings.options = {"rescue=" + rescue.path().string()};
  }

  OtherFilesystem filesystem;
  const TempDir rescue;
  const fs_std::path source;
  MountSettings settings;
};

void check_verified(const fs_std::path& source) {
  const ProcessResult verified = run({b2frame_program(), "verify", "-r", source.string()});
  BOOST_TEST(verified.ok(), verified.description());
}

void check_names_and_contents(const std::string& kind) {
  const Place place(kind);
  const fs_std::path& source = place.source;
  const ByteVector noise = make_contents("noise", 1, 3 * kMebi, 1);
  {
    Mount mount(source);
    rename_files(mount.path());
    link_files(mount.path());
    remove_files(mount.path());
    change_attributes(mount / "stored");
    write_file(mount / "large", noise);
    store_now(mount / "moved/file");
    follow_changes(source, mount.path());
    const ProcessResult ended = mount.unmount();
    BOOST_TEST(ended.ok(), ended.description());
  }
  std::set<std::string> names;
  for (const auto& entry : fs_std::directory_iterator(source))
    names.insert(entry.path().filename());
  BOOST_TEST(names == (std::set<std::string>{"large.b2frame", "link.b2frame", "moved",
                                             "other.b2frame", "plain", "stored.b2frame"}),
             boost::test_tools::per_element());
  check_verified(source);
  const Mount again(source);
  BOOST_CHECK(read_file(again / "large") == noise);
  BOOST_TEST(text_of(again / "other") == "by the link");
  BOOST_TEST(text_of(again / "stored") == "again");
}

void check_full_disk(const std::string& kind) {
  const Place place(kind);
  const ByteVector old = make_contents("noise", 1, 2 * kMebi, 1);
  const ByteVector more = make_contents("noise", 2, 8 * kMebi, 1);
  Mount mount(place.source, place.settings);
  write_file(mount / "old", old);
  store_now(mount / "old");
  place.filesystem.fill(4 * kMebi);
  for (const char* name : {"new", "old"}) {
    const int file = open((mount / name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    int error = 0;
    if (write(file, more.data(), more.size()) < 0) error = errno;
    const int closed = errno_of(close(file));
    if (error == 0) error = closed;
    // The protocol of sshfs has no number for a full disk.
    BOOST_TEST(error == (kind == "sshfs" ? EIO : ENOSPC), name);
  }
  place.filesystem.make_space();
  write_file(mount / "new", more);
  write_file(mount / "old", old);
  const ProcessResult ended = mount.unmount();
  BOOST_TEST(ended.ok(), ended.description() + mount.log());
  check_verified(place.source);
  const Mount again(place.source);
  BOOST_CHECK(read_file(again / "new") == more);
  BOOST_CHECK(read_file(again / "old") == old);
}

/// Calls `fails` while data waits to be committed. The daemon must name and save what the disk
/// could not take, and `b2frame recover` must bring it back.
void check_failing_disk(const std::string& kind,
                        const std::function<void(const OtherFilesystem&)>& fails) {
  Place place(kind);
  Mount mount(place.source, place.settings);
  write_file(mount / "old", "stored");
  store_now(mount / "old");
  {
    std::vector<Fd> files;
    for (const char* name : {"new", "other"}) {
      files.push_back(open_rw(mount / name, O_CREAT));
      write_at(files.back(), 0, {'d', 'a', 't', 'a'});
    }
    fails(place.filesystem);
  }
  BOOST_TEST(mount.unmount().status == 1);
  for (const std::string name : {"new", "other"})
    BOOST_TEST(mount.log().find("] " + name + ".b2frame: not committed") != std::string::npos,
               mount.log());
  place.filesystem.mend();
  check_verified(place.source);
  const ProcessResult recovered = run({b2frame_program(), "recover", "--rescue",
                                       place.rescue.path().string(), place.source.string()});
  BOOST_TEST(recovered.ok(), recovered.description());
  const Mount again(place.source);
  BOOST_TEST(text_of(again / "old") == "stored");
  BOOST_TEST(text_of(again / "new") == "data");
  BOOST_TEST(text_of(again / "other") == "data");
}

void check_killed_daemon(const std::string& kind) {
  const Place place(kind);
  {
    Mount mount(place.source);
    for (const char* name : {"new", "changed", "open"}) write_file(mount / name, "before");
    store_now(mount / "changed");
    write_file(mount / "changed", "stored");
    store_now(mount / "changed");
    store_now(mount / "new");
    const Fd open_file(open((mount / "open").c_str(), O_RDWR | O_CLOEXEC));
    BOOST_TEST(pwrite(open_file.get(), "synced", 6, 0) == 6);
    BOOST_TEST(fsync(open_file.get()) == 0);
    write_file(mount / "waiting", "x");
    mount.signal(SIGKILL);
    BOOST_TEST(mount.wait(Seconds(10)));
  }
  check_verified(place.source);
  Mount again(place.source);
  BOOST_TEST(text_of(again / "new") == "before");
  BOOST_TEST(text_of(again / "changed") == "stored");
  BOOST_TEST(text_of(again / "open") == "synced");
  BOOST_TEST(again.unmount().ok());
}

void check_terminated_daemon(const std::string& kind) {
  const Place place(kind);
  const ByteVector noise = make_contents("noise", 1, 3 * kMebi, 1);
  {
    Mount mount(place.source);
    write_file(mount / "large", noise);
    const Fd open_file(open((mount / "open").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    BOOST_TEST(write(open_file.get(), "waiting", 7) == 7);
    mount.signal(SIGTERM);
    BOOST_TEST(mount.wait(Seconds(20)));
    BOOST_TEST(mount.result().ok(), mount.log());
  }
  check_verified(place.source);
  const Mount again(place.source);
  BOOST_CHECK(read_file(again / "large") == noise);
  BOOST_TEST(text_of(again / "open") == "waiting");
}

/// Makes each edit in a mount of its own, as if hours lay between them.
void check_edits_apart(const std::string& kind) {
  const Place place(kind);
  ByteVector bytes = make_contents("noise", 1, kMebi, 1);
  MountSettings settings;
  settings.options = {"chunk_size=64K"};
  for (std::size_t i = 0; i < 8; i++) {
    Mount mount(place.source, settings);
    if (i == 0) write_file(mount / "a", bytes);
    const std::size_t at = i * 104729 % (bytes.size() - 4);
    {
      const Fd file(open((mount / "a").c_str(), O_WRONLY | O_CLOEXEC));
      BOOST_TEST(pwrite(file.get(), "edit", 4, static_cast<off_t>(at)) == 4);
    }
    std::copy_n("edit", 4, bytes.begin() + static_cast<std::ptrdiff_t>(at));
    mount.unmount();
    BOOST_TEST(fs_std::file_size(place.source / "a.b2frame") <= kMebi + kMebi / 2, "edit " << i);
  }
  const Mount mount(place.source);
  BOOST_CHECK(read_file(mount / "a") == bytes);
}

/// Changes a file once while the mount has it open, and once while written data waits for its
/// commit.
void check_changes_of_others(const std::string& kind) {
  const Place place(kind);
  const fs_std::path stored = place.source / "a.b2frame";
  write_file(stored, flat_frame("first"));
  Mount mount(place.source);
  BOOST_TEST(text_of(mount / "a") == "first");
  Fd file = open_rw(mount / "a");
  replace_by_rename(stored, flat_frame("a longer second"));
  BOOST_TEST(comes_true([&] { return text_of(mount / "a") == "a longer second"; }));
  file = open_rw(mount / "a");
  write_at(file, 0, {'o', 'u', 'r', 's'});
  replace_by_rename(stored, flat_frame("the third that others made"));
  BOOST_TEST((fsync(file.get()) != 0 && errno == ESTALE));
  file = Fd();
  BOOST_TEST(text_of(mount / "a") == "the third that others made");
  BOOST_TEST(mount.unmount().ok(), mount.log());
  const ByteVector kept = stored_contents(conflict_of(place.source, "a"));
  BOOST_TEST(std::string(kept.begin(), kept.end()) == "oursnger second");
}

void check_forgotten_inodes(const std::string& kind) {
  const Place place(kind);
  Mount mount(place.source);
  for (const char* name : {"open", "closed", "read", "renamed", "removed"}) {
    write_file(mount / name, "stored");
    store_now(mount / name);
  }
  const Fd written = open_rw(mount / "open");
  const Fd read(open((mount / "read").c_str(), O_RDONLY | O_CLOEXEC));
  for (int i = 0; i < 2; i++) {
    write_at(written, i, {'X'});
    write_at(open_rw(mount / "closed"), i, {'Y'});
    have_inodes_forgotten();
  }
  write_at(written, 2, {'X'});
  BOOST_TEST(fsync(written.get()) == 0);
  BOOST_TEST(read_at(read, 0, 6) == (ByteVector{'s', 't', 'o', 'r', 'e', 'd'}));
  fs_std::rename(mount / "renamed", mount / "new name");
  fs_std::remove(mount / "removed");
  BOOST_TEST(text_of(mount / "open") == "XXXred");
  BOOST_TEST(text_of(mount / "closed") == "YYored");
  BOOST_TEST(text_of(mount / "new name") == "stored");
  BOOST_TEST(!fs_std::exists(mount / "removed"));
}

void check_disk_becomes_read_only(const std::string& kind) {
  check_failing_disk(kind, [](const OtherFilesystem& filesystem) { filesystem.make_read_only(); });
}

void check_disk_fails(const std::string& kind) {
  check_failing_disk(kind, [](const OtherFilesystem& filesystem) { filesystem.fail(); });
}

}  // namespace

#define CASES_ON(kind)                                                          \
  BOOST_AUTO_TEST_SUITE(on_##kind, *precondition(needs_filesystem(#kind)))      \
  BOOST_AUTO_TEST_CASE(names_and_contents) { check_names_and_contents(#kind); } \
  BOOST_AUTO_TEST_CASE(full_disk) { check_full_disk(#kind); }                   \
  BOOST_AUTO_TEST_CASE(killed_daemon) { check_killed_daemon(#kind); }           \
  BOOST_AUTO_TEST_CASE(terminated_daemon) { check_terminated_daemon(#kind); }   \
  BOOST_AUTO_TEST_CASE(edits_apart) { check_edits_apart(#kind); }               \
  BOOST_AUTO_TEST_CASE(forgotten_inodes) { check_forgotten_inodes(#kind); }     \
  BOOST_AUTO_TEST_CASE(changes_of_others) { check_changes_of_others(#kind); }   \
  BOOST_AUTO_TEST_SUITE_END()

// The kernel cannot simulate disk errors for tmpfs and btrfs. It does not make xfs, btrfs and tmpfs
// read-only while a file there is open for writing.
#define READ_ONLY_DISK_ON(kind)                                                         \
  BOOST_AUTO_TEST_SUITE(on_##kind, *precondition(needs_filesystem(#kind)))              \
  BOOST_AUTO_TEST_CASE(disk_becomes_read_only) { check_disk_becomes_read_only(#kind); } \
  BOOST_AUTO_TEST_SUITE_END()

#define FAILING_DISK_ON(kind)                                              \
  BOOST_AUTO_TEST_SUITE(on_##kind, *precondition(needs_filesystem(#kind))) \
  BOOST_AUTO_TEST_CASE(disk_fails) { check_disk_fails(#kind); }            \
  BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(other_sources)

CASES_ON(tmpfs)
CASES_ON(ext4)
CASES_ON(xfs)
CASES_ON(btrfs)
CASES_ON(bindfs)
CASES_ON(gocryptfs)
CASES_ON(mergerfs)
CASES_ON(encfs)
CASES_ON(sshfs)
READ_ONLY_DISK_ON(ext4)
READ_ONLY_DISK_ON(bindfs)
READ_ONLY_DISK_ON(gocryptfs)
READ_ONLY_DISK_ON(mergerfs)
READ_ONLY_DISK_ON(encfs)
READ_ONLY_DISK_ON(sshfs)
FAILING_DISK_ON(ext4)
FAILING_DISK_ON(xfs)
FAILING_DISK_ON(bindfs)
FAILING_DISK_ON(gocryptfs)
FAILING_DISK_ON(mergerfs)
FAILING_DISK_ON(encfs)
FAILING_DISK_ON(sshfs)

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
