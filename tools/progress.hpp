#pragma once
// A progress line on stderr, and a summary line that remains at the end. Both are shown only if
// stderr is a terminal.

#include <chrono>
#include <cstdint>
#include <string>

namespace bloscfs::tools {

class Progress {
 public:
  enum class Unit { bytes, items };
  /// `total` is 0 if it is unknown.
  Progress(std::string label, std::int64_t total, Unit unit = Unit::bytes);
  /// True if stderr is a terminal.
  static bool is_shown();
  /// Removes the progress line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Redraws at most ten times a second. `done` counts bytes or items, as the unit says.
  void update(std::int64_t done);
  /// Sets the file that the line shows.
  void set_file(const std::string& name);
  /// Removes the progress line to make room for a message.
  void clear();

  /// Totals for the summary line. Byte counts of 0 are not shown.
  struct Summary {
    std::int64_t files = 1;
    std::int64_t bytes_in = 0, bytes_out = 0;
  };
  /// Prints "create: 20 files, 305 MiB in, 3.1 MiB out, ratio 98.4, 1.2 s".
  void finish(const Summary& summary);

 private:
  using Clock = std::chrono::steady_clock;
  struct Mark {
    Clock::time_point at;
    std::int64_t done = 0;
  };

  double rate_at(std::int64_t done, Clock::time_point now);
  void draw(std::int64_t done, double rate);

  const std::string label_;
  const std::int64_t total_;
  const Unit unit_;
  const bool on_terminal_;
  std::string file_;
  bool drawn_ = false;
  const Clock::time_point begun_;
  Mark older_, newer_;  ///< for the rate; `older_` is usually 1 to 2 s old
  Clock::time_point next_;
};

/// What the progress line shows. `done` and `total` count units, `rate` units a second.
struct ProgressState {
  std::string label, file;
  std::int64_t done = 0, total = 0;
  double rate = 0;
  Progress::Unit unit = Progress::Unit::bytes;
};
/// Returns the progress line, at most `columns` wide. Leaves out parts that do not fit, the least
/// useful ones first.
std::string progress_line(const ProgressState& state, std::size_t columns);

}  // namespace bloscfs::tools
