#pragma once
// A progress bar on stderr, shown only when that is a terminal.

#include <chrono>
#include <cstdint>
#include <string>

namespace bloscfs::tools {

class Progress {
 public:
  enum class Unit { bytes, items };
  /// `total` is 0 where nobody knows. Of bytes their rate is shown, too.
  Progress(std::string label, std::int64_t total, Unit unit = Unit::bytes);
  /// True if there is a terminal to show one on.
  static bool is_shown();
  /// Removes the bar.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Redraws at most ten times a second; `done` in the unit.
  void update(std::int64_t done);
  /// Makes room for a message on the same terminal.
  void clear();

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
  bool drawn_ = false;
  Mark older_, newer_;  ///< what the rate is told by, between one and two seconds ago
  Clock::time_point next_;
};

}  // namespace bloscfs::tools
