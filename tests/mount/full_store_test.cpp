// SOURCE has no space left. Writers get an error, committed contents stay, and work continues once
// there is space again.

#include <chrono>
#include <cstring>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/quota.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/mount/asked_mounts.hpp"
#include "tests/mount/errno_of.hpp"
#include "tests/mount/foreign_changes.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/other_filesystem.hpp"
#include "tests/support/source_dir.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr std::size_t kMiB = 1 << 20;
constexpr std::size_t kStoreSize = 24 * kMiB;
constexpr std::size_t kOldSize = 3 * kMiB;
constexpr std::uint64_t kFree = 4 * kMiB;

/// A small filesystem that fills up soon: ext4 on a loop device, or tmpfs where loop devices are
/// missing.
class SmallStore {
 public:
  /// Passes `settings` to mkfs.ext4 and `options` to mount(8). Only the default options allow
  /// tmpfs.
  explicit SmallStore(const Arguments& settings = {"-m", "0"}, const std::string& options = "loop")
      : place_(home_ / "store") {
    fs_std::create_directory(place_);
    const bool is_image = mount_image(settings, options);
    if (!is_image && options != "loop") throw std::runtime_error("no ext4 with " + options);
    if (!is_image && mount("none", place_.c_str(), "tmpfs", 0,
                           ("size=" + std::to_string(kStoreSize)).c_str()) != 0)
      throw_errno("mount tmpfs");
    fs_std::create_directory(place_ / "source");
  }
  ~SmallStore() {
    comes_true([&] { return umount2(place_.c_str(), 0) == 0; }, std::chrono::seconds(1));
    if (is_mounted(place_)) umount2(place_.c_str(), MNT_DETACH);
  }
  SmallStore(const SmallStore&) = delete;
  SmallStore& operator=(const SmallStore&) = delete;

  fs_std::path source() const { return place_ / "source"; }

  /// Fills the filesystem until about kFree bytes are left.
  void fill() const {
    struct statvfs st {};
    if (statvfs(place_.c_str(), &st) != 0) throw_errno("statvfs");
    const std::uint64_t available = st.f_bavail * st.f_frsize;
    const Fd fd(open(filler().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    if (posix_fallocate(fd.get(), 0, static_cast<off_t>(available - kFree)) != 0)
      throw_errno("filler");
  }
  void make_space() const { fs_std::remove(filler()); }

 private:
  fs_std::path filler() const { return place_ / "filler"; }

  static Arguments with(Arguments command, const Arguments& settings, const fs_std::path& image) {
    command.insert(command.end(), settings.begin(), settings.end());
    command.push_back(image.string());
    return command;
  }

  bool mount_image(const Arguments& settings, const std::string& options) {
    const fs_std::path image = home_ / "image";
    write_file(image, "");
    fs_std::resize_file(image, kStoreSize);
    return have_program("mkfs.ext4") && have_program("mount") &&
           run(with(Arguments{"mkfs.ext4", "-q"}, settings, image)).ok() &&
           run({"mount", "-o", options, image.string(), place_.string()}).ok();
  }

  TempDir home_;
  fs_std::path place_;
};

ByteVector old_contents() { return make_contents("noise", 1, kOldSize, 1); }
ByteVector new_contents(std::size_t size) { return make_contents("noise", 2, size, 1); }

/// A nearly full filesystem with a committed file `old`.
struct FullSource {
  FullSource() {
    write_file(store.source() / "old.b2frame", flat_frame(old_contents()));
    store.fill();
  }
  void verify(const char* name) const {
    const auto result = run({b2frame_program(), "verify", (store.source() / name).string()});
    BOOST_TEST(result.ok(), result.description());
  }
  SmallStore store;
};

/// Writes all bytes, a MiB at a time. Returns 0 or the first errno.
int write_error(int fd, const ByteVector& bytes, std::size_t& written) {
  for (written = 0; written < bytes.size();) {
    const ssize_t got = pwrite(fd, bytes.data() + written, std::min(kMiB, bytes.size() - written),
                               static_cast<off_t>(written));
    if (got < 0) return errno;
    written += static_cast<std::size_t>(got);
  }
  return 0;
}

Fd open_to_write(const fs_std::path& path, int flags = 0) {
  Fd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | flags, 0644));
  if (!fd) throw_errno("open");
  return fd;
}

/// Writes a whole file. Returns 0 or the first errno of the calls that cp(1) checks.
int save_error(const fs_std::path& path, const ByteVector& bytes) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return errno;
  std::size_t written = 0;
  const int error = write_error(fd, bytes, written);
  const int closed = errno_of(close(fd));
  return error != 0 ? error : closed;
}

constexpr uid_t kUser = 65534;
const Arguments kWithQuotas = {"-m", "0", "-O", "quota"};
constexpr const char* kEnforced = "loop,usrquota";

MountSettings with_option(const std::string& option) {
  MountSettings settings;
  settings.options = {option};
  return settings;
}

/// An ordinary user who copies files into a mount of root's.
class UserOf {
 public:
  explicit UserOf(const fs_std::path& source) : mount_(source, with_option("allow_other")) {
    for (const auto& path : {source, home_.path()}) fs_std::permissions(path, fs_std::perms(0777));
  }

  /// Returns the error output of cp. Removes a copy that failed.
  std::string copy(const ByteVector& bytes) const {
    write_file(home_ / "contents", bytes);
    ProcessSettings settings;
    settings.uid = kUser;
    const std::string to = (mount_ / std::to_string(bytes.size())).string();
    const std::string said = run({"cp", (home_ / "contents").string(), to}, settings).err;
    if (!said.empty()) fs_std::remove(to);
    return said;
  }

 private:
  const TempDir home_;
  Mount mount_;
};

bool starts_with(const ByteVector& whole, const ByteVector& start, std::size_t size) {
  return whole.size() >= size &&
         std::equal(start.begin(), start.begin() + static_cast<std::ptrdiff_t>(size),
                    whole.begin());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(full_store)

BOOST_AUTO_TEST_CASE(new_file_that_does_not_fit_is_kept_until_it_does,
                     *precondition(needs_fuse_as_root)) {
  const FullSource full;
  const ByteVector bytes = new_contents(2 * kFree);
  Mount mount(full.store.source());
  {
    const Fd fd = open_to_write(mount / "new");
    std::size_t written = 0;
    BOOST_TEST(write_error(fd.get(), bytes, written) == 0);
    BOOST_TEST(fsync(fd.get()) == -1);
    BOOST_TEST(errno == ENOSPC);
    BOOST_CHECK(read_file(mount / "new") == bytes);
    BOOST_CHECK(read_file(mount / "old") == old_contents());
    full.verify("old.b2frame");
    full.store.make_space();
    BOOST_TEST(fsync(fd.get()) == 0);
  }
  BOOST_TEST(mount.unmount().ok());
  full.verify("new.b2frame");
  Mount again(full.store.source());
  BOOST_CHECK(read_file(again / "new") == bytes);
  BOOST_CHECK(read_file(again / "old") == old_contents());
}

BOOST_AUTO_TEST_CASE(overwritten_file_keeps_its_committed_state,
                     *precondition(needs_fuse_as_root)) {
  const FullSource full;
  // Does not fit, because the committed contents must stay until the new ones are stored.
  const ByteVector bytes = new_contents(2 * kFree);
  {
    Mount mount(full.store.source());
    const Fd fd = open_to_write(mount / "old");
    std::size_t written = 0;
    BOOST_TEST(write_error(fd.get(), bytes, written) == 0);
    BOOST_TEST(fsync(fd.get()) == -1);
    BOOST_TEST(errno == ENOSPC);
    BOOST_CHECK(read_file(mount / "old") == bytes);
    mount.signal(SIGKILL);
    BOOST_TEST(mount.wait(Seconds(10)));
  }
  full.verify("old.b2frame");
  Mount mount(full.store.source());
  BOOST_CHECK(read_file(mount / "old") == old_contents());
  full.store.make_space();
  const Fd fd = open_to_write(mount / "old");
  std::size_t written = 0;
  BOOST_TEST(write_error(fd.get(), bytes, written) == 0);
  BOOST_TEST(fsync(fd.get()) == 0);
  BOOST_CHECK(read_file(mount / "old") == bytes);
}

BOOST_AUTO_TEST_CASE(close_tells_under_strict_sync, *precondition(needs_fuse_as_root)) {
  const FullSource full;
  MountSettings settings;
  settings.options = {"sync=strict"};
  Mount mount(full.store.source(), settings);
  const int fd = open((mount / "new").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  std::size_t written = 0;
  BOOST_TEST(write_error(fd, new_contents(2 * kFree), written) == 0);
  const int closed = close(fd);
  BOOST_TEST(closed == -1);
  BOOST_TEST(errno == ENOSPC);
  full.store.make_space();
  BOOST_TEST(mount.unmount().ok());
  Mount again(full.store.source());
  BOOST_CHECK(read_file(again / "new") == new_contents(2 * kFree));
}

BOOST_AUTO_TEST_CASE(writer_beyond_the_dirty_limit_is_told, *precondition(needs_fuse_as_root)) {
  const FullSource full;
  MountSettings settings;
  settings.options = {"cache_size=8M", "dirty_limit=2M"};
  const ByteVector bytes = new_contents(4 * kFree);
  Mount mount(full.store.source(), settings);
  std::size_t written = 0;
  {
    const Fd fd = open_to_write(mount / "new");
    BOOST_TEST(write_error(fd.get(), bytes, written) == ENOSPC);
    BOOST_TEST(written > 0u);
    BOOST_CHECK(starts_with(read_file(mount / "new"), bytes, written));
    BOOST_CHECK(read_file(mount / "old") == old_contents());
    full.store.make_space();
    fsync(fd.get());  // may report the earlier failure once more
    BOOST_TEST(fsync(fd.get()) == 0);
  }
  BOOST_TEST(mount.unmount().ok());
  Mount again(full.store.source());
  BOOST_CHECK(starts_with(read_file(again / "new"), bytes, written));
  full.verify("new.b2frame");
}

BOOST_AUTO_TEST_CASE(removed_file_goes_on_when_there_is_space, *precondition(needs_fuse_as_root)) {
  const FullSource full;
  MountSettings settings;
  settings.options = {"cache_size=8M", "dirty_limit=2M"};
  const ByteVector bytes = new_contents(3 * kFree);
  Mount mount(full.store.source(), settings);
  const Fd fd = open_to_write(mount / "new");
  fs_std::remove(mount / "new");
  std::size_t written = 0;
  BOOST_TEST(write_error(fd.get(), bytes, written) == ENOSPC);
  BOOST_TEST(written > 0u);
  const auto contents = [&](std::size_t size) {
    ByteVector read(size);
    BOOST_TEST(pread(fd.get(), read.data(), size, 0) == static_cast<ssize_t>(size));
    return read;
  };
  BOOST_CHECK(starts_with(contents(written), bytes, written));
  full.store.make_space();
  // The first write may report the earlier failure once more.
  if (write_error(fd.get(), bytes, written) != 0)
    BOOST_TEST(write_error(fd.get(), bytes, written) == 0);
  BOOST_CHECK(contents(bytes.size()) == bytes);
  BOOST_CHECK(read_file(mount / "old") == old_contents());
}

BOOST_AUTO_TEST_CASE(close_tells_of_a_file_that_does_not_fit, *precondition(needs_fuse_as_root)) {
  const FullSource full;
  Mount mount(full.store.source());
  BOOST_TEST(save_error(mount / "new", new_contents(2 * kFree)) == ENOSPC);
  fs_std::remove(mount / "new");
  // Compressible data fits, however large it is.
  const ByteVector text = make_contents("text", 1, 4 * kFree, 1);
  BOOST_TEST(save_error(mount / "text", text) == 0);
  // Then fill the disk. Every file whose close succeeded must be there after a crash.
  std::vector<fs_std::path> saved;
  const ByteVector bytes = new_contents(20000);
  for (int i = 0; i < 1000; i++) {
    const fs_std::path path = mount / std::to_string(i);
    if (save_error(path, bytes) == 0)
      saved.push_back(path.filename());
    else
      fs_std::remove(path);
  }
  BOOST_TEST(saved.size() > 50u);
  BOOST_TEST(saved.size() < 250u);
  mount.signal(SIGKILL);
  BOOST_TEST(mount.wait(Seconds(10)));
  Mount again(full.store.source());
  BOOST_CHECK(read_file(again / "text") == text);
  for (const auto& name : saved) BOOST_CHECK(read_file(again / name.string()) == bytes);
}

BOOST_AUTO_TEST_CASE(commit_that_fails_leaves_no_bytes, *precondition(needs_fuse_as_root)) {
  const FullSource full;
  Mount mount(full.store.source());
  const auto size_of_old = [&] { return fs_std::file_size(full.store.source() / "old.b2frame"); };
  const auto before = size_of_old();
  const Fd fd = open_to_write(mount / "old");
  std::size_t written = 0;
  BOOST_TEST(write_error(fd.get(), new_contents(2 * kFree), written) == 0);
  BOOST_TEST(errno_of(fsync(fd.get())) == ENOSPC);
  BOOST_TEST(size_of_old() == before);
  BOOST_TEST(save_error(mount / "small", new_contents(kFree / 2)) == 0);
}

BOOST_AUTO_TEST_CASE(changes_by_path_tell_of_a_full_disk, *precondition(needs_fuse_as_root)) {
  const FullSource full;
  Mount mount(full.store.source());
  BOOST_TEST(save_error(mount / "f", bytes_of("contents")) == 0);
  // Leave no space at all.
  const Fd filler(
      open((full.store.source() / "rest").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  const ByteVector piece = new_contents(4096);
  while (write(filler.get(), piece.data(), piece.size()) > 0) continue;
  const ByteVector value = new_contents(30000);
  const int set = errno_of(
      setxattr((mount / "f").c_str(), "user.blosc2.vlmeta.large", value.data(), value.size(), 0));
  BOOST_TEST(set == ENOSPC);
  fs_std::remove(full.store.source() / "rest");
  mount.signal(SIGKILL);
  BOOST_TEST(mount.wait(Seconds(10)));
  full.verify("f.b2frame");
}

/// The filesystem reserves blocks for root. A daemon of root's uses them only for root's own files.
BOOST_AUTO_TEST_CASE(space_that_is_reserved_for_root_is_left, *precondition(needs_fuse_as_root)) {
  const SmallStore store({"-m", "50"}, "loop,rw");
  const UserOf user(store.source());
  BOOST_TEST(user.copy(new_contents(3 * kFree)).find("No space left") != std::string::npos);
  BOOST_TEST(user.copy(new_contents(kFree)) == "");
}

/// Needs quotas in the kernel.
boost::test_tools::assertion_result needs_quotas(boost::unit_test::test_unit_id id) {
  auto result = needs_fuse_as_root(id);
  if (!result) return result;
  try {
    const SmallStore store(kWithQuotas, kEnforced);
  } catch (const std::runtime_error& error) {
    result = false;
    result.message() << error.what();
  }
  return result;
}

BOOST_AUTO_TEST_CASE(quotas_are_told_at_the_close, *precondition(needs_quotas)) {
  const SmallStore store(kWithQuotas, kEnforced);
  const Fd place(open(store.source().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if_dqblk limits{};
  limits.dqb_bhardlimit = kFree / 2 / 1024;
  limits.dqb_valid = QIF_BLIMITS;
  BOOST_TEST_REQUIRE(
      ::syscall(SYS_quotactl_fd, place.get(), QCMD(Q_SETQUOTA, USRQUOTA), kUser, &limits) == 0);
  const UserOf user(store.source());
  BOOST_TEST(user.copy(new_contents(kFree)).find("quota exceeded") != std::string::npos);
  BOOST_TEST(user.copy(new_contents(kFree / 4)) == "");
}

BOOST_AUTO_TEST_CASE(limits_of_a_btrfs_subvolume_are_told_at_the_close,
                     *precondition(needs_filesystem("btrfs"))) {
  const OtherFilesystem btrfs("btrfs");
  const fs_std::path source = btrfs.path() / "source";
  for (const Arguments& command : std::vector<Arguments>{
           {"btrfs", "quota", "enable", btrfs.path().string()},
           {"btrfs", "subvolume", "create", source.string()},
           {"btrfs", "qgroup", "limit", std::to_string(kFree), source.string()}}) {
    const ProcessResult result = run(command);
    BOOST_TEST_REQUIRE(result.ok(), result.description());
  }
  const UserOf user(source);
  BOOST_TEST(user.copy(new_contents(2 * kFree)).find("quota exceeded") != std::string::npos);
  BOOST_TEST(user.copy(new_contents(kFree / 4)) == "");
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_at_the_end_is_rescued, *precondition(needs_fuse_as_root)) {
  const FullSource full;
  const TempDir rescue;
  fs_std::create_directory(rescue / "a");
  MountSettings settings;
  settings.options = {"rescue=" + (rescue / "a/b").string()};
  const ByteVector bytes = new_contents(kFree + kMiB);
  {
    Mount mount(full.store.source(), settings);
    fs_std::create_directory(mount / "d");
    for (const char* name : {"new", "old", "d/new"}) save_error(mount / name, bytes);
    BOOST_TEST(mount.unmount().status == 1);
    for (const std::string name : {"new", "old", "d/new"}) {
      BOOST_TEST(mount.log().find("] " + name + ".b2frame: cannot commit: ") != std::string::npos,
                 mount.log());
      BOOST_TEST(mount.log().find(name +
                                  ".b2frame: not committed (No space left on device): "
                                  "kept as " +
                                  (rescue / "a/b").string()) != std::string::npos,
                 mount.log());
    }
    BOOST_TEST(
        occurrences(mount.log(), ", which `b2frame recover --rescue " + (rescue / "a/b").string() +
                                     " " + full.store.source().string() + "` brings back\n") == 3,
        mount.log());
  }
  const std::string told =
      "an earlier mount could not commit 3 files, now in " + (rescue / "a/b").string() + "/";
  const std::string advice = "b2frame recover --rescue " + (rescue / "a/b").string() + " " +
                             full.store.source().string() + "\n";
  const TempDir home;
  for (const bool has_log_file : {false, true}) {
    MountSettings next = settings;
    if (has_log_file) next.options.push_back("log=" + (home / "log").string());
    Mount mount(full.store.source(), next);
    BOOST_TEST(mount.unmount().ok(), mount.log());
    // Foreground without a log file: the log is on the terminal, which gets the line once.
    BOOST_TEST(occurrences(mount.log(), told) == 1, mount.log());
    BOOST_TEST(mount.log().find(advice) != std::string::npos, mount.log());
    if (!has_log_file) continue;
    const ByteVector log = read_file(home / "log");
    BOOST_TEST(occurrences({log.begin(), log.end()}, told) == 1);
  }
  // Apart from hidden files, SOURCE has only whole frames.
  for (const auto& entry : fs_std::directory_iterator(full.store.source()))
    BOOST_TEST(entry.path().extension() != ".tmp", entry.path());
  full.verify("old.b2frame");
  Arguments recover = {b2frame_program(),
                       "recover",
                       "--rescue",
                       (rescue / "a/b").string(),
                       full.store.source().string(),
                       "-n"};
  const auto refused = run(Arguments(recover.begin(), recover.end() - 1));
  BOOST_TEST(refused.status == 1);
  BOOST_TEST(refused.err.find(": cannot recover d/new: ") != std::string::npos, refused.err);
  BOOST_TEST(refused.err.find("No space left on device; its ") != std::string::npos, refused.err);
  BOOST_TEST(
      refused.err.find(" bytes stay in " + (rescue / "a/b").string() + "/") != std::string::npos,
      refused.err);
  full.store.make_space();
  {
    const Mount mount(full.store.source(), settings);
    BOOST_TEST(listed(mount.path()).at("rescued_files") == 3);
    const std::string table = bloscfs({"--list"}).out;
    const std::size_t end = table.find("RESCUED") + std::string_view("RESCUED").size();
    const std::size_t row = table.find("\n" + mount.path().string() + " ") + 1;
    BOOST_TEST(table.substr(row, end).ends_with(" 3"), table);
  }
  {
    MountSettings reading = settings;
    reading.options.emplace_back("ro");
    Mount mount(full.store.source(), reading);
    BOOST_TEST(listed(mount.path()).at("rescued_files") == 3);
    BOOST_TEST(occurrences(mount.log(), told) == 1, mount.log());
    BOOST_TEST(mount.unmount().ok(), mount.log());
  }
  BOOST_TEST(run(recover).out ==
             "d/new: can be recovered\nnew: can be recovered\nold: can be recovered\n");
  recover.pop_back();
  const auto recovered = run(recover);
  BOOST_TEST(recovered.ok(), recovered.description());
  BOOST_TEST(fs_std::is_empty(rescue / "a/b"));
  Mount again(full.store.source());
  BOOST_CHECK(read_file(again / "new") == bytes);
  BOOST_CHECK(read_file(again / "d/new") == bytes);
  BOOST_CHECK(read_file(again / "old") == old_contents());
  BOOST_CHECK(stored_contents(conflict_of(full.store.source(), "old")) == bytes);
}

BOOST_AUTO_TEST_CASE(rescue_folder_of_others_is_refused, *precondition(needs_fuse_as_root)) {
  const SourceDir source;
  const TempDir rescue;
  const auto mount = [&] { Mount(source.path(), with_option("rescue=" + rescue.path().string())); };
  fs_std::permissions(rescue.path(), fs_std::perms(0777));
  BOOST_CHECK_EXCEPTION(mount(), MountRefused, [&](const MountRefused& refused) {
    return std::string(refused.what())
               .find(
                   "cannot be the rescue folder: other users may write to it (mode 777); "
                   "run: chmod 700 " +
                   rescue.path().string()) != std::string::npos;
  });
  fs_std::permissions(rescue.path(), fs_std::perms(0700));
  BOOST_CHECK_NO_THROW(mount());
  BOOST_REQUIRE(::chown(rescue.path().c_str(), kUser, kUser) == 0);
  BOOST_CHECK_THROW(mount(), MountRefused);
}

BOOST_AUTO_TEST_CASE(rescue_folder_in_source_or_without_parent_is_refused,
                     *precondition(needs_fuse_as_root)) {
  const SourceDir source;
  const TempDir home;
  for (const fs_std::path& folder :
       {source.path() / "rescue", source.path(), home / "missing/rescue"}) {
    const bool is_there = fs_std::exists(folder);
    BOOST_CHECK_THROW(Mount(source.path(), with_option("rescue=" + folder.string())), MountRefused);
    BOOST_TEST(fs_std::exists(folder) == is_there);
  }
  BOOST_TEST(fs_std::is_empty(home.path()));
  BOOST_CHECK_NO_THROW(Mount(source.path(), with_option("rescue=" + (home / "rescue").string())));
}

BOOST_AUTO_TEST_CASE(unusable_default_rescue_folder_is_reported,
                     *precondition(needs_fuse_as_root)) {
  const FullSource full;
  const TempDir state;
  const fs_std::path rescue = state / "bloscfs/rescue";
  fs_std::create_directories(rescue);
  for (const fs_std::path& place : {state.path(), rescue, full.store.source()})
    BOOST_REQUIRE(::chown(place.c_str(), kUser, kUser) == 0);
  fs_std::permissions(rescue, fs_std::perms(0777));
  fs_std::permissions(full.store.source().parent_path().parent_path(), fs_std::perms(0755));
  fs_std::copy_file(bloscfs_program(), state / "bloscfs_copy");
  const std::string reason = rescue.string() + ": other users may write to it (mode 777)";
  MountSettings settings;
  settings.uid = kUser;
  settings.program = state / "bloscfs_copy";
  settings.environment = {"XDG_STATE_HOME=" + state.path().string()};
  Mount mount(full.store.source(), settings);
  const std::string line = "no rescue folder: " + reason +
                           "; changes that do not fit in SOURCE when the mount ends will be lost; "
                           "run: chmod 700 " +
                           rescue.string() + ", or mount with rescue=DIR\n";
  ProcessSettings user;
  user.uid = kUser;
  const std::string to = "of=" + (mount / "new").string();
  run({"dd", "if=/dev/urandom", to, "bs=1M", "count=8"}, user);
  const auto refused = bloscfs({"--unmount", mount.path().string()});
  BOOST_TEST(
      refused.err.find("loses the others, because the mount has no rescue folder: " + reason +
                       ";\ncopy the files from the mount first") != std::string::npos,
      refused.err);
  BOOST_TEST(mount.unmount().status == 1);
  const std::string log = mount.log();
  BOOST_TEST(occurrences(log, line) == 1, log);
  const auto at = log.find("contents lost, ");
  BOOST_REQUIRE_MESSAGE(at != std::string::npos, log);
  BOOST_TEST(log.substr(at, log.find('\n', at) - at)
                 .ends_with("No space left on device; no rescue folder: " + reason + ")"),
             log);
}

BOOST_AUTO_TEST_CASE(removed_rescue_folder_is_reported, *precondition(needs_fuse_as_root)) {
  const FullSource full;
  const TempDir home;
  const fs_std::path rescue = home / "rescue";
  Mount mount(full.store.source(), with_option("rescue=" + rescue.string()));
  fs_std::remove_all(rescue);
  save_error(mount / "new", new_contents(2 * kFree));
  const auto refused = bloscfs({"--unmount", mount.path().string()});
  BOOST_TEST(refused.err.find("the mount has no rescue folder: " + rescue.string() +
                              ": was removed;\n") != std::string::npos,
             refused.err);
}

BOOST_AUTO_TEST_CASE(a_refused_remount_names_what_does_not_fit, *precondition(needs_fuse_as_root)) {
  const FullSource full;
  DaemonTime time;
  Mount mount(full.store.source(), time.of());
  const auto size = 2 * kFree;
  BOOST_TEST(save_error(mount / "new", new_contents(size)) == ENOSPC);
  const auto refused = bloscfs({"-o", "remount,ro", mount.path().string()});
  BOOST_TEST(refused.status == 1);
  BOOST_TEST(refused.err == "bloscfs: " + mount.path().string() +
                                ": not remounted: cannot commit new.b2frame: No space left on "
                                "device; remove the cause, and remount again\n");
  const std::string line = fmt::format(
      "new.b2frame: not committed (No space left on device): {} bytes wait in the mount; free "
      "space in SOURCE\n",
      size);
  BOOST_TEST(mount.log().find(line) != std::string::npos, mount.log());
  BOOST_TEST(listed(mount.path()).at("read_only") == false);
  full.store.make_space();
  BOOST_TEST(bloscfs({"-o", "remount,ro", mount.path().string()}).ok());
}

BOOST_AUTO_TEST_CASE(idle_mount_stays_while_something_does_not_fit,
                     *precondition(needs_fuse_as_root)) {
  const FullSource full;
  DaemonTime time;
  Mount mount(full.store.source(), time.of(with_option("idle_timeout=1")));
  const ByteVector bytes = new_contents(2 * kFree);
  BOOST_TEST(save_error(mount / "new", bytes) == ENOSPC);
  // Each second the daemon checks whether it is idle. Every few seconds it retries the commit.
  for (int i = 0; i < 5; i++) {
    const auto failures = mount.counter("commit_failures");
    BOOST_TEST(comes_true([&] {
      time.move(std::chrono::seconds(1));
      return mount.counter("commit_failures") > failures;
    }));
  }
  BOOST_TEST(is_mounted(mount.path()));
  full.store.make_space();
  BOOST_TEST(comes_true([&] {
    time.move(std::chrono::seconds(1));
    return !mount.running();
  }));
  Mount again(full.store.source());
  BOOST_CHECK(read_file(again / "new") == bytes);
}

BOOST_AUTO_TEST_CASE(unmount_tells_what_does_not_fit, *precondition(needs_fuse_as_root)) {
  const FullSource full, other;
  Mount mount(full.store.source(), with_option("rescue=" + (other.store.source() / "r").string()));
  save_error(mount / "new", new_contents(2 * kFree));
  save_error(mount / "old", new_contents(2 * kFree));
  const auto result = mount.unmount();
  BOOST_TEST(result.status == 1);
  const std::string log = mount.log();
  for (const char* name : {"new.b2frame", "old.b2frame"}) {
    const auto at = log.find(std::string(name) + ": not committed (No space left on device)");
    BOOST_REQUIRE_MESSAGE(at != std::string::npos, log);
    BOOST_TEST(log.substr(at, log.find('\n', at) - at).find("contents lost") != std::string::npos,
               log);
  }
  full.verify("old.b2frame");
  Mount again(full.store.source());
  BOOST_CHECK(read_file(again / "old") == old_contents());
  BOOST_TEST(!fs_std::exists(again / "new"));
}

/// Data that conflicts with another program's change stays in memory until a conflict file for it
/// fits.
BOOST_AUTO_TEST_CASE(conflict_that_does_not_fit_is_kept_until_it_does,
                     *precondition(needs_fuse_as_root)) {
  const FullSource full;
  const ByteVector bytes = new_contents(2 * kFree);
  const ByteVector theirs = make_contents("text", 3, kMiB, 1);
  Mount mount(full.store.source());
  {
    const Fd fd = open_to_write(mount / "old");
    std::size_t written = 0;
    BOOST_TEST(write_error(fd.get(), bytes, written) == 0);
    replace_by_rename(full.store.source() / "old.b2frame", flat_frame(theirs));
    for (int tries = 0; tries < 2; tries++) {
      BOOST_TEST(fsync(fd.get()) == -1);
      BOOST_TEST(errno == ENOSPC);
    }
    BOOST_TEST(conflicts_of(full.store.source(), "old").empty());
    full.store.make_space();
    BOOST_TEST(fsync(fd.get()) == -1);
    BOOST_TEST(errno == ESTALE);
    BOOST_TEST(fsync(fd.get()) == 0);
  }
  BOOST_CHECK(read_file(mount / "old") == theirs);
  BOOST_TEST(mount.unmount().ok());
  const fs_std::path conflict = conflict_of(full.store.source(), "old");
  full.verify(conflict.filename().c_str());
  BOOST_CHECK(stored_contents(conflict) == bytes);
  BOOST_CHECK(stored_contents(full.store.source() / "old.b2frame") == theirs);
}

BOOST_AUTO_TEST_CASE(removing_files_through_the_mount_makes_space,
                     *precondition(needs_fuse_as_root)) {
  const FullSource full;
  Mount mount(full.store.source());
  const ByteVector bytes = new_contents(kFree + kOldSize / 2);
  const Fd fd = open_to_write(mount / "new");
  std::size_t written = 0;
  BOOST_TEST(write_error(fd.get(), bytes, written) == 0);
  BOOST_TEST(fsync(fd.get()) == -1);
  fs_std::remove(mount / "old");
  // The kernel releases the removed file a moment later.
  BOOST_TEST(comes_true([&] { return fsync(fd.get()) == 0; }));
  BOOST_CHECK(read_file(mount / "new") == bytes);
}

/// A file that does not fit takes no space from other files.
BOOST_AUTO_TEST_CASE(small_file_is_committed_beside_one_that_does_not_fit,
                     *precondition(needs_fuse_as_root)) {
  const FullSource full;
  Mount mount(full.store.source());
  std::size_t written = 0;
  const Fd large = open_to_write(mount / "large"), small = open_to_write(mount / "small");
  BOOST_TEST(write_error(large.get(), new_contents(2 * kFree), written) == 0);
  BOOST_TEST(errno_of(fsync(large.get())) == ENOSPC);
  BOOST_TEST(write_error(small.get(), bytes_of("small"), written) == 0);
  BOOST_TEST(errno_of(fsync(small.get())) == 0);
  BOOST_CHECK(stored_contents(full.store.source() / "small.b2frame") == bytes_of("small"));
}

/// Contents of a frame take no space before they are written. Still, an allocation of more than
/// fits is refused.
BOOST_AUTO_TEST_CASE(no_more_space_is_allocated_than_there_is, *precondition(needs_fuse_as_root)) {
  const FullSource full;
  Mount mount(full.store.source());
  const auto error_of = [](const Fd& fd, int mode, std::uint64_t offset, std::uint64_t size) {
    const bool failed =
        fallocate(fd.get(), mode, static_cast<off_t>(offset), static_cast<off_t>(size)) != 0;
    return failed ? errno : 0;
  };
  const Fd fd = open_to_write(mount / "new");
  for (const int mode : {0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_ZERO_RANGE}) {
    for (const std::uint64_t size : {2 * kFree, std::uint64_t{1} << 44})
      BOOST_TEST(error_of(fd, mode, 0, size) == ENOSPC);
    // More than a file can hold, even on a large disk.
    BOOST_TEST(error_of(fd, mode, 0, std::uint64_t{1} << 50) == EFBIG);
  }
  BOOST_TEST(error_of(fd, 0, 2 * kFree, 1) == ENOSPC);
  BOOST_TEST(fs_std::file_size(mount / "new") == 0u);
  BOOST_TEST(error_of(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 2 * kFree) == 0);
  BOOST_TEST(error_of(fd, FALLOC_FL_KEEP_SIZE, 0, kFree / 2) == 0);
  BOOST_TEST(fs_std::file_size(mount / "new") == 0u);
  BOOST_TEST(error_of(fd, 0, 0, kFree / 2) == 0);
  BOOST_TEST(fs_std::file_size(mount / "new") == kFree / 2);
  // Only the added bytes count.
  const Fd old = open_to_write(mount / "old");
  BOOST_TEST(error_of(old, 0, 0, kOldSize + kFree / 2) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
