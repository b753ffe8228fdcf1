#pragma once
// Prints the output of work that several threads do at once. The output appears in the order in
// which the work was given out, above one progress bar.

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

#include "fs/support/sync.hpp"
#include "tools/progress.hpp"

namespace bloscfs::tools {

/// Thread-safe. The pieces of work have the numbers 0, 1, 2... The output of the first piece that
/// has not ended is printed at once. The output of later pieces is held back until the pieces
/// before them have ended. Memory is bounded: a thread waits if it is far ahead or has much output.
class OrderedOutput {
 public:
  /// `total` is the number of bytes of all work, for the progress bar.
  OrderedOutput(const std::string& label, std::int64_t total) : progress_(label, total) {}

  /// Must be called before a piece of work. Waits while the piece is too far ahead.
  void begin(std::uint64_t piece);
  /// Adds a line, given without its newline. All lines of one piece must go to the same stream.
  void add(std::uint64_t piece, std::FILE* stream, const std::string& line);
  void end(std::uint64_t piece);
  /// Reports that `bytes` more bytes are done.
  void advance(std::int64_t bytes);
  /// Sets the current file for the progress line.
  void set_file(const std::string& name);
  /// Counts a finished file for the summary.
  void count_file(std::int64_t bytes_in, std::int64_t bytes_out);
  /// Prints the summary.
  void finish();

 private:
  /// The output of a piece that is not printed yet.
  struct Kept {
    std::FILE* stream = nullptr;
    std::string text;
    bool has_ended = false;
  };

  void print(Kept& kept) REQUIRES(mutex_);
  /// Prints the output of the first piece. If that piece has ended, continues with the next ones.
  void print_first() REQUIRES(mutex_);

  fs::Mutex mutex_{fs::LockLevel::request};
  fs::CondVar first_changed_;
  Progress progress_ GUARDED_BY(mutex_);
  std::uint64_t first_ GUARDED_BY(mutex_) = 0;  ///< first piece that has not ended
  std::map<std::uint64_t, Kept> kept_ GUARDED_BY(mutex_);
  Progress::Summary summary_ GUARDED_BY(mutex_){0, 0, 0};
  std::atomic<std::int64_t> done_{0};
};

}  // namespace bloscfs::tools
