// Several processes append to one file.

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <unistd.h>

#include "tests/support/comes_true.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/pause.hpp"
#include "tests/support/source_dir.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;
using std::chrono::milliseconds;

/// Pauses between opening and writing, for up to 40 ms. Returns true if both worked.
bool append(const fs_std::path& path, const std::string& text) {
  const Fd fd(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  std::minstd_rand random{std::random_device{}()};
  pause_at_random(random, milliseconds(40));
  return fd && write(fd.get(), text.data(), text.size()) == std::ssize(text);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(appending)

// The second process opens the file while the first one is creating it. The attributes in the reply
// to the second open are older than what the first process then writes and closes.
BOOST_AUTO_TEST_CASE(spares_what_the_maker_of_the_file_has_written, *precondition(needs_fuse)) {
  for (const char* option : {"rw", "writeback"}) {
    const SourceDir source;
    MountSettings settings;
    settings.options = {option};
    settings.environment = {"LD_PRELOAD=" BLOSCFS_SLOW_REPLIES};
    const Mount mount(source.path(), settings);
    std::array<bool, 2> worked{};
    std::jthread first([&] { worked[0] = append(mount / "a", "1"); });
    comes_true([&] { return mount.serves("create") > 0 || fs_std::exists(mount / "a"); });
    std::jthread second([&] { worked[1] = append(mount / "a", "2"); });
    first.join();
    second.join();
    BOOST_TEST((worked[0] && worked[1]));
    ByteVector bytes = read_file(mount / "a");
    std::sort(bytes.begin(), bytes.end());
    BOOST_TEST_CONTEXT(option) BOOST_TEST(std::string(bytes.begin(), bytes.end()) == "12");
  }
}

BOOST_AUTO_TEST_CASE(leaves_all_records_there_when_several_make_the_file,
                     *precondition(needs_fuse)) {
  constexpr int kRounds = 200, kWriters = 4, kEach = 3;
  constexpr std::size_t kRecord = 256;
  for (const char* option : {"rw", "writeback"}) {
    const SourceDir source;
    MountSettings settings;
    settings.options = {option};
    const Mount mount(source.path(), settings);
    for (int i = 0; i < kRounds; i++) {
      const auto path = mount / std::to_string(i);
      std::atomic<int> waiting = kWriters, error = 0;
      std::vector<std::jthread> writers;
      for (int k = 0; k < kWriters; k++)
        writers.emplace_back([&, k] {
          const std::string record(kRecord, static_cast<char>('1' + k));
          std::minstd_rand random{static_cast<unsigned>(k + 1)};
          for (waiting--; waiting > 0;) std::this_thread::yield();
          for (int n = 0; n < kEach; n++) {
            const Fd fd(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
            if (!fd) error = errno;
            if (write(fd.get(), record.data(), record.size()) != ssize_t{kRecord}) {
              if (fd) error = errno;
              return;
            }
            pause_at_random(random, std::chrono::microseconds(100 * k));
          }
        });
      for (std::jthread& writer : writers) writer.join();
      BOOST_TEST_REQUIRE(error == 0, option << ": " << std::strerror(error));
      const ByteVector bytes = read_file(path);
      BOOST_TEST_REQUIRE(bytes.size() == kRecord * kWriters * kEach,
                         option << ": " << bytes.size() << " bytes");
      for (int k = 0; k < kWriters; k++)
        BOOST_TEST(std::count(bytes.begin(), bytes.end(), std::uint8_t('1' + k)) ==
                   std::ptrdiff_t{kRecord * kEach});
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
