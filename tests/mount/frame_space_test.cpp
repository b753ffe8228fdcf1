// How much space frames take in SOURCE when they are edited through mounts from time to time.

#include <chrono>
#include <string>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/source_dir.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr std::size_t kFileSize = std::size_t{4} << 20;
constexpr std::size_t kChunkSize = std::size_t{256} << 10;
/// Limit for contents that do not compress: the contents, a quarter more, two chunks and a page.
constexpr std::size_t kMostStored = kFileSize + kFileSize / 4 + 2 * kChunkSize + 4096;

MountSettings chunk_settings() {
  MountSettings settings;
  settings.options = {"chunk_size=262144"};
  return settings;
}

/// Opens the file, changes some bytes, syncs and closes it.
void edit(const fs_std::path& path, off_t offset, const std::string& text) {
  const Fd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  BOOST_REQUIRE(file.get() >= 0);
  BOOST_TEST(pwrite(file.get(), text.data(), text.size(), offset) == std::ssize(text));
  BOOST_TEST(fsync(file.get()) == 0);
}

void sync_file(const fs_std::path& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  BOOST_TEST(fsync(file.get()) == 0);
}

void change(ByteVector& bytes, std::size_t offset, const std::string& text) {
  std::copy(text.begin(), text.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(frame_space)

BOOST_AUTO_TEST_CASE(is_used_again_by_every_edit_of_one_mount, *precondition(needs_fuse)) {
  const SourceDir source;
  ByteVector bytes = make_contents("noise", 1, kFileSize, 1);
  const Mount mount(source.path(), chunk_settings());
  write_file(mount / "a", bytes);
  sync_file(mount / "a");
  for (std::size_t i = 0; i < 40; i++) {
    const std::size_t at = i * 104729 % (kFileSize - 16);
    change(bytes, at, "edit");
    edit(mount / "a", static_cast<off_t>(at), "edit");
    BOOST_TEST(fs_std::file_size(source / "a.b2frame") <= kMostStored, "edit " << i);
  }
  BOOST_CHECK(read_file(mount / "a") == bytes);
}

BOOST_AUTO_TEST_CASE(is_used_again_by_mounts_that_follow_each_other, *precondition(needs_fuse)) {
  const SourceDir source;
  ByteVector bytes = make_contents("noise", 1, kFileSize, 1);
  for (std::size_t i = 0; i < 14; i++) {
    Mount mount(source.path(), chunk_settings());
    if (i == 0) write_file(mount / "a", bytes);
    const std::size_t at = i * 1047290 % (kFileSize - 16);
    change(bytes, at, "edit");
    edit(mount / "a", static_cast<off_t>(at), "edit");
    BOOST_TEST(mount.unmount().ok());
    BOOST_TEST(fs_std::file_size(source / "a.b2frame") <= kMostStored, "mount " << i);
  }
  const Mount mount(source.path());
  BOOST_CHECK(read_file(mount / "a") == bytes);
}

BOOST_AUTO_TEST_CASE(of_a_file_that_shrinks_is_given_back, *precondition(needs_fuse)) {
  const SourceDir source;
  const Mount mount(source.path(), chunk_settings());
  for (const std::string contents : {"new", ""}) {
    write_file(mount / "a", make_contents("noise", 1, kFileSize, 1));
    sync_file(mount / "a");
    write_file(mount / "a", contents);
    sync_file(mount / "a");
    BOOST_TEST(fs_std::file_size(source / "a.b2frame") < 4096u);
    BOOST_TEST(read_file(mount / "a").size() == contents.size());
  }
}

// The file's time is the one that was set last, even if the daemon changes the frame afterwards.
BOOST_AUTO_TEST_CASE(is_given_back_without_a_change_of_times, *precondition(needs_fuse)) {
  const SourceDir source;
  const Mount mount(source.path(), chunk_settings());
  write_file(mount / "a", make_contents("noise", 1, kFileSize, 1));
  sync_file(mount / "a");
  {
    const Fd file(open((mount / "a").c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    BOOST_TEST(write(file.get(), "new", 3) == 3);
    const timespec times[2] = {{1000, 1}, {2000, 2}};
    BOOST_TEST(futimens(file.get(), times) == 0);
    BOOST_TEST(fsync(file.get()) == 0);
  }
  BOOST_TEST(fs_std::file_size(source / "a.b2frame") < 4096u);
  for (const auto& path : {mount / "a", source / "a.b2frame"}) {
    struct stat st {};
    BOOST_REQUIRE(stat(path.c_str(), &st) == 0);
    BOOST_TEST(st.st_mtim.tv_sec == 2000);
  }
}

// The daemon keeps superseded space for 10 seconds after each commit.
BOOST_AUTO_TEST_CASE(is_not_taken_at_once_from_programs_that_have_the_frame_open,
                     *precondition(needs_fuse)) {
  constexpr std::ptrdiff_t kHeader = 97;  // the header changes in place
  const SourceDir source;
  const Mount mount(source.path(), chunk_settings());
  write_file(mount / "a", make_contents("noise", 1, kFileSize, 1));
  sync_file(mount / "a");
  const Fd reader(open((source / "a.b2frame").c_str(), O_RDONLY | O_CLOEXEC));
  const ByteVector old = read_file(source / "a.b2frame");
  write_file(mount / "a", std::string("new"));
  for (int i = 0; i < 5; i++) {
    edit(mount / "a", 3 + i, "x");
    const ByteVector now = read_file(source / "a.b2frame");
    BOOST_REQUIRE(now.size() >= old.size());
    BOOST_CHECK(std::equal(old.begin() + kHeader, old.end(), now.begin() + kHeader));
  }
}

// Between two edits the daemon forgets the closed file, but not how long its superseded space has
// waited.
BOOST_AUTO_TEST_CASE(is_used_again_beside_a_program_that_keeps_the_frame_open,
                     *precondition(needs_fuse)) {
  const SourceDir source;
  DaemonTime time;
  MountSettings settings = chunk_settings();
  settings.options.push_back("commit=1");
  const Mount mount(source.path(), time.of(settings));
  ByteVector bytes = make_contents("noise", 1, kFileSize, 1);
  write_file(mount / "a", bytes);
  sync_file(mount / "a");
  const Fd reader(open((source / "a.b2frame").c_str(), O_RDONLY | O_CLOEXEC));
  for (std::size_t i = 0; i < 26; i++) {
    const std::size_t at = i * 1047290 % (kFileSize - 16);
    change(bytes, at, "edit");
    {
      const Fd file(open((mount / "a").c_str(), O_WRONLY | O_CLOEXEC));
      BOOST_TEST(pwrite(file.get(), "edit", 4, static_cast<off_t>(at)) == 4);
    }
    time.move(std::chrono::seconds(1));
    // The daemon may learn of the close only after that.
    BOOST_TEST(comes_true([&] {
      time.move(std::chrono::milliseconds(500));
      return mount.counter("dirty_bytes") == 0;
    }));
    // Space that was superseded less than 10 seconds ago stays for the reader.
    BOOST_TEST_REQUIRE(fs_std::file_size(source / "a.b2frame") <=
                       kMostStored + 11 * (kChunkSize + 4096));
  }
  BOOST_CHECK(read_file(mount / "a") == bytes);
}

// The upper bound for the size of such an index fits only at the end of the frame.
BOOST_AUTO_TEST_CASE(is_used_for_an_index_that_compresses_well, *precondition(needs_fuse)) {
  constexpr off_t kSize = off_t{1} << 40;  // 8 Mi chunks
  const SourceDir source;
  const fs_std::path frame = source / "a.b2frame";
  std::uintmax_t stored = 0;
  {
    Mount mount(source.path());
    const Fd file(open((mount / "a").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    BOOST_TEST(ftruncate(file.get(), kSize) == 0);
    BOOST_TEST(pwrite(file.get(), "x", 1, kSize - 1) == 1);
    BOOST_TEST(fsync(file.get()) == 0);
    stored = fs_std::file_size(frame);
    for (int i = 0; i < 3; i++) {
      BOOST_TEST(pwrite(file.get(), "y", 1, kSize - 2) == 1);
      BOOST_TEST(fsync(file.get()) == 0);
    }
    BOOST_TEST(fs_std::file_size(frame) <= stored + stored / 4);
  }
  BOOST_TEST(fs_std::file_size(frame) <= stored + stored / 4);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
