#pragma once
// Work on many files at once, below one progress bar.

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "fs/support/sync.hpp"
#include "tools/ordered_output.hpp"

namespace bloscfs::tools {

class FileJobs {
 public:
  /// To be called with how many bytes more are done.
  using Advance = std::function<void(std::int64_t bytes)>;
  struct Job {
    std::string name;  ///< of the file, for messages
    std::function<void(const Advance& advance)> work;
  };
  /// The next one; nothing behind the last. One thread at a time calls it.
  using Next = std::function<std::optional<Job>()>;

  /// `total` bytes of all files, for the bar; 0 where nobody knows.
  FileJobs(const std::string& label, std::int64_t total) : output_(label, total) {}

  /// Does all jobs, `threads` at a time. What goes wrong with one is told, in the order of the
  /// jobs, and the others go on. Returns the exit status. Throws Interrupted, once those that were
  /// begun have ended, which throw it themselves.
  int run(std::size_t threads, const Next& next);

  /// Another file is done, for the summary. Thread-safe.
  void count_file(std::int64_t bytes_in, std::int64_t bytes_out) {
    output_.count_file(bytes_in, bytes_out);
  }

 private:
  struct Numbered {
    std::uint64_t number;
    Job job;
  };

  std::optional<Numbered> take(const Next& next);
  void work(const Next& next);
  void do_job(const Numbered& piece);
  void fail(const Numbered& piece, const std::string& file, const std::string& what, int status);

  OrderedOutput output_;
  fs::Mutex mutex_{fs::LockLevel::command};
  std::uint64_t taken_ GUARDED_BY(mutex_) = 0;
  int status_ GUARDED_BY(mutex_) = 0;
  std::exception_ptr end_ GUARDED_BY(mutex_);  ///< why no more are begun
};

/// Threads that go through so many files, and those that each of them has beside.
struct Threads {
  std::size_t files;
  unsigned chunks;
};
Threads share_threads(unsigned threads, std::size_t files);

}  // namespace bloscfs::tools
