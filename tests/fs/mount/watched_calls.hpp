#pragma once
// System calls of this process that a test makes fail, delays, or acts at. So a test can do to a
// mount in the same process what a store can do.

#include <atomic>
#include <functional>
#include <string>

namespace bloscfs::test {

/// `look` is a stat or an open of a name.
enum class Call { look, read, write, flush_file, flush_directory, flush_all, rename, remove };

/// Returns the errno that the call fails with. If it returns 0, the call is made. `path` is the
/// path of the file. For calls on names it is the name itself; for renames, the new name.
/// Runs in the calling thread, so several threads may call it at the same time. Its own calls are
/// not watched.
using Watcher = std::function<int(Call call, const std::string& path)>;

/// Watches the calls of all threads while it lives. There can be only one at a time.
class WatchedCalls {
 public:
  explicit WatchedCalls(Watcher watcher);
  ~WatchedCalls();
  WatchedCalls(const WatchedCalls&) = delete;
  WatchedCalls& operator=(const WatchedCalls&) = delete;
};

/// Makes calls of one kind fail if their paths end with `path_end`.
class FailedCalls {
 public:
  FailedCalls(Call call, int error, std::string path_end = {});
  int count() const { return count_; }

 private:
  std::atomic<int> count_{0};
  const WatchedCalls watched_;
};

}  // namespace bloscfs::test
