#pragma once
// Many threads that do random operations on a mount, and what of that went wrong.

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

/// What the environment says: BLOSCFS_TORTURE_OPERATIONS, BLOSCFS_TORTURE_SEED.
struct TortureSize {
  int operations;
  std::uint64_t seed;
};
TortureSize torture_size(int operations);

/// What operations tell. Thread-safe.
class Verdicts {
 public:
  /// An error that servers which fail may cause, or another, which is wrong; 0 is none.
  void add_error(const std::string& what, int error, const std::set<int>& allowed);
  void add_wrong(const std::string& what);
  void add_time(const std::string& what, std::chrono::milliseconds time);

  std::vector<std::string> wrong() const;
  int succeeded() const { return succeeded_; }
  int failed() const { return failed_; }
  /// How it went, in words.
  std::string summary() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> wrong_;
  std::map<std::string, int> counts_;
  std::string slowest_;
  std::chrono::milliseconds longest_{0};
  std::atomic<int> succeeded_{0}, failed_{0};
};

/// Does operations 0, 1, ... by threads; each gets its thread's number and a Random of its own.
/// One that takes longer than `limit` is wrong.
using Operation = std::function<std::string(unsigned thread, Random& random)>;
void run_operations(const TortureSize& size, unsigned threads, Verdicts& verdicts,
                    std::chrono::milliseconds limit, const Operation& operation);

/// Starts `cat`, and kills it some time later: wrong unless it is gone within a second, or waits in
/// the kernel for a directory in which a name is being changed.
void kill_a_reader(const fs_std::path& path, Random& random, Verdicts& verdicts);

/// Reads all at `offset`, in pieces as they come; false with errno.
bool read_fully(int file, std::size_t offset, std::size_t size, std::string& text);
/// All of an open file; the same.
bool read_whole(int file, std::string& text);

}  // namespace bloscfs::test
