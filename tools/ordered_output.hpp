#pragma once
// Output of work that several threads do at once, in the order in which the work was given out,
// above one progress bar.

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

#include "fs/support/sync.hpp"
#include "tools/progress.hpp"

namespace bloscfs::tools {

/// Thread-safe. Of pieces of work 0, 1, 2... the first that has not ended is printed at once; what
/// others have to say is kept until those before them have ended, in bounded memory: who is far
/// ahead, or says much, waits.
class OrderedOutput {
 public:
  /// `total` bytes that all work goes through, for the progress bar.
  OrderedOutput(const std::string& label, std::int64_t total) : progress_(label, total) {}

  /// To be called before a piece of work; waits until few are open before it.
  void begin(std::uint64_t piece);
  /// Adds a line without its end. All lines of one piece go to the same stream.
  void add(std::uint64_t piece, std::FILE* stream, const std::string& line);
  void end(std::uint64_t piece);
  /// So many bytes more have been gone through.
  void advance(std::int64_t bytes);
  /// The file that a thread is at now, for the progress line.
  void set_file(const std::string& name);
  /// Another file is done, for the summary.
  void count_file(std::int64_t bytes_in, std::int64_t bytes_out);
  /// Leaves the summary.
  void finish();

 private:
  /// What a piece has said that is not printed yet.
  struct Kept {
    std::FILE* stream = nullptr;
    std::string text;
    bool has_ended = false;
  };

  void print(Kept& kept) REQUIRES(mutex_);
  /// Prints what the first piece has kept, and passes on over those that have ended.
  void print_first() REQUIRES(mutex_);

  fs::Mutex mutex_{fs::LockLevel::request};
  fs::CondVar first_changed_;
  Progress progress_ GUARDED_BY(mutex_);
  std::uint64_t first_ GUARDED_BY(mutex_) = 0;  ///< of those that have not ended
  std::map<std::uint64_t, Kept> kept_ GUARDED_BY(mutex_);
  Progress::Summary summary_ GUARDED_BY(mutex_){0, 0, 0};
  std::atomic<std::int64_t> done_{0};
};

}  // namespace bloscfs::tools
