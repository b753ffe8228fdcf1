#pragma once
// A progress bar on stderr, shown only when that is a terminal.

#include <chrono>
#include <cstdint>
#include <string>

namespace bloscfs::tools {

class Progress {
 public:
  /// `total` in whatever unit update() counts; 0 where only bytes done can be shown.
  Progress(std::string label, std::int64_t total);
  /// True if there is a terminal to show one on.
  static bool is_shown();
  /// Removes the bar.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Redraws at most ten times a second.
  void update(std::int64_t done);
  /// Makes room for a message on the same terminal.
  void clear();

 private:
  void draw(std::int64_t done);

  const std::string label_;
  const std::int64_t total_;
  const bool on_terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace bloscfs::tools
