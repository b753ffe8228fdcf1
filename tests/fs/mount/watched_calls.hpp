#pragma once
// System calls of this process that a test fails, delays, or acts at: what a store can do to a
// mount, which makes its stores itself.

#include <atomic>
#include <functional>
#include <string>

namespace bloscfs::test {

/// `look`: at a name, to stat it or to open it.
enum class Call { look, read, write, flush_file, flush_directory, flush_all, rename, remove };

/// Returns the errno that the call is to fail with, or 0: then it is made. `path` is the file's, or
/// for names the name itself, for renames the new one. In the thread that calls, and so in several
/// at once; its own calls are not watched.
using Watcher = std::function<int(Call call, const std::string& path)>;

/// While it lives all threads' calls are watched. One at a time.
class WatchedCalls {
 public:
  explicit WatchedCalls(Watcher watcher);
  ~WatchedCalls();
  WatchedCalls(const WatchedCalls&) = delete;
  WatchedCalls& operator=(const WatchedCalls&) = delete;
};

/// Calls of one kind, of paths with such an end, fail.
class FailedCalls {
 public:
  FailedCalls(Call call, int error, std::string path_end = {});
  int count() const { return count_; }

 private:
  std::atomic<int> count_{0};
  const WatchedCalls watched_;
};

}  // namespace bloscfs::test
