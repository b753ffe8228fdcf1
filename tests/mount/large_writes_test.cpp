// Large writes of random sizes at random places, between requests of other kinds. The daemon keeps
// the memory into which it reads the bytes of a large write, instead of copying them.

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <unistd.h>

#include "fs/support/pooled_buffer.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/draw.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/proc.hpp"
#include "tests/support/sanitizers.hpp"
#include "tests/support/source_dir.hpp"
#include "tests/support/xattr.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr std::int64_t kCell = 128 << 10;
constexpr std::int64_t kMostBytes = std::int64_t{6} << 20;

/// A file in the mount, and the contents that it must have.
class Written {
 public:
  Written(fs_std::path path, std::uint64_t seed)
      : path_(std::move(path)),
        random_(seed),
        file_(open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)),
        appending_(open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC)) {
    BOOST_REQUIRE(file_);
    BOOST_REQUIRE(appending_);
  }

  void change() {
    switch (between(random_, 0, 9)) {
      case 0:
        return append();
      case 1:
        // A request of the size of a small write.
        attribute_ = std::string(static_cast<std::size_t>(between(random_, 1, 3000)), 'a');
        BOOST_TEST(errno_of_set_xattr(path_, "user.large", attribute_) == 0);
        return;
      case 2:
        BOOST_TEST(get_xattr(path_, "user.large").value_or("") == attribute_);
        return;
      case 3:
        bytes_.resize(static_cast<std::size_t>(between(random_, 0, kMostBytes)));
        BOOST_TEST(ftruncate(file_.get(), std::ssize(bytes_)) == 0);
        return;
      default:
        write();
    }
  }

  void check() const {
    BOOST_TEST(fs_std::file_size(path_) == bytes_.size());
    BOOST_CHECK(read_file(path_) == bytes_);
  }
  const ByteVector& bytes() const { return bytes_; }

 private:
  ByteVector piece() {
    const std::int64_t cells = between(random_, 0, 9);
    const std::int64_t size = one_in(random_, 2) ? std::max<std::int64_t>(1, cells) * kCell
                                                 : between(random_, 1, 10 * kCell);
    return make_contents("noise", 1, static_cast<std::size_t>(size), random_());
  }

  void write() {
    const ByteVector bytes = piece();
    std::int64_t at = between(random_, 0, kMostBytes - std::ssize(bytes));
    if (one_in(random_, 2)) at -= at % kCell;
    const auto end = static_cast<std::size_t>(at) + bytes.size();
    if (end > bytes_.size()) bytes_.resize(end);
    std::copy(bytes.begin(), bytes.end(), bytes_.begin() + at);
    BOOST_TEST(pwrite(file_.get(), bytes.data(), bytes.size(), at) == std::ssize(bytes));
  }

  void append() {
    const ByteVector bytes = piece();
    if (std::ssize(bytes_) + std::ssize(bytes) > 2 * kMostBytes) return;
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    BOOST_TEST(::write(appending_.get(), bytes.data(), bytes.size()) == std::ssize(bytes));
  }

  const fs_std::path path_;
  Random random_;
  Fd file_, appending_;
  ByteVector bytes_;
  std::string attribute_;
};

/// Changes a frame and a plain file many times, and checks them in the same mount and in a new one.
void check_changes(const MountSettings& settings) {
  const SourceDir source;
  // A plain file stays plain: writes to it go straight to SOURCE.
  write_file(source / "plain", ByteVector(1, 0));
  fs_std::permissions(source / "plain", fs_std::perms(0644));
  ByteVector frame, plain;
  {
    const Mount mount(source.path(), settings);
    Written in_frame(mount / "new", 1), in_plain(mount / "plain", 2);
    for (int step = 0; step < 150; step++) {
      in_frame.change();
      in_plain.change();
      if (step % 30 != 29) continue;
      BOOST_TEST_CONTEXT("step " << step) {
        in_frame.check();
        in_plain.check();
      }
    }
    frame = in_frame.bytes();
    plain = in_plain.bytes();
  }
  const Mount mount(source.path());
  BOOST_CHECK(read_file(mount / "new") == frame);
  BOOST_CHECK(read_file(mount / "plain") == plain);
  BOOST_TEST(fs_std::is_regular_file(source / "plain"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(large_writes)

BOOST_AUTO_TEST_CASE(leave_what_was_written_last,
                     *precondition(needs_fuse) * precondition(kNeedsAttributes)) {
  check_changes({});
}

BOOST_AUTO_TEST_CASE(leave_that_also_by_libfuse_s_own_ways,
                     *precondition(needs_fuse) * precondition(kNeedsAttributes)) {
  MountSettings settings;
  settings.options = {"libfuse_io"};
  check_changes(settings);
}

BOOST_AUTO_TEST_CASE(do_not_mix_with_those_of_others, *precondition(needs_fuse)) {
  const SourceDir source;
  const Mount mount(source.path());
  std::array<std::jthread, 4> writers;
  for (std::size_t i = 0; i < writers.size(); i++)
    writers[i] = std::jthread([&, i] {
      const ByteVector bytes(std::size_t{16} << 20, static_cast<std::uint8_t>(i + 1));
      write_file(mount / std::to_string(i), bytes);
    });
  for (std::jthread& writer : writers) writer.join();
  for (std::size_t i = 0; i < writers.size(); i++) {
    const ByteVector bytes = read_file(mount / std::to_string(i));
    BOOST_TEST(std::ssize(bytes) == 16 << 20);
    BOOST_CHECK(
        std::all_of(bytes.begin(), bytes.end(), [&](std::uint8_t byte) { return byte == i + 1; }));
  }
}

/// Memory that the daemon may use in addition to cache_size.
constexpr std::uint64_t kOutsideCache = std::uint64_t{48} << 20;

BOOST_AUTO_TEST_CASE(hold_as_little_where_they_are_small_and_all_over, *precondition(needs_fuse)) {
  constexpr std::uint64_t kLimit = 1 << 20, kCache = 8 << 20;
  constexpr std::size_t kPage = 4096, kPages = 8192;
  const SourceDir source;
  ByteVector contents = make_contents("noise", 1, kPages * kPage, 1);
  MountSettings settings;
  settings.options = {"dirty_limit=1M", "cache_size=8M"};
  {
    Mount mount(source.path(), settings);
    write_file(mount / "a", contents);
    const Fd fd(open((mount / "a").c_str(), O_RDWR | O_CLOEXEC));
    BOOST_REQUIRE(fd && fsync(fd.get()) == 0);
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < kPages; i++) {
      const std::size_t at = i * 2731 % kPages * kPage;
      std::fill_n(contents.begin() + static_cast<std::ptrdiff_t>(at), kPage,
                  static_cast<std::uint8_t>(i));
      BOOST_REQUIRE(pwrite(fd.get(), &contents[at], kPage, static_cast<off_t>(at)) == kPage);
      if (i % 16 == 0) most = std::max(most, mount.counter("dirty_bytes"));
    }
    BOOST_TEST(most > kLimit / 2);
    // The last page before the limit may take the memory of a whole cell.
    BOOST_TEST(most < kLimit + fs::kCellSize);
    if (!kSanitized) BOOST_TEST(process_memory(mount.pid(), "VmHWM") <= kCache + kOutsideCache);
    BOOST_CHECK(read_file(mount / "a") == contents);
  }
  const Mount mount(source.path());
  BOOST_CHECK(read_file(mount / "a") == contents);
}

BOOST_AUTO_TEST_CASE(count_until_their_commit_has_ended, *precondition(needs_fuse)) {
  constexpr std::size_t kPage = 4096, kPages = 4096;
  const SourceDir source;
  const ByteVector contents = make_contents("floats", 1, kPages * kPage, 4);
  MountSettings settings;
  settings.options = {"dirty_limit=256M", "codec=zstd", "clevel=9"};
  const Mount mount(source.path(), settings);
  // The file stays open, since a close would request a commit of its own.
  const Fd fd(open((mount / "a").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  BOOST_REQUIRE(fd);
  // Creating the file requests a commit. Do it now, so that it does not come between the writes.
  BOOST_REQUIRE(ftruncate(fd.get(), std::ssize(contents)) == 0);
  BOOST_REQUIRE(fsync(fd.get()) == 0);
  for (std::size_t at = 0; at < contents.size(); at += 2 * kPage)
    BOOST_REQUIRE(pwrite(fd.get(), &contents[at], kPage, static_cast<off_t>(at)) == kPage);
  const std::uint64_t written = mount.counter("dirty_bytes");
  BOOST_TEST(written >= kPages / 2 * kPage);
  std::atomic<int> synced = 1;  // result of fsync once it has returned
  std::jthread syncing([&] { synced = fsync(fd.get()); });
  int seen = 0;
  while (synced == 1) {
    // All written bytes stay in memory until the commit has stored the last chunk.
    const std::uint64_t dirty = mount.counter("dirty_bytes");
    if (dirty != 0) BOOST_TEST(dirty == written);
    seen++;
  }
  syncing.join();
  BOOST_TEST(synced == 0);
  BOOST_TEST(seen > 2);
  BOOST_TEST(mount.counter("dirty_bytes") == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
