#include "tests/support/writer_load.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/sanitizers.hpp"

namespace bloscfs::test {
namespace {

using Clock = std::chrono::steady_clock;

/// A mount that makes no progress for this long is frozen.
constexpr std::chrono::seconds kFrozen{60};

std::string text_of(const WriterLoad& load) {
  std::string text = fmt::format("{} writers of {} MB", load.writers, load.megabytes);
  for (const std::string& option : load.options) text += " " + option;
  return text + " " + load.suffix;
}

/// Writes 1 MiB at a time, as dd does, and counts each MiB in `written`. Writes an NPY header first
/// if the name ends in .npy.
void write_file_slowly(const fs_std::path& path, int megabytes, std::atomic<int>& written) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file) throw_errno("open");
  const ByteVector part = make_contents("noise", 7, 1 << 20, 1);
  off_t at = 0;
  if (path.extension() == ".npy") {
    const std::string header = npy_header("|u1", {megabytes, 1 << 20});
    at = ::pwrite(file.get(), header.data(), header.size(), 0);
  }
  for (int i = 0; i < megabytes; i++) {
    for (std::size_t done = 0; done < part.size();) {
      const auto count = ::pwrite(file.get(), part.data() + done, part.size() - done, at);
      if (count <= 0) throw_errno("write");
      done += static_cast<std::size_t>(count);
      at += count;
    }
    written++;
  }
}

}  // namespace

void run_load(const WriterLoad& load, Mount& mount) {
  std::atomic<int> written{0}, ended{0};
  // tests/run.sh allows few descriptors under TSan.
  const int count = kSanitized ? std::min(load.writers, 24) : load.writers;
  const int megabytes = kSanitized ? (load.megabytes + 9) / 10 : load.megabytes;
  std::vector<std::jthread> writers;
  for (int i = 0; i < count; i++)
    writers.emplace_back([&, path = mount / fmt::format("{}{}", i, load.suffix)] {
      write_file_slowly(path, megabytes, written);
      ended++;
    });
  auto last_progress = Clock::now();
  Clock::duration slowest{};
  for (int before = 0; ended < count;) {
    const auto asked = Clock::now();
    struct stat st {};
    BOOST_TEST(::stat(mount.path().c_str(), &st) == 0);
    for (const auto& entry : fs_std::directory_iterator(mount.path())) entry.path();
    slowest = std::max(slowest, Clock::now() - asked);
    if (written != before) last_progress = Clock::now();
    before = written;
    if (Clock::now() - last_progress < kFrozen) continue;
    // The writer threads cannot end while the frozen mount exists.
    mount.signal(SIGKILL);
    force_unmount(mount.path());
    BOOST_FAIL("frozen: " << text_of(load));
  }
  writers.clear();
  BOOST_TEST((slowest < kFrozen), text_of(load));
  BOOST_TEST_MESSAGE(
      fmt::format("{}: slowest listing {} ms", text_of(load),
                  std::chrono::duration_cast<std::chrono::milliseconds>(slowest).count()));
  mount.unmount();
}

}  // namespace bloscfs::test
