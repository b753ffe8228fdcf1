// Files that become arrays, and flat frames again, while other programs look at them.

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/manifest.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/source_dir.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

/// Enough entries that the daemon makes a listing in several batches, and releases its lock between
/// them.
constexpr int kNeighbours = 700;
constexpr int kChanges = 25;

MountSettings strict() {
  MountSettings settings;
  settings.options = {"sync=strict"};
  return settings;
}

ByteVector array_file() {
  const std::string header = npy_header("<i4", {100, 10});
  ByteVector bytes(header.begin(), header.end());
  const ByteVector elements = make_contents("ramp", 1, 4000, 4);
  bytes.insert(bytes.end(), elements.begin(), elements.end());
  return bytes;
}

bool appears(const fs_std::path& path) {
  return comes_true([&] { return fs_std::exists(path); });
}

std::ptrdiff_t times_listed(const fs_std::path& directory, const std::string& name) {
  return std::count_if(fs_std::directory_iterator(directory), fs_std::directory_iterator(),
                       [&](const auto& entry) { return entry.path().filename() == name; });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(representation)

/// An fsync through a read-only descriptor makes the array too, even if the kernel has not yet
/// reported the close of the writer.
BOOST_AUTO_TEST_CASE(fsync_of_what_numpy_has_saved_makes_the_array, *precondition(needs_numpy)) {
  const SourceDir source;
  Mount mount(source.path());
  const std::string script = R"(
import numpy, os, sys
mount, source = sys.argv[1:]
for count in 1000, 300000:
    array = numpy.arange(count) / 7
    with open(mount + "/open.npy", "wb") as file:
        numpy.save(file, array)
        file.flush()
        os.fsync(file.fileno())
        assert os.path.exists(source + "/open.b2nd"), os.listdir(source)
    numpy.save(mount + "/closed.npy", array)
    closed = os.open(mount + "/closed.npy", os.O_RDONLY)
    os.fsync(closed)
    os.close(closed)
    assert os.path.exists(source + "/closed.b2nd"), os.listdir(source)
    for name in "open", "closed":
        assert not os.path.exists(f"{source}/{name}.npy.b2frame")
        assert (numpy.load(f"{mount}/{name}.npy") == array).all()
)";
  const auto saved =
      run({numpy_python(), "-c", script, mount.path().string(), source.path().string()});
  BOOST_TEST(saved.ok(), saved.description());
}

/// The suffix .b2frame is one of flat frames, so the new name may be a flat frame's.
BOOST_AUTO_TEST_CASE(an_array_with_the_suffix_of_flat_frames_becomes_one_by_its_name,
                     *precondition(needs_fuse)) {
  const SourceDir source;
  write_file(source / "x.npy.b2frame", flat_frame(ByteVector(60, 3), array_cut({3, 5}, "<i4", 4)));
  {
    Mount mount(source.path());
    const ByteVector bytes = read_file(mount / "x.npy");
    BOOST_TEST(rename((mount / "x.npy").c_str(), (mount / "b").c_str()) == 0);
    {
      const Fd file(open((mount / "b").c_str(), O_RDWR | O_CLOEXEC));
      BOOST_TEST(pwrite(file.get(), bytes.data(), 1, 0) == 1);
      BOOST_TEST(times_listed(mount.path(), "b") == 1);
      BOOST_TEST(fsync(file.get()) == 0);
    }
    BOOST_CHECK(read_file(mount / "b") == bytes);
    BOOST_TEST(mount.unmount().ok(), mount.log());
  }
  const Mount again(source.path());
  BOOST_TEST(times_listed(again.path(), "b") == 1);
}

BOOST_AUTO_TEST_CASE(a_known_file_that_another_program_made_sparse_is_written_to,
                     *precondition(needs_fuse)) {
  const SourceDir source;
  write_file(source / "a.b2frame", flat_frame(std::string("one file")));
  {
    Mount mount(source.path());
    {
      const Fd known(open((mount / "a").c_str(), O_PATH | O_CLOEXEC));
      fs_std::remove(source / "a.b2frame");
      write_sparse_frame(source / "a.b2frame", bytes_of("a directory"));
      const std::string path = "/proc/self/fd/" + std::to_string(known.get());
      const Fd file(open(path.c_str(), O_RDWR | O_CLOEXEC));
      BOOST_REQUIRE(file);
      BOOST_TEST(pwrite(file.get(), "A", 1, 0) == 1);
      BOOST_TEST(fchmod(file.get(), 0600) == 0);
      BOOST_TEST(fsync(file.get()) == 0);
      BOOST_TEST(fs_std::file_size(mount / "a") == 11u);
    }
    BOOST_TEST(mount.unmount().ok(), mount.log());
  }
  const auto index = fs_std::status(source / "a.b2frame" / "chunks.b2frame");
  BOOST_CHECK(index.permissions() == fs_std::perms(0600));
  const Mount again(source.path());
  BOOST_CHECK(read_file(again / "a") == bytes_of("A directory"));
}

BOOST_AUTO_TEST_CASE(each_listing_shows_a_changing_file_once, *precondition(needs_fuse)) {
  const SourceDir source;
  for (int i = 0; i < kNeighbours; i++)
    fs_std::create_symlink("nowhere", source / ("n" + std::to_string(i)));
  Mount mount(source.path(), strict());
  write_file(mount / "x.npy", "no array");
  std::atomic<bool> ended = false, in_time = true;
  std::jthread changer([&] {
    for (int i = 0; i < kChanges && in_time; i++) {
      write_file(mount / "x.npy", array_file());
      in_time = in_time && appears(source / "x.b2nd");
      write_file(mount / "x.npy", "no array");
      in_time = in_time && appears(source / "x.npy.b2frame");
    }
    ended = true;
  });
  std::size_t listings = 0, wrong = 0;
  for (; !ended; listings++) wrong += times_listed(mount.path(), "x.npy") != 1;
  changer.join();
  BOOST_TEST(in_time.load());
  BOOST_TEST(wrong == 0u);
  // Each listing asks for all neighbours, which some filesystems answer slowly.
  BOOST_TEST(listings > (source_kind().empty() ? 2u : 0u));
}

BOOST_AUTO_TEST_CASE(strict_sync_makes_an_array_at_the_last_close, *precondition(needs_fuse)) {
  const SourceDir source;
  Mount mount(source.path(), strict());
  {
    const ByteVector bytes = array_file();
    const auto middle = bytes.begin() + 1000;
    const Fd other(open((mount / "x.npy").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    write_file(mount / "x.npy", ByteVector(bytes.begin(), middle));
    const ByteVector rest(middle, bytes.end());
    BOOST_TEST(pwrite(other.get(), rest.data(), rest.size(), 1000) == std::ssize(rest));
    BOOST_TEST(fsync(other.get()) == 0);
    BOOST_TEST(fs_std::exists(source / "x.npy.b2frame"));
  }
  // Now, and not after the five seconds of a group commit.
  BOOST_TEST(appears(source / "x.b2nd"));
}

/// Several threads open a file at once that was not open before. They all share one open file.
BOOST_AUTO_TEST_CASE(first_opens_at_once_share_what_is_written, *precondition(needs_fuse)) {
  constexpr int kRounds = 40, kOpeners = 4;
  const SourceDir source;
  {
    Mount mount(source.path());
    for (int i = 0; i < kRounds; i++) write_file(mount / std::to_string(i), "0000");
    mount.unmount();
  }
  Mount mount(source.path());
  for (int i = 0; i < kRounds; i++) {
    const auto path = mount / std::to_string(i);
    std::atomic<int> waiting = kOpeners;
    std::vector<std::jthread> openers;
    std::vector<Fd> files(kOpeners);
    for (int k = 0; k < kOpeners; k++)
      openers.emplace_back([&, k] {
        for (waiting--; waiting > 0;) std::this_thread::yield();
        Fd fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
        const char digit = static_cast<char>('1' + k);
        if (pwrite(fd.get(), &digit, 1, k) == 1) files[static_cast<std::size_t>(k)] = std::move(fd);
      });
    for (std::jthread& opener : openers) opener.join();
    for (const Fd& file : files) {
      std::string seen(4, ' ');
      BOOST_TEST(pread(file.get(), seen.data(), seen.size(), 0) == 4);
      BOOST_TEST(seen == "1234");
    }
  }
}

/// The kernel has one set of pages for all descriptors of a file, and may report a close after
/// close(2) has returned. So a plain file becomes a frame only when no program reads it any more.
BOOST_AUTO_TEST_CASE(a_file_that_somebody_reads_becomes_a_frame_when_he_closes_it,
                     *precondition(needs_fuse)) {
  const SourceDir source;
  for (int i = 0; i < 20; i++) write_file(source / std::to_string(i), "plain");
  Mount mount(source.path(), strict());
  const ByteVector frame = flat_frame(make_contents("noise", 1, 3000, 1));
  const ByteVector later = flat_frame(make_contents("noise", 2, 10000, 1));
  for (int i = 0; i < 20; i++) {
    const auto name = std::to_string(i);
    const auto path = mount / name;
    Fd early(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (i % 2 == 0) early = Fd();
    write_file(path, frame);
    Fd reader(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    BOOST_CHECK(read_file(path) == frame);
    write_file(path, later);
    BOOST_CHECK(read_file(path) == later);
    ByteVector seen(later.size());
    BOOST_TEST(pread(reader.get(), seen.data(), seen.size(), 0) ==
               static_cast<ssize_t>(seen.size()));
    BOOST_CHECK(seen == later);
    if (i % 2 != 0) BOOST_CHECK(read_file(source / name) == later);
    early = Fd();
    reader = Fd();
    BOOST_TEST(comes_true([&] { return read_file(source / name) != later; }));
    BOOST_CHECK(read_file(path) == later);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
