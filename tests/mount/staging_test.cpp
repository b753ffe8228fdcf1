// New files that are larger than the dirty limit. They are staged in their temporary while they are
// written, and get their full name in SOURCE only when they are closed or synced.

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mount/errno_of.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/source_dir.hpp"
#include "tests/support/source_lock.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr std::size_t kSize = 5000001;

/// A mount with a dirty limit of 1 MiB.
class SmallMemory {
 public:
  SmallMemory() { mount_again(); }

  void mount_again() {
    if (mount_) mount_->unmount();
    MountSettings settings;
    settings.options = {"cache_size=8M", "dirty_limit=1M"};
    mount_.emplace(source_.path(), settings);
  }
  void kill_and_mount_again() {
    mount_->signal(SIGKILL);
    mount_->wait(Seconds(20));
    force_unmount(mount_->path());
    mount_.reset();
    mount_again();
  }

  fs_std::path operator/(const std::string& name) const { return *mount_ / name; }
  Fd create(const std::string& name) const {
    return Fd(open((*mount_ / name).c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0640));
  }
  std::uint64_t commits() const { return mount_->counter("commits"); }
  fs_std::path source() const { return source_.path(); }
  /// Names in SOURCE without the mount's lock file. Every temporary is listed as ".tmp".
  std::vector<std::string> stored() const {
    std::vector<std::string> names;
    for (const auto& entry : fs_std::directory_iterator(source_.path())) {
      const auto name = entry.path().filename();
      if (is_lock_file(name) || is_hidden_by_source(name.string())) continue;
      names.push_back(name.extension() == ".tmp" ? ".tmp" : name.string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  const SourceDir source_;
  std::optional<Mount> mount_;
};

using Names = std::vector<std::string>;

void write_all(const Fd& file, const ByteVector& bytes, off_t offset = 0) {
  BOOST_REQUIRE(file);
  for (std::size_t at = 0; at < bytes.size();) {
    const auto written =
        pwrite(file.get(), bytes.data() + at, std::min<std::size_t>(bytes.size() - at, 100000),
               offset + static_cast<off_t>(at));
    BOOST_REQUIRE(written > 0);
    at += static_cast<std::size_t>(written);
  }
}

ByteVector contents_of(const Fd& file, std::size_t size) {
  ByteVector bytes(size + 1);
  const auto got = pread(file.get(), bytes.data(), bytes.size(), 0);
  bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return bytes;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(staging)

BOOST_AUTO_TEST_CASE(unfinished_file_is_no_file_of_source, *precondition(needs_fuse)) {
  SmallMemory disk;
  const ByteVector contents = make_contents("text", 1, kSize, 1);
  const Fd file = disk.create("a");
  write_all(file, contents);
  BOOST_TEST(disk.commits() == 0u);
  BOOST_TEST(disk.stored() == Names{".tmp"}, boost::test_tools::per_element());
  BOOST_TEST((contents_of(file, kSize) == contents));
  disk.kill_and_mount_again();
  BOOST_TEST(!fs_std::exists(disk / "a"));
  // The new mount removes the temporary in the background.
  BOOST_TEST(comes_true([&] { return disk.stored().empty(); }));
}

BOOST_AUTO_TEST_CASE(sync_makes_a_staged_file_durable, *precondition(needs_fuse)) {
  SmallMemory disk;
  ByteVector contents = make_contents("floats", 2, kSize, 4);
  const Fd file = disk.create("a");
  write_all(file, contents);
  BOOST_TEST(fsync(file.get()) == 0);
  BOOST_TEST(disk.stored() == Names{"a.b2frame"}, boost::test_tools::per_element());
  // Sync once without new data, and once with some.
  BOOST_TEST(fsync(file.get()) == 0);
  const ByteVector more = make_contents("noise", 3, 3000000, 1);
  write_all(file, more, 1000);
  std::copy(more.begin(), more.end(), contents.begin() + 1000);
  BOOST_TEST(fsync(file.get()) == 0);
  disk.kill_and_mount_again();
  BOOST_TEST((read_file(disk / "a") == contents));
}

BOOST_AUTO_TEST_CASE(sync_after_all_was_staged_gives_the_name, *precondition(needs_fuse)) {
  SmallMemory disk;
  const ByteVector contents = make_contents("ramp", 4, 1 << 21, 1);
  const Fd file = disk.create("a");
  write_all(file, contents);
  // This write waits for room, so the daemon stages everything that was written before.
  write_all(file, ByteVector(1 << 20), 0);
  write_all(file, contents);
  BOOST_TEST(fdatasync(file.get()) == 0);
  disk.kill_and_mount_again();
  BOOST_TEST((read_file(disk / "a") == contents));
}

BOOST_AUTO_TEST_CASE(staged_file_is_renamed_over_others, *precondition(needs_fuse)) {
  SmallMemory disk;
  const ByteVector contents = make_contents("text", 6, kSize, 1);
  {
    const Fd old = disk.create("b");
    write_all(old, ByteVector(5, 'x'));
    BOOST_TEST(fsync(old.get()) == 0);
    const Fd file = disk.create("a");
    write_all(file, contents);
    BOOST_TEST(rename((disk / "a").c_str(), (disk / "b").c_str()) == 0);
    write_all(file, contents, kSize);
    BOOST_TEST(contents_of(old, 5).size() == 5u);
  }
  disk.mount_again();
  BOOST_TEST(disk.stored() == Names{"b.b2frame"}, boost::test_tools::per_element());
  ByteVector twice = contents;
  twice.insert(twice.end(), contents.begin(), contents.end());
  BOOST_TEST((read_file(disk / "b") == twice));
}

/// Checks that data written to a removed file stays readable, however much it is.
void check_removed(SmallMemory& disk, const std::string& name, const ByteVector& before) {
  BOOST_TEST_CONTEXT(name) {
    const Fd file(open((disk / name).c_str(), O_RDWR | O_CLOEXEC));
    BOOST_REQUIRE(file);
    BOOST_TEST(unlink((disk / name).c_str()) == 0);
    BOOST_TEST((contents_of(file, before.size()) == before));
    const ByteVector noise = make_contents("noise", 9, kSize, 1);
    ByteVector expected = before;
    expected.resize(before.size() + noise.size());
    std::copy(noise.begin(), noise.end(), expected.end() - kSize);
    write_all(file, noise, static_cast<off_t>(before.size()));
    BOOST_TEST((contents_of(file, expected.size()) == expected));
    BOOST_TEST(ftruncate(file.get(), 0) == 0);
    write_all(file, noise, 3);
    write_all(file, noise, 1000000);
    BOOST_TEST(fsync(file.get()) == 0);
    expected.assign(1000000 + kSize, 0);
    std::copy(noise.begin(), noise.end(), expected.begin() + 3);
    std::copy(noise.begin(), noise.end(), expected.begin() + 1000000);
    BOOST_TEST((contents_of(file, expected.size()) == expected));
  }
}

BOOST_AUTO_TEST_CASE(removed_files_are_staged_as_well, *precondition(needs_fuse)) {
  SmallMemory disk;
  const ByteVector contents = make_contents("text", 10, 300000, 1);
  const std::string header = npy_header("<f4", {75, 1000});
  ByteVector array(header.begin(), header.end());
  array.insert(array.end(), contents.begin(), contents.end());
  write_all(disk.create("flat"), contents);
  write_all(disk.create("array.npy"), array);
  disk.mount_again();
  const auto sparse = run({b2frame_program(), "create", "--sparse", (disk / "flat").string(), "-o",
                           (disk.source() / "sparse.b2frame").string()});
  BOOST_TEST(sparse.ok(), sparse.description());
  // bloscfs would reserve space in the frame for the trailer that it has while it is empty. This
  // frame has no reserve.
  write_file(disk.source() / "foreign.b2frame", flat_frame(contents));
  write_all(disk.create("new"), contents);
  for (const char* name : {"new", "flat", "sparse", "foreign"}) check_removed(disk, name, contents);
  check_removed(disk, "array.npy", array);
  disk.mount_again();
  // If the filesystem cannot remove open files, a hidden file keeps the daemon from removing the
  // frame's directory.
  if (kNeedsRemovalOfOpenFiles.holds()) BOOST_TEST(disk.stored().empty());
}

BOOST_AUTO_TEST_CASE(staged_file_is_cut_and_linked, *precondition(needs_fuse)) {
  SmallMemory disk;
  const ByteVector contents = make_contents("noise", 8, kSize, 1);
  {
    const Fd file = disk.create("a");
    write_all(file, contents);
    BOOST_TEST(ftruncate(file.get(), 0) == 0);
    write_all(file, contents, 100);
    BOOST_TEST(ftruncate(file.get(), 2000000) == 0);
    BOOST_TEST(link((disk / "a").c_str(), (disk / "b").c_str()) == 0);
  }
  ByteVector expected(100);
  expected.insert(expected.end(), contents.begin(), contents.begin() + 1999900);
  BOOST_TEST((read_file(disk / "b") == expected));
  disk.mount_again();
  BOOST_TEST(disk.stored() == (Names{"a.b2frame", "b.b2frame"}), boost::test_tools::per_element());
  BOOST_TEST((read_file(disk / "a") == expected));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
