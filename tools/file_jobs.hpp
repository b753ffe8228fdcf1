#pragma once
// Works on many files at once, with a single progress bar.

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
  /// Called with the number of bytes done since the last call.
  using Advance = std::function<void(std::int64_t bytes)>;
  struct Job {
    std::string name;  ///< of the file, for messages
    std::function<void(const Advance& advance)> work;
  };
  /// Returns the next job, or nullopt after the last one. Called by one thread at a time.
  using Next = std::function<std::optional<Job>()>;

  /// `total` is the size of all files, for the progress bar; 0: not known.
  FileJobs(const std::string& label, std::int64_t total) : output_(label, total) {}

  /// Does all jobs, `threads` at a time. Prints the errors of jobs in the order of the jobs, and
  /// continues with the others. Returns the exit status. If a job throws Interrupted, or `next`
  /// throws, starts no more jobs, waits for those that run, and throws that exception.
  int run(std::size_t threads, const Next& next);

  /// Counts another file for the summary. Thread-safe.
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
  std::exception_ptr end_ GUARDED_BY(mutex_);  ///< the reason why no more jobs start
};

/// How many files to work on at a time, and how many threads encode chunks of each file.
struct Threads {
  std::size_t files;
  unsigned chunks;
};
Threads share_threads(unsigned threads, std::size_t files);

}  // namespace bloscfs::tools
