#include "tests/remote/torture.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/pause.hpp"

namespace bloscfs::test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// How long after kill -9 a reader may still exist.
constexpr Seconds kAfterKill{1};
constexpr std::size_t kMostWrong = 40;

milliseconds since(Clock::time_point begin) {
  return std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
}

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// Returns the kernel stack of a process, one function in each line. Empty once it has ended.
std::string kernel_stack(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stack", pid));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// True if the process waits for the kernel's lock of a directory. During a rename or another
/// change of a directory's names, lookups wait for that lock, and a kill does not end such a wait.
/// The process has sent no request to the daemon yet.
bool waits_for_directory(const std::string& stack) {
  return stack.find("path_openat") != std::string::npos && stack.find("fuse_") == std::string::npos;
}

/// True if the process is still in execve(), which may take more than a second on a loaded machine.
bool is_being_started(const std::string& stack) {
  return stack.find("execve") != std::string::npos;
}

}  // namespace

TortureSize torture_size(int operations) {
  return {static_cast<int>(
              number_of("BLOSCFS_TORTURE_OPERATIONS", static_cast<std::uint64_t>(operations))),
          number_of("BLOSCFS_TORTURE_SEED", 1)};
}

void Verdicts::add_error(const std::string& what, int error, const std::set<int>& allowed) {
  if (error == 0) {
    succeeded_++;
    return;
  }
  failed_++;
  {
    const std::lock_guard guard(mutex_);
    counts_[what.substr(0, what.find(' ')) + " " + strerrorname_np(error)]++;
  }
  if (!allowed.contains(error)) add_wrong(what + ": " + strerrorname_np(error));
}

void Verdicts::add_wrong(const std::string& what) {
  const std::lock_guard guard(mutex_);
  if (wrong_.size() < kMostWrong) wrong_.push_back(what);
}

void Verdicts::add_time(const std::string& what, milliseconds time) {
  const std::lock_guard guard(mutex_);
  if (time <= longest_) return;
  longest_ = time;
  slowest_ = what;
}

std::vector<std::string> Verdicts::wrong() const {
  const std::lock_guard guard(mutex_);
  return wrong_;
}

std::string Verdicts::summary() const {
  const std::lock_guard guard(mutex_);
  std::string text = fmt::format("{} succeeded, {} failed, longest {} ms ({});", succeeded_.load(),
                                 failed_.load(), longest_.count(), slowest_);
  for (const auto& [what, count] : counts_) text += fmt::format(" {} {}", what, count);
  return text;
}

void run_operations(const TortureSize& size, unsigned threads, Verdicts& verdicts,
                    milliseconds limit, const Operation& operation) {
  std::atomic<int> next{0};
  const auto work = [&](unsigned thread) {
    for (int number = next++; number < size.operations; number = next++) {
      Random random(size.seed * 1'000'003 + static_cast<std::uint64_t>(number));
      const auto begin = Clock::now();
      const std::string what = operation(thread, random);
      const milliseconds time = since(begin);
      verdicts.add_time(what, time);
      if (time > limit) verdicts.add_wrong(fmt::format("{} took {} ms", what, time.count()));
    }
  };
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < threads; i++) workers.emplace_back(work, i);
  for (std::thread& worker : workers) worker.join();
}

void kill_a_reader(const fs_std::path& path, Random& random, Verdicts& verdicts) {
  Child reader({"cat", path.string()}, "/dev/null");
  pause_at_random(random, milliseconds(50));
  if (!reader.running()) return;
  reader.signal(SIGKILL);
  const auto killed = Clock::now();
  std::string stack;
  for (auto begin = killed; since(begin) < kAfterKill;) {
    if (reader.wait(Seconds(0.02))) return;
    stack = kernel_stack(reader.pid());
    if (waits_for_directory(stack) || is_being_started(stack)) begin = Clock::now();
  }
  if (reader.running())
    verdicts.add_wrong(fmt::format("a reader of {} was still there {} ms after kill -9, in\n{}",
                                   path.string(), since(killed).count(), stack));
}

bool read_fully(int file, std::size_t offset, std::size_t size, std::string& text) {
  text.assign(size, 0);
  for (std::size_t done = 0; done < size;) {
    const ssize_t got =
        ::pread(file, text.data() + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0) return false;
    if (got == 0) {
      text.resize(done);
      return true;
    }
    done += static_cast<std::size_t>(got);
  }
  return true;
}

bool read_whole(int file, std::string& text) {
  struct stat st {};
  return ::fstat(file, &st) == 0 && read_fully(file, 0, static_cast<std::size_t>(st.st_size), text);
}

}  // namespace bloscfs::test
