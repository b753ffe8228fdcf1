// SOURCE on filesystems of several kinds: what is written through a mount is there, and nothing is
// left behind.

#include <set>
#include <string>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mount/errno_of.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/other_filesystem.hpp"
#include "tests/support/subprocess.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

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

  // While it is open.
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

/// Of what another program does below.
void follow_changes(const fs_std::path& source, const fs_std::path& top) {
  write_file(source / "plain", "there");
  BOOST_TEST(text_of(top / "plain") == "there");
  fs_std::remove(source / "moved/file.b2frame");
  BOOST_TEST(comes_true([&] { return !fs_std::exists(top / "moved/file"); }));
}

void check_on(const std::string& kind) {
  const OtherFilesystem other(kind);
  const fs_std::path source = other.path() / "source";
  fs_std::create_directory(source);
  const ByteVector noise = make_contents("noise", 1, std::size_t{3} << 20, 1);
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
  const ProcessResult verified = run({b2frame_program(), "verify", "-r", source.string()});
  BOOST_TEST(verified.ok(), verified.description());
  const Mount again(source);
  BOOST_CHECK(read_file(again / "large") == noise);
  BOOST_TEST(text_of(again / "other") == "by the link");
  BOOST_TEST(text_of(again / "stored") == "again");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(other_sources)

BOOST_AUTO_TEST_CASE(can_be_tmpfs, *precondition(needs_filesystem("tmpfs"))) { check_on("tmpfs"); }

BOOST_AUTO_TEST_CASE(can_be_ext4, *precondition(needs_filesystem("ext4"))) { check_on("ext4"); }

BOOST_AUTO_TEST_CASE(can_be_xfs, *precondition(needs_filesystem("xfs"))) { check_on("xfs"); }

BOOST_AUTO_TEST_CASE(can_be_btrfs, *precondition(needs_filesystem("btrfs"))) { check_on("btrfs"); }

BOOST_AUTO_TEST_CASE(can_be_bindfs, *precondition(needs_filesystem("bindfs"))) {
  check_on("bindfs");
}

BOOST_AUTO_TEST_CASE(can_be_mergerfs, *precondition(needs_filesystem("mergerfs"))) {
  check_on("mergerfs");
}

BOOST_AUTO_TEST_CASE(can_be_gocryptfs, *precondition(needs_filesystem("gocryptfs"))) {
  check_on("gocryptfs");
}

BOOST_AUTO_TEST_CASE(can_be_encfs, *precondition(needs_filesystem("encfs"))) { check_on("encfs"); }

BOOST_AUTO_TEST_CASE(can_be_sshfs, *precondition(needs_filesystem("sshfs"))) { check_on("sshfs"); }

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
