// A file of SOURCE cannot be read for a time. Until it can be read again, it keeps its name, and
// the mount reports the error for it. Then the mount shows it as before.

#include <algorithm>
#include <cerrno>
#include <set>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "tests/mount/errno_of.hpp"
#include "tests/mount/foreign_changes.hpp"
#include "tests/mount/naming_cases.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/source_dir.hpp"
#include "tests/support/xattr.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

/// A mount in which reads of one file of SOURCE can be made to fail.
class FailingReads {
 public:
  explicit FailingReads(const fs_std::path& source, std::vector<std::string> options = {}) {
    MountSettings settings;
    settings.options = std::move(options);
    settings.options.push_back("sandbox=off");  // in a sandbox it could not see the failure file
    settings.environment = {"LD_PRELOAD=" BLOSCFS_READ_FAILER,
                            "BLOSCFS_FAILING_READ=" + (home_ / "failure").string()};
    mount_.emplace(source, settings);
  }
  /// `call` is "read" or "open".
  void fail(const std::string& call, int error, const std::string& name) const {
    const fs_std::path fresh = home_ / "fresh";
    write_file(fresh, call + " " + std::to_string(error) + " " + name);
    fs_std::rename(fresh, home_ / "failure");
  }
  void stop() const { fs_std::remove(home_ / "failure"); }
  Mount& mount() { return *mount_; }

 private:
  TempDir home_;
  std::optional<Mount> mount_;
};

std::set<std::string> listed_names(const fs_std::path& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs_std::directory_iterator(directory))
    names.insert(entry.path().filename());
  return names;
}

int stat_error(const fs_std::path& path) {
  struct stat st {};
  return errno_of(stat(path.c_str(), &st));
}

struct FailingFile {
  std::string stored, shown;
  std::string read;  ///< the file of SOURCE that is read for it
  ByteVector contents;
};

const std::vector<FailingFile>& failing_files() {
  static const std::vector<FailingFile> files = {
      {"a.b2frame", "a", "a.b2frame", bytes_of(flat_text())},
      {"t.b2nd", "t.npy", "t.b2nd", bytes_of(npy_text())}};
  return files;
}

const std::set<std::string> kShown = {"a", "t.npy", "plain", "s"};

void make_files(const Maker& maker) {
  maker.flat("a.b2frame");
  maker.array("t.b2nd");
  maker.sparse("s.b2frame");
  maker.plain("plain");
}

void check_failure(const FailingFile& file, const std::string& call, int error) {
  const SourceDir source;
  make_files(Maker(source.path()));
  FailingReads failing(source.path());
  Mount& mount = failing.mount();
  failing.fail(call, error, file.read);
  for (int i = 0; i < 3; ++i) {
    BOOST_CHECK(listed_names(mount.path()) == kShown);
    BOOST_TEST(stat_error(mount / file.shown) == error);
    BOOST_TEST(errno_of_reading(mount / file.shown) == error);
    BOOST_TEST(stat_error(mount / file.stored) == ENOENT);
    BOOST_CHECK(read_file(mount / "s") == bytes_of(flat_text()));
  }
  failing.stop();
  BOOST_CHECK(read_file(mount / file.shown) == file.contents);
  BOOST_TEST(fs_std::file_size(mount / file.shown) == file.contents.size());
  BOOST_CHECK(listed_names(mount.path()) == kShown);
  BOOST_TEST(occurrences(mount.log(), file.stored + ":") == 1, mount.log());
  BOOST_TEST(occurrences(mount.complaints(), "\n") == 1, mount.log());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(look_failures)

BOOST_AUTO_TEST_CASE(file_that_cannot_be_read_keeps_its_name_and_tells_why,
                     *precondition(needs_fuse)) {
  for (const auto& file : failing_files())
    for (const int error : {EIO, EMFILE, ENOMEM, ETIMEDOUT})
      BOOST_TEST_CONTEXT(file.stored << ", errno " << error) check_failure(file, "read", error);
}

BOOST_AUTO_TEST_CASE(file_that_cannot_be_opened_keeps_its_name_and_tells_why,
                     *precondition(needs_fuse)) {
  for (const auto& file : failing_files())
    for (const int error : {EMFILE, ENFILE, ENOMEM})
      BOOST_TEST_CONTEXT(file.stored << ", errno " << error) check_failure(file, "open", error);
}

BOOST_AUTO_TEST_CASE(sparse_frame_that_cannot_be_read_is_whole_again_afterwards,
                     *precondition(needs_fuse)) {
  const SourceDir source;
  make_files(Maker(source.path()));
  FailingReads failing(source.path());
  Mount& mount = failing.mount();
  failing.fail("read", EMFILE, "chunks.b2frame");
  BOOST_TEST(listed_names(mount.path()).size() == kShown.size());
  for (const char* name : {"s", "s.b2frame"}) {
    const int error = stat_error(mount / name);
    BOOST_TEST((error == EMFILE || (error == ENOENT && name != std::string("s.b2frame"))),
               name << ": errno " << error);
  }
  failing.stop();
  BOOST_CHECK(read_file(mount / "s") == bytes_of(flat_text()));
  BOOST_CHECK(listed_names(mount.path()) == kShown);
}

// Known facts about a file stay valid as long as the file does not change.
BOOST_AUTO_TEST_CASE(failure_leaves_what_is_known_and_open_alone, *precondition(needs_fuse)) {
  const SourceDir source;
  make_files(Maker(source.path()));
  FailingReads failing(source.path());
  Mount& mount = failing.mount();
  const Fd file = open_rw(mount / "a");
  write_at(file, 0, bytes_of("new"));
  BOOST_REQUIRE(fsync(file.get()) == 0);
  failing.fail("read", EIO, "a.b2frame");
  BOOST_TEST(stat_error(mount / "a") == 0);
  BOOST_CHECK(listed_names(mount.path()) == kShown);
  failing.stop();
  BOOST_CHECK(read_file(mount / "a") == patched(bytes_of(flat_text()), 0, bytes_of("new")));
}

// If the file has changed since, the mount does not report the old size.
BOOST_AUTO_TEST_CASE(size_of_an_open_file_is_not_told_from_memory,
                     *precondition(needs_fuse) * precondition(kNeedsSingleTimes)) {
  const SourceDir source;
  make_files(Maker(source.path()));
  FailingReads failing(source.path());
  const Fd file(open((failing.mount() / "a").c_str(), O_RDONLY | O_CLOEXEC));
  BOOST_REQUIRE(file.get() >= 0);
  failing.fail("read", EIO, "a.b2frame");
  fs_std::last_write_time(source / "a.b2frame", {});
  // SEEK_END asks the daemon for the size of the file that this descriptor has open.
  const auto error = [&] { return lseek(file.get(), 0, SEEK_END) < 0 ? errno : 0; };
  BOOST_TEST(comes_true([&] { return error() == EIO; }));
  failing.stop();
  BOOST_TEST(comes_true([&] { return error() == 0; }));
}

// Another program may hold the lock of a sidecar that the daemon cannot open.
BOOST_AUTO_TEST_CASE(writer_does_not_go_on_without_a_lock_that_it_cannot_open,
                     *precondition(needs_fuse)) {
  const SourceDir source;
  make_files(Maker(source.path()));
  write_file(source / "a.b2frame.b2lock", std::string(16, '\0'));
  const ByteVector before = read_file(source / "a.b2frame");
  FailingReads failing(source.path(), {"locking"});
  Mount& mount = failing.mount();
  failing.fail("open", EMFILE, "a.b2frame.b2lock");
  const int error = errno_of(open((mount / "a").c_str(), O_RDWR | O_CLOEXEC));
  BOOST_TEST(error == EMFILE);
  BOOST_CHECK(read_file(source / "a.b2frame") == before);
  failing.stop();
  Fd file = open_rw(mount / "a");
  write_at(file, 0, bytes_of("new"));
  BOOST_TEST(errno_of(fsync(file.get())) == 0);
  file = Fd();
  BOOST_TEST(mount.unmount().ok());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
