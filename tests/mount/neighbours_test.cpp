// Long requests of one user do not delay other users. They neither hold the lock on names nor
// occupy more than a few of the threads that serve requests.

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/fuse/remount.hpp"
#include "tests/mount/foreign_changes.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/sanitizers.hpp"
#include "tests/support/source_dir.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

/// How other users are affected by long work. On a busy machine or disk, the scheduler may stop the
/// thread that holds the lock, or the waiting one, but not in every try.
struct Disturbance {
  int rounds = 0;                   ///< that the neighbours completed during the work
  std::uint64_t names_held_us = 0;  ///< the longest time

  /// Neighbours that must wait until the work ends complete only one or two rounds. Work that does
  /// not wait may end even before that, so a short hold of the lock counts too.
  bool is_small() const { return rounds > 5 || names_held_us < 1'000'000; }
};
constexpr int kTries = 4;

/// Returns a Bloscpack file of version 1 with only empty chunks, whose number it does not give.
ByteVector file_of_empty_chunks(std::size_t size) {
  ByteVector bytes(size);
  std::memcpy(bytes.data(), "blpk\1", 5);
  std::fill(bytes.begin() + 8, bytes.begin() + 16, std::uint8_t{0xff});
  for (std::size_t at = 16; at + 16 <= size; at += 16) {
    bytes[at] = 2;
    bytes[at + 12] = 16;
  }
  return bytes;
}

/// Makes, examines, renames and removes directories while `work` runs on another thread.
Disturbance with_neighbours(Mount& mount, const std::function<void()>& work) {
  std::atomic<bool> is_done = false;
  std::jthread worker([&] {
    work();
    is_done = true;
  });
  Disturbance seen;
  std::string failures;
  while (!is_done) {
    struct stat st {};
    if (::mkdir((mount / "b/x").c_str(), 0755) != 0) failures += " mkdir";
    if (::rename((mount / "b/x").c_str(), (mount / "b/y").c_str()) != 0) failures += " rename";
    if (::stat((mount / "b/y").c_str(), &st) != 0) failures += " stat";
    if (::rmdir((mount / "b/y").c_str()) != 0) failures += " rmdir";
    seen.rounds++;
  }
  worker.join();
  BOOST_TEST(failures == "");
  seen.names_held_us = mount.counter("names_held_us");
  return seen;
}

struct Neighbourhood {
  Neighbourhood() {
    for (const char* name : {"a", "b"}) fs_std::create_directory(source / name);
  }
  SourceDir source;
};

void disturb_nobody(const std::function<Disturbance(const Neighbourhood&)>& scenario) {
  Disturbance last;
  for (int i = 0; i < kTries; i++) {
    const Neighbourhood place;
    last = scenario(place);
    if (last.is_small()) return;
  }
  BOOST_ERROR("names were held for " << last.names_held_us << " us, others came through "
                                     << last.rounds << " rounds");
}

/// Returns bytes that zstd compresses slowly at level 9: words of random bytes in random order.
ByteVector slow_contents(std::uint64_t seed, std::size_t size) {
  std::mt19937_64 random(seed);
  const ByteVector noise = make_contents("noise", seed, 24000, 1);
  ByteVector bytes;
  bytes.reserve(size + 8);
  while (bytes.size() < size) {
    const auto word = noise.begin() + static_cast<std::ptrdiff_t>(random() % 3000 * 8);
    bytes.insert(bytes.end(), word, word + static_cast<std::ptrdiff_t>(3 + random() % 6));
  }
  bytes.resize(size);
  return bytes;
}

/// Returns an NPY file of format version 1.
ByteVector npy_of(const ByteVector& items) {
  std::string header =
      fmt::format("{{'descr': '|u1', 'fortran_order': False, 'shape': ({},), }}", items.size());
  header.append(118 - 1 - header.size(), ' ');
  ByteVector npy{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 118, 0};
  npy.insert(npy.end(), header.begin(), header.end());
  npy.push_back('\n');
  npy.insert(npy.end(), items.begin(), items.end());
  return npy;
}

/// More requests than a mount with `threads=2` has threads to serve them.
constexpr int kRequests = 8;

MountSettings few_threads() {
  MountSettings settings;
  settings.options = {"threads=2", "codec=zstd", "clevel=9", "dirty_limit=1G", "cache_size=2G"};
  return settings;
}

/// Sends kRequests requests at once from threads of their own, all of which must succeed. At the
/// same time another thread looks up unrelated names, and must not wait for most of the requests.
void look_during(
    const Mount& mount, const std::function<bool(int)>& request,
    const std::function<void()>& then = [] {}) {
  std::atomic<bool> is_done = false;
  int looks = 0;
  std::jthread looking([&] {
    for (; !is_done; looks++) {
      struct stat st {};
      ::stat((mount / fmt::format("quiet/{}", looks)).c_str(), &st);
      fs_std::directory_iterator(mount / "quiet");
    }
  });
  std::atomic<int> succeeded = 0;
  std::vector<std::jthread> senders;
  for (int i = 0; i < kRequests; i++)
    senders.emplace_back([&, i] { succeeded += request(i) ? 1 : 0; });
  senders.clear();
  then();
  is_done = true;
  looking.join();
  BOOST_TEST(succeeded == kRequests);
  // A thread that waits for most of the requests completes only one or two looks.
  BOOST_TEST(looks > 5);
}

std::size_t count_entries(const fs_std::path& directory) {
  return static_cast<std::size_t>(std::distance(fs_std::directory_iterator(directory), {}));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(neighbours, *precondition(kNeedsSpeed))

BOOST_AUTO_TEST_CASE(do_not_wait_for_a_listing_of_dear_files, *precondition(needs_fuse)) {
  disturb_nobody([](const Neighbourhood& place) {
    constexpr std::size_t kFiles = 200;
    const ByteVector dear = file_of_empty_chunks(1 << 20);
    for (std::size_t i = 0; i < kFiles; i++)
      write_file(place.source / "a" / (std::to_string(i) + ".blp"), dear);
    Mount mount(place.source.path());
    const Disturbance seen =
        with_neighbours(mount, [&] { BOOST_TEST(count_entries(mount / "a") == kFiles); });
    return seen;
  });
}

BOOST_AUTO_TEST_CASE(do_not_wait_for_removals_and_renames_among_dear_files,
                     *precondition(needs_fuse)) {
  disturb_nobody([](const Neighbourhood& place) {
    const ByteVector dear = file_of_empty_chunks(512 << 10);
    for (int i = 0; i < 20; i++)
      write_file(place.source / "a" / (std::to_string(i) + ".blp"), dear);
    Mount mount(place.source.path());
    const Disturbance seen = with_neighbours(mount, [&] {
      for (int i = 0; i < 20; i += 2) {
        const fs_std::path name = mount / "a" / std::to_string(i);
        BOOST_TEST(::rename(name.c_str(), (mount / "a" / std::to_string(i + 1)).c_str()) == 0);
      }
      fs_std::remove_all(mount / "a");
    });
    return seen;
  });
}

BOOST_AUTO_TEST_CASE(do_not_wait_for_a_lease, *precondition(needs_fuse)) {
  disturb_nobody([](const Neighbourhood& place) {
    const fs_std::path leased = place.source / "a/f.b2frame";
    write_file(leased, flat_frame(std::string(5000, 'a')));
    const Fd lease(::open(leased.c_str(), O_RDWR | O_CLOEXEC));
    Mount mount(place.source.path());
    BOOST_REQUIRE(::fcntl(lease.get(), F_SETSIG, 0) == 0);
    BOOST_REQUIRE(::signal(SIGIO, SIG_IGN) != SIG_ERR);
    BOOST_REQUIRE(::fcntl(lease.get(), F_SETLEASE, F_WRLCK) == 0);
    const Disturbance seen = with_neighbours(mount, [&] {
      count_entries(mount / "a");
      const Fd file(::open((mount / "a/f").c_str(), O_RDONLY | O_CLOEXEC));
    });
    ::fcntl(lease.get(), F_SETLEASE, F_UNLCK);
    return seen;
  });
}

BOOST_AUTO_TEST_CASE(do_not_wait_for_a_lock_of_another_program, *precondition(needs_fuse)) {
  disturb_nobody([](const Neighbourhood& place) {
    write_file(place.source / "a/f.b2frame", flat_frame(std::string(5000, 'a')));
    write_file(place.source / "a/f.b2frame.b2lock", ByteVector());
    const Fd lock(::open((place.source / "a/f.b2frame.b2lock").c_str(), O_RDWR | O_CLOEXEC));
    BOOST_REQUIRE(::flock(lock.get(), LOCK_EX) == 0);
    Mount mount(place.source.path());
    std::jthread owner([&] {
      BOOST_TEST(comes_true([&] { return mount.requests_waiting() > 0; }));
      // This takes a few times as long as a round of the neighbours.
      for (int i = 0; i < 20; i++) mount.stats();
      ::flock(lock.get(), LOCK_UN);
    });
    const Disturbance seen = with_neighbours(mount, [&] {
      Fd file(::open((mount / "a/f").c_str(), O_RDWR | O_CLOEXEC));
      BOOST_TEST(::pwrite(file.get(), "b", 1, 10) == 1);
      BOOST_TEST(::fsync(file.get()) == 0);
    });
    owner.join();
    return seen;
  });
}

BOOST_AUTO_TEST_CASE(do_not_wait_for_a_plain_file_that_becomes_a_frame, *precondition(needs_fuse)) {
  disturb_nobody([](const Neighbourhood& place) {
    write_file(place.source / "a/plain", std::string("text"));
    MountSettings settings;
    settings.options = {"codec=zstd", "clevel=9"};
    Mount mount(place.source.path(), settings);
    const ByteVector frame = flat_frame(make_contents("noise", 1, std::size_t{48} << 20, 1));
    const Disturbance seen = with_neighbours(mount, [&] {
      write_file(mount / "a/plain", frame);
      // close(2) does not wait for the conversion.
      const auto is_frame_of_a_frame = [&] {
        return fs_std::file_size(place.source / "a/plain") != frame.size();
      };
      BOOST_TEST(comes_true(is_frame_of_a_frame));
    });
    BOOST_CHECK(read_file(mount / "a/plain") == frame);
    return seen;
  });
}

BOOST_AUTO_TEST_CASE(do_not_wait_for_a_rename_that_makes_an_array_a_flat_file,
                     *precondition(needs_fuse)) {
  disturb_nobody([](const Neighbourhood& place) {
    Mount mount(place.source.path());
    const ByteVector npy = npy_of(make_contents("noise", 2, std::size_t{64} << 20, 1));
    const Disturbance seen = with_neighbours(mount, [&] {
      write_file(mount / "a/t.npy", npy);
      const Fd file(::open((mount / "a/t.npy").c_str(), O_RDONLY | O_CLOEXEC));
      BOOST_TEST(::fsync(file.get()) == 0);
      BOOST_TEST(fs_std::exists(place.source / "a/t.b2nd"));
      BOOST_TEST(::rename((mount / "a/t.npy").c_str(), (mount / "a/t.bin").c_str()) == 0);
      BOOST_TEST(::rename((mount / "a/t.bin").c_str(), (mount / "a/t.npy").c_str()) == 0);
    });
    BOOST_CHECK(read_file(mount / "a/t.npy") == npy);
    return seen;
  });
}

BOOST_AUTO_TEST_CASE(do_not_wait_for_a_sparse_frame_that_is_removed, *precondition(needs_fuse)) {
  disturb_nobody([](const Neighbourhood& place) {
    // The chunk files do not belong to the frame, but have names of chunk files.
    const fs_std::path frame = place.source / "a/s.b2frame";
    write_sparse_frame(frame, make_contents("text", 1, 5000, 1));
    for (int i = 0; i < 20000; i++)
      write_file(frame / fmt::format("{:08X}.chunk", 0x1000 + i), ByteVector(16));
    Mount mount(place.source.path());
    const Disturbance seen = with_neighbours(mount, [&] {
      BOOST_TEST(::chmod((mount / "a/s").c_str(), 0600) == 0);
      BOOST_TEST(::unlink((mount / "a/s").c_str()) == 0);
      BOOST_TEST(::rmdir((mount / "a").c_str()) == 0);
    });
    return seen;
  });
}

BOOST_AUTO_TEST_CASE(do_not_wait_for_closes_and_opens_of_files_that_become_frames,
                     *precondition(needs_fuse_unsanitized)) {
  const SourceDir source;
  fs_std::create_directory(source / "quiet");
  const auto name = [](int i) { return fmt::format("plain{}", i); };
  for (int i = 0; i < kRequests; i++) write_file(source / name(i), std::string("text"));
  const ByteVector frame = flat_frame(slow_contents(1, std::size_t{4} << 20));
  Mount mount(source.path(), few_threads());
  std::vector<Fd> files;
  for (int i = 0; i < kRequests; i++) {
    files.emplace_back(::open((mount / name(i)).c_str(), O_RDWR | O_CLOEXEC));
    BOOST_REQUIRE(::pwrite(files.back().get(), frame.data(), frame.size(), 0) ==
                  static_cast<ssize_t>(frame.size()));
  }
  const auto are_stored = [&] {
    for (int i = 0; i < kRequests; i++)
      if (fs_std::file_size(source / name(i)) == frame.size()) return false;
    return true;
  };
  look_during(
      mount,
      [&](int i) {
        files[static_cast<std::size_t>(i)] = Fd();
        return true;
      },
      [&] {
        // Several threads open one file while it becomes a frame.
        std::atomic<int> opened = 0;
        std::vector<std::jthread> readers;
        for (int i = 0; i < kRequests; i++)
          readers.emplace_back([&] {
            const Fd file(::open((mount / name(0)).c_str(), O_RDONLY | O_CLOEXEC));
            opened += file ? 1 : 0;
          });
        readers.clear();
        BOOST_TEST(opened == kRequests);
        comes_true(are_stored);
      });
  BOOST_TEST(are_stored());
  BOOST_CHECK(read_file(mount / name(0)) == frame);
}

BOOST_AUTO_TEST_CASE(do_not_wait_for_looks_at_files_that_another_program_has_changed,
                     *precondition(needs_fuse_unsanitized)) {
  const SourceDir source;
  fs_std::create_directory(source / "quiet");
  const auto name = [](int i) { return fmt::format("file{}", i); };
  for (int i = 0; i < kRequests; i++)
    write_file(source / (name(i) + ".b2frame"), flat_frame(std::string("before")));
  const ByteVector written = slow_contents(2, std::size_t{4} << 20);
  Mount mount(source.path(), few_threads());
  std::vector<Fd> files;
  for (int i = 0; i < kRequests; i++) {
    files.emplace_back(::open((mount / name(i)).c_str(), O_RDWR | O_CLOEXEC));
    BOOST_REQUIRE(::pwrite(files.back().get(), written.data(), written.size(), 0) ==
                  static_cast<ssize_t>(written.size()));
  }
  const ByteVector replacement = flat_frame(std::string("replaced"));
  for (int i = 0; i < kRequests; i++)
    replace_by_rename(source / (name(i) + ".b2frame"), replacement);
  look_during(mount, [&](int i) {
    struct statx st {};
    return ::statx(AT_FDCWD, (mount / name(i)).c_str(), AT_STATX_FORCE_SYNC, STATX_SIZE, &st) == 0;
  });
  for (int i = 0; i < kRequests; i++) BOOST_TEST(conflicts_of(source.path(), name(i)).size() == 1);
}

BOOST_AUTO_TEST_CASE(do_not_wait_for_flushes_of_directories_and_renames_that_store_files,
                     *precondition(needs_fuse_unsanitized)) {
  const SourceDir source;
  fs_std::create_directory(source / "quiet");
  for (int i = 0; i < kRequests; i++) fs_std::create_directory(source / fmt::format("d{}", i));
  const ByteVector npy = npy_of(slow_contents(3, std::size_t{4} << 20));
  Mount mount(source.path(), few_threads());
  const auto name = [&](int i, const char* file) { return mount / fmt::format("d{}/{}", i, file); };
  for (int i = 0; i < kRequests; i++) write_file(name(i, "a.npy"), npy);
  look_during(mount, [&](int i) {
    const Fd directory(::open(name(i, "").c_str(), O_RDONLY | O_CLOEXEC));
    return ::fsync(directory.get()) == 0;
  });
  for (int i = 0; i < kRequests; i++)
    BOOST_TEST(fs_std::exists(source / fmt::format("d{}/a.b2nd", i)));
  look_during(mount, [&](int i) {
    return ::rename(name(i, "a.npy").c_str(), name(i, "a.bin").c_str()) == 0;
  });
  BOOST_CHECK(read_file(name(0, "a.bin")) == npy);
}

BOOST_AUTO_TEST_CASE(do_not_wait_for_space_asked_for_during_a_commit,
                     *precondition(needs_fuse_unsanitized)) {
  const SourceDir source;
  fs_std::create_directory(source / "quiet");
  const ByteVector written = slow_contents(4, std::size_t{4} << 20);
  Mount mount(source.path(), few_threads());
  std::vector<Fd> files;
  for (int i = 0; i < kRequests; i++) {
    files.emplace_back(
        ::open((mount / fmt::format("f{}", i)).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    BOOST_REQUIRE(::pwrite(files.back().get(), written.data(), written.size(), 0) ==
                  static_cast<ssize_t>(written.size()));
  }
  std::jthread commit([&] {
    const Fd root(::open(mount.path().c_str(), O_RDONLY | O_CLOEXEC));
    BOOST_TEST(::ioctl(root.get(), fs::kCommitRequest) == 0);
  });
  BOOST_TEST(comes_true([&] { return mount.serves("ioctl") > 0; }));
  look_during(mount, [&](int i) {
    return ::posix_fallocate(files[static_cast<std::size_t>(i)].get(), 0, 1) == 0;
  });
}

BOOST_AUTO_TEST_CASE(copy_plain_files_piece_by_piece, *precondition(needs_fuse)) {
  const SourceDir source;
  for (const char* name : {"from", "to"}) write_file(source / name, std::string("text"));
  fs_std::resize_file(source / "from", std::size_t{100} << 20);
  Mount mount(source.path());
  const Fd from(::open((mount / "from").c_str(), O_RDONLY | O_CLOEXEC));
  const Fd to(::open((mount / "to").c_str(), O_RDWR | O_CLOEXEC));
  off_t at = 0;
  const ssize_t copied =
      ::copy_file_range(from.get(), &at, to.get(), nullptr, std::size_t{100} << 20, 0);
  BOOST_TEST(copied > 0);
  BOOST_TEST(copied <= ssize_t{64} << 20);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
