// The next mount removes what crashed mounts left behind, but no other file with such a name.

#include <atomic>
#include <cerrno>
#include <optional>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

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
#include "tests/support/source_lock.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;
using Names = std::vector<std::string>;

constexpr const char* kSomeName = ".bloscfs-0123456789abcdef.tmp";

Names hidden_in(const fs_std::path& directory) {
  Names names;
  for (const auto& entry : fs_std::directory_iterator(directory))
    if (entry.path().extension() == ".tmp") names.push_back(entry.path().filename());
  return names;
}

void wait_for_sweep(const fs_std::path& lock_file) {
  BOOST_TEST(comes_true([&] { return is_swept(lock_file); }));
}

void kill_daemon(Mount& mount) {
  mount.signal(SIGKILL);
  BOOST_REQUIRE(mount.wait(Seconds(10)));
  BOOST_REQUIRE(force_unmount(mount.path()));
}

/// A directory of a user that happens to have a temporary's name.
class Impostor {
 public:
  explicit Impostor(fs_std::path path) : path_(std::move(path)) {
    fs_std::create_directories(path_ / "below");
    write_file(path_ / "file", "precious");
    write_file(path_ / "below/file", "precious");
    write_file(path_ / "00000000.chunk", "precious");
  }
  bool is_whole() const {
    for (const char* name : {"file", "below/file", "00000000.chunk"})
      if (!fs_std::exists(path_ / name) || read_file(path_ / name) != bytes_of("precious"))
        return false;
    return true;
  }

 private:
  const fs_std::path path_;
};

/// A SOURCE whose daemon was killed while `d/new` was a new file. `name` is the temporary's name.
struct Left {
  Left() {
    fs_std::create_directory(source / "d");
    Mount mount(source.path());
    const Fd file(open((mount / "d/new").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    BOOST_REQUIRE(file);
    kill_daemon(mount);
    const Names names = hidden_in(source / "d");
    BOOST_REQUIRE(names.size() == 1u);
    name = names.front();
  }
  /// Returns the log of the mount.
  std::string mount_and_wait() const {
    Mount mount(source.path());
    wait_for_sweep(lock_file_in(source.path()));
    BOOST_TEST(mount.unmount().ok(), mount.log());
    BOOST_TEST(!fs_std::exists(lock_file_in(source.path())));
    return mount.log();
  }
  fs_std::path path() const { return source / "d" / name; }

  SourceDir source;
  std::string name;
};

/// A SOURCE whose daemon was killed while a removed sparse frame was still open. The frame now has
/// a temporary's name, `path`.
struct LeftFrame {
  LeftFrame() {
    write_sparse_frame(source / "s.b2frame", make_contents("text", 1, 100000, 1));
    Mount mount(source.path());
    const Fd file(open((mount / "s").c_str(), O_RDONLY | O_CLOEXEC));
    BOOST_REQUIRE(file);
    BOOST_REQUIRE(unlink((mount / "s").c_str()) == 0);
    kill_daemon(mount);
    const Names names = hidden_in(source.path());
    BOOST_REQUIRE(names.size() == 1u);
    path = source / names.front();
  }
  SourceDir source;
  fs_std::path path;
};

ProcessResult as_nobody(const Arguments& command) {
  ProcessSettings settings;
  settings.uid = nobody();
  return run(command, settings);
}

void give_to(const fs_std::path& path, uid_t user) {
  BOOST_REQUIRE(lchown(path.c_str(), user, user) == 0);
}

/// Mounts only the array `a.b2nd`, and kills the daemon while it converts the array to a flat
/// frame. Returns true if the daemon had made a temporary by then.
bool leaves_a_temporary(const fs_std::path& source) {
  Maker(source).array("a.b2nd");
  Mount mount(source / "a.b2nd");
  std::atomic<bool> is_done = false;
  std::jthread writer([&is_done, path = mount / "a.npy"] {
    const Fd file(open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    const ByteVector bytes = make_contents("noise", 1, 48 << 20, 1);
    if (write(file.get(), bytes.data(), bytes.size()) > 0) fsync(file.get());
    is_done = true;
  });
  comes_true([&] { return is_done || !hidden_in(source).empty(); });
  kill_daemon(mount);
  writer.join();
  return !hidden_in(source).empty();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(leftovers)

BOOST_AUTO_TEST_CASE(go_with_the_next_mount, *precondition(needs_fuse)) {
  const Left left;
  write_file(left.path().string() + ".b2lock", ByteVector(16, 0));
  const std::string log = left.mount_and_wait();
  BOOST_TEST(fs_std::is_empty(left.source / "d"));
  BOOST_TEST(
      log.find("removed 2 temporary files of mounts that ended suddenly") != std::string::npos,
      log);
}

BOOST_AUTO_TEST_CASE(removed_sparse_frames_go_with_the_next_mount, *precondition(needs_fuse)) {
  const LeftFrame left;
  Mount mount(left.source.path());
  wait_for_sweep(lock_file_in(left.source.path()));
  BOOST_TEST(mount.unmount().ok(), mount.log());
  BOOST_TEST(fs_std::is_empty(left.source.path()));
}

BOOST_AUTO_TEST_CASE(several_mounts_may_have_left_some, *precondition(needs_fuse)) {
  const Left left;
  {
    Mount mount(left.source.path());
    const Fd file(open((mount / "other").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    kill_daemon(mount);
  }
  left.mount_and_wait();
  BOOST_TEST(fs_std::is_empty(left.source / "d"));
  BOOST_TEST(hidden_in(left.source.path()).empty());
}

BOOST_AUTO_TEST_CASE(directories_of_such_names_stay, *precondition(needs_fuse)) {
  const Left left;
  fs_std::remove(left.path());
  // One has an invented name, the other the name that the killed daemon used.
  const Impostor one(left.source / "d" / kSomeName), other(left.path());
  left.mount_and_wait();
  BOOST_TEST(one.is_whole());
  BOOST_TEST(other.is_whole());
}

BOOST_AUTO_TEST_CASE(files_of_such_names_stay,
                     *precondition(needs_fuse) * precondition(kNeedsLinkCounts)) {
  const Left left;
  fs_std::remove(left.path());
  write_file(left.source / "other", "precious");
  fs_std::create_hard_link(left.source / "other", left.path());
  write_file(left.source / "d" / kSomeName, "precious");
  fs_std::create_symlink("other", left.source / ".bloscfs-fedcba9876543210.tmp");
  left.mount_and_wait();
  BOOST_CHECK(read_file(left.path()) == bytes_of("precious"));
  BOOST_CHECK(read_file(left.source / "d" / kSomeName) == bytes_of("precious"));
  BOOST_CHECK(read_file(left.source / ".bloscfs-fedcba9876543210.tmp") == bytes_of("precious"));
}

BOOST_AUTO_TEST_CASE(frames_of_such_names_stay,
                     *precondition(needs_fuse) * precondition(kNeedsBirthTimes)) {
  const ByteVector bytes = make_contents("text", 2, 50000, 1);
  const Left left;
  fs_std::remove(left.path());
  write_sparse_frame(left.path(), bytes);
  left.mount_and_wait();
  BOOST_CHECK(stored_contents(left.path()) == bytes);
  // A frame may also take the name of a removed frame.
  const LeftFrame gone;
  fs_std::remove_all(gone.path);
  write_sparse_frame(gone.path, bytes);
  Mount mount(gone.source.path());
  wait_for_sweep(lock_file_in(gone.source.path()));
  BOOST_TEST(mount.unmount().ok(), mount.log());
  BOOST_CHECK(stored_contents(gone.path) == bytes);
}

BOOST_AUTO_TEST_CASE(what_is_no_part_of_a_removed_frame_stays, *precondition(needs_fuse)) {
  const LeftFrame left;
  write_file(left.path / "notes", "precious");
  fs_std::create_directory(left.path / "0000FFFF.chunk");
  Mount mount(left.source.path());
  wait_for_sweep(lock_file_in(left.source.path()));
  const std::string told =
      fs_std::relative(left.path, left.source.path()).string() +
      ": cannot remove all files of the removed sparse frame: its directory has other files";
  BOOST_TEST(mount.log().find(told) != std::string::npos, mount.log());
  BOOST_TEST(mount.unmount().ok(), mount.log());
  BOOST_TEST(std::distance(fs_std::directory_iterator(left.path), {}) == 2);
  BOOST_CHECK(read_file(left.path / "notes") == bytes_of("precious"));
}

// The author of a forged journal could choose files for the daemon to remove.
BOOST_AUTO_TEST_CASE(journals_of_others_are_not_believed,
                     *precondition(needs_fuse_as_root) * precondition(kNeedsExchange)) {
  const Left left;
  fs_std::copy_file(left.source / ".bloscfs-lock", left.source / "d/.bloscfs-lock");
  fs_std::permissions(left.source / "d/.bloscfs-lock", fs_std::perms(0600));
  give_to(left.source / "d/.bloscfs-lock", nobody());
  for (const bool is_another_users : {true, false}) {
    fs_std::permissions(left.source / ".bloscfs-lock", fs_std::perms(0600));
    if (is_another_users) give_to(left.source / ".bloscfs-lock", nobody());
    if (!is_another_users) fs_std::permissions(left.source / ".bloscfs-lock", fs_std::perms(0640));
    const Left other;  // shows how long a sweep takes
    Mount mount(left.source.path());
    other.mount_and_wait();
    BOOST_TEST(mount.unmount().ok(), mount.log());
    BOOST_TEST(fs_std::exists(left.path()));
    give_to(left.source / ".bloscfs-lock", 0);
  }
}

BOOST_AUTO_TEST_CASE(mounts_of_directories_below_are_known, *precondition(needs_fuse)) {
  const SourceDir source;
  fs_std::create_directories(source / "d/e");
  {
    Mount mount(source / "d");
    const Fd file(open((mount / "e/new").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    kill_daemon(mount);
  }
  BOOST_REQUIRE(hidden_in(source / "d/e").size() == 1u);
  const Mount mount(source.path());
  BOOST_TEST(comes_true([&] { return hidden_in(source / "d/e").empty(); }));
}

BOOST_AUTO_TEST_CASE(of_another_mount_that_goes_on_stay, *precondition(needs_fuse)) {
  const SourceDir source;
  fs_std::create_directory(source / "d");
  const Mount below(source / "d");
  const Fd file(open((below / "new").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const Names names = hidden_in(source / "d");
  BOOST_REQUIRE(names.size() == 1u);
  {
    const Left other;
    Mount above(source.path());
    other.mount_and_wait();
    BOOST_TEST(errno_of(rmdir((above / "d").c_str())) == EBUSY);
    BOOST_TEST(above.unmount().ok());
  }
  BOOST_TEST(hidden_in(source / "d") == names);
  BOOST_TEST(fs_std::exists(lock_file_in(source / "d")));
}

BOOST_AUTO_TEST_CASE(of_this_user_go_with_their_directory, *precondition(needs_fuse)) {
  const SourceDir source;
  Mount mount(source.path());
  fs_std::create_directories(source / "d");
  write_file(source / "d" / kSomeName, "unfinished");
  write_file(source / "d" / (std::string(kSomeName) + ".b2lock"), "");
  BOOST_TEST(fs_std::is_empty(mount / "d"));
  BOOST_TEST(errno_of(rmdir((mount / "d").c_str())) == 0);
  BOOST_TEST(!fs_std::exists(source / "d"));
  // Also when another directory is renamed over this one.
  fs_std::create_directories(source / "e");
  fs_std::create_directories(source / "f");
  write_file(source / "e" / kSomeName, "unfinished");
  BOOST_TEST(errno_of(rename((mount / "f").c_str(), (mount / "e").c_str())) == 0);
  BOOST_TEST(fs_std::is_empty(source / "e"));
}

BOOST_AUTO_TEST_CASE(directory_with_another_of_such_a_name_is_not_removed,
                     *precondition(needs_fuse)) {
  const SourceDir source;
  fs_std::create_directory(source / "d");
  const Impostor one(source / "d" / kSomeName);
  write_file(source / "d/.bloscfs-fedcba9876543210.tmp", "unfinished");
  fs_std::create_directory(source / "e");
  Mount mount(source.path());
  BOOST_TEST(fs_std::is_empty(mount / "d"));
  BOOST_TEST(errno_of(rmdir((mount / "d").c_str())) == ENOTEMPTY);
  BOOST_TEST(errno_of(rename((mount / "e").c_str(), (mount / "d").c_str())) == ENOTEMPTY);
  BOOST_TEST(one.is_whole());
  BOOST_TEST(fs_std::exists(source / "d/.bloscfs-fedcba9876543210.tmp"));
  BOOST_TEST(fs_std::exists(mount / "e"));
}

// A user who may remove an empty directory may have no right to remove other users' files in it.
BOOST_AUTO_TEST_CASE(of_other_users_stay_with_their_directory, *precondition(needs_fuse_as_root)) {
  constexpr uid_t kAlice = 54321;
  const SourceDir source;
  fs_std::permissions(source.path(), fs_std::perms(0777));
  MountSettings settings;
  settings.options = {"allow_other"};
  Mount mount(source.path(), settings);
  for (const bool is_own : {true, false}) BOOST_TEST_CONTEXT(is_own) {
      const fs_std::path inside = source / "d" / kSomeName;
      fs_std::create_directory(source / "d");
      give_to(source / "d", kAlice);
      write_file(inside, "unfinished");
      give_to(inside, is_own ? nobody() : kAlice);
      const auto result = as_nobody({"rmdir", (mount / "d").string()});
      BOOST_TEST(result.ok() == is_own, result.description());
      BOOST_TEST(fs_std::exists(inside) == !is_own);
      fs_std::remove_all(source / "d");
    }
  const Impostor hers(source / "d" / kSomeName);
  for (const auto& entry : fs_std::recursive_directory_iterator(source / "d"))
    give_to(entry.path(), kAlice);
  const auto result = as_nobody({"rmdir", (mount / "d").string()});
  BOOST_TEST(!result.ok());
  BOOST_TEST(result.err.find("not empty") != std::string::npos, result.err);
  BOOST_TEST(hers.is_whole());
}

BOOST_AUTO_TEST_CASE(of_a_mount_of_one_frame_go_with_its_next, *precondition(needs_fuse)) {
  std::optional<SourceDir> place;
  for (int tries = 0; tries < 20; ++tries) {
    place.emplace();
    if (leaves_a_temporary(place->path())) break;
  }
  const SourceDir& source = *place;
  BOOST_REQUIRE(!hidden_in(source.path()).empty());
  const Impostor other(source / kSomeName);
  Mount mount(source / "a.b2nd");
  wait_for_sweep(lock_file_beside(source / "a.b2nd"));
  BOOST_TEST(hidden_in(source.path()) == Names{kSomeName}, boost::test_tools::per_element());
  BOOST_TEST(other.is_whole());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
