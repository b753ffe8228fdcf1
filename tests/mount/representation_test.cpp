// Files that become arrays and flat frames again, as those see it who look at them meanwhile.

#include <algorithm>
#include <atomic>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <unistd.h>

#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/npy.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

/// So many that one look at all of them is interrupted.
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

bool appears(const fs_std::path& path, Seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!fs_std::exists(path)) {
    if (std::chrono::steady_clock::now() > end) return false;
    usleep(1000);
  }
  return true;
}

std::ptrdiff_t times_listed(const fs_std::path& directory, const std::string& name) {
  return std::count_if(fs_std::directory_iterator(directory), fs_std::directory_iterator(),
                       [&](const auto& entry) { return entry.path().filename() == name; });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(representation)

BOOST_AUTO_TEST_CASE(each_listing_shows_a_changing_file_once, *precondition(needs_fuse)) {
  const TempDir source;
  for (int i = 0; i < kNeighbours; i++)
    fs_std::create_symlink("nowhere", source / ("n" + std::to_string(i)));
  Mount mount(source.path(), strict());
  write_file(mount / "x.npy", "no array");
  std::atomic<bool> ended = false, in_time = true;
  std::thread changer([&] {
    for (int i = 0; i < kChanges && in_time; i++) {
      write_file(mount / "x.npy", array_file());
      in_time = in_time && appears(source / "x.b2nd", Seconds(4));
      write_file(mount / "x.npy", "no array");
      in_time = in_time && appears(source / "x.npy.b2frame", Seconds(4));
    }
    ended = true;
  });
  std::size_t listings = 0, wrong = 0;
  for (; !ended; listings++) wrong += times_listed(mount.path(), "x.npy") != 1;
  changer.join();
  BOOST_TEST(in_time.load());
  BOOST_TEST(wrong == 0u);
  BOOST_TEST(listings > 5u);
}

BOOST_AUTO_TEST_CASE(strict_sync_makes_an_array_at_the_last_close, *precondition(needs_fuse)) {
  const TempDir source;
  Mount mount(source.path(), strict());
  {
    const Fd other(open((mount / "x.npy").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    write_file(mount / "x.npy", array_file());
    BOOST_TEST(fs_std::exists(source / "x.npy.b2frame"));
  }
  // Not within a group's five seconds, but now.
  BOOST_TEST(appears(source / "x.b2nd", Seconds(2)));
}

/// What many see that open a file at once, of which nothing was ever open, is one file.
BOOST_AUTO_TEST_CASE(first_opens_at_once_share_what_is_written, *precondition(needs_fuse)) {
  constexpr int kRounds = 40, kOpeners = 4;
  const TempDir source;
  {
    Mount mount(source.path());
    for (int i = 0; i < kRounds; i++) write_file(mount / std::to_string(i), "0000");
    mount.unmount();
  }
  Mount mount(source.path());
  for (int i = 0; i < kRounds; i++) {
    const auto path = mount / std::to_string(i);
    std::atomic<int> waiting = kOpeners;
    std::vector<std::thread> openers;
    std::vector<Fd> files(kOpeners);
    for (int k = 0; k < kOpeners; k++)
      openers.emplace_back([&, k] {
        for (waiting--; waiting > 0;) std::this_thread::yield();
        Fd fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
        const char digit = static_cast<char>('1' + k);
        if (pwrite(fd.get(), &digit, 1, k) == 1) files[static_cast<std::size_t>(k)] = std::move(fd);
      });
    for (std::thread& opener : openers) opener.join();
    for (const Fd& file : files) {
      std::string seen(4, ' ');
      BOOST_TEST(pread(file.get(), seen.data(), seen.size(), 0) == 4);
      BOOST_TEST(seen == "1234");
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
