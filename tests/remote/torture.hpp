#pragma once
// Runs random operations on a mount in many threads, and collects what goes wrong.

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/support/draw.hpp"
#include "tests/support/mount.hpp"

namespace bloscfs::test {

/// The values of BLOSCFS_TORTURE_OPERATIONS and BLOSCFS_TORTURE_SEED. torture_size() returns
/// `operations` and seed 1 if they are not set.
struct TortureSize {
  int operations;
  std::uint64_t seed;
};
TortureSize torture_size(int operations);

/// Collects the results of operations. Thread-safe.
class Verdicts {
 public:
  /// Counts an operation. `error` is its errno, or 0 for success. An error that is not in `allowed`
  /// is wrong: a failing server cannot cause it.
  void add_error(const std::string& what, int error, const std::set<int>& allowed);
  void add_wrong(const std::string& what);
  void add_time(const std::string& what, std::chrono::milliseconds time);

  std::vector<std::string> wrong() const;
  int succeeded() const { return succeeded_; }
  int failed() const { return failed_; }
  /// Returns the counts and the longest time, as text.
  std::string summary() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> wrong_;
  std::map<std::string, int> counts_;
  std::string slowest_;
  std::chrono::milliseconds longest_{0};
  std::atomic<int> succeeded_{0}, failed_{0};
};

/// One operation, which returns its description. The Random is seeded with the operation's number.
using Operation = std::function<std::string(unsigned thread, Random& random)>;
void run_operations(const TortureSize& size, unsigned threads, Verdicts& verdicts,
                    std::chrono::milliseconds limit, const Operation& operation);

/// Starts `cat`, and kills it a random time later. It is wrong if the process still exists after a
/// second, unless it waits in the kernel for a change of names in a directory.
void kill_a_reader(const fs_std::path& path, Random& random, Verdicts& verdicts);

/// Reads `size` bytes at `offset`, or up to the end of the file. False if a read fails, with errno
/// set.
bool read_fully(int file, std::size_t offset, std::size_t size, std::string& text);
/// Reads all of an open file. False if a call fails, with errno set.
bool read_whole(int file, std::string& text);

}  // namespace bloscfs::test
