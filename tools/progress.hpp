#pragma once
// A line on stderr that tells how far a command is, and one that stays when it is done; both only
// where stderr is a terminal.

#include <chrono>
#include <cstdint>
#include <string>

namespace bloscfs::tools {

class Progress {
 public:
  enum class Unit { bytes, items };
  /// `total` is 0 where nobody knows.
  Progress(std::string label, std::int64_t total, Unit unit = Unit::bytes);
  /// True if there is a terminal to show it on.
  static bool is_shown();
  /// Removes the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Redraws at most ten times a second; `done` in the unit.
  void update(std::int64_t done);
  /// The file that the command is at.
  void set_file(const std::string& name);
  /// Makes room for a message on the same terminal.
  void clear();

  /// What was done in all. Bytes of 0 are not told.
  struct Summary {
    std::int64_t files = 1;
    std::int64_t bytes_in = 0, bytes_out = 0;
  };
  /// Leaves "create: 20 files, 305 MiB in, 3.1 MiB out, ratio 98.4, 1.2 s".
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
  Mark older_, newer_;  ///< what the rate is told by, between one and two seconds ago
  Clock::time_point next_;
};

/// The line, of at most `columns`: parts that do not fit are left out, the least useful ones first.
/// `done` and `total` in the unit; `rate` in units a second.
struct ProgressState {
  std::string label, file;
  std::int64_t done = 0, total = 0;
  double rate = 0;
  Progress::Unit unit = Progress::Unit::bytes;
};
std::string progress_line(const ProgressState& state, std::size_t columns);

}  // namespace bloscfs::tools
