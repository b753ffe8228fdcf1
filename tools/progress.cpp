#include "tools/progress.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

namespace bloscfs::tools {
namespace {

constexpr std::chrono::milliseconds kRedrawInterval{100}, kRateTime{1000};
constexpr int kLabelWidth = 20;
constexpr int kBarWidth = 40;

}  // namespace

Progress::Progress(std::string label, std::int64_t total, Unit unit)
    : label_(std::move(label)),
      total_(total),
      unit_(unit),
      on_terminal_(is_shown()),
      older_{Clock::now(), 0},
      newer_(older_),
      next_(older_.at + kRedrawInterval) {}

bool Progress::is_shown() { return isatty(STDERR_FILENO) == 1; }

Progress::~Progress() { clear(); }

void Progress::update(std::int64_t done) {
  if (!on_terminal_) return;
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = now + kRedrawInterval;
  draw(done, rate_at(done, now));
}

/// Of the last second or two, so that a stall is seen and a hiccup is not.
double Progress::rate_at(std::int64_t done, Clock::time_point now) {
  const auto since = [&](const Mark& mark) {
    const double seconds = std::chrono::duration<double>(now - mark.at).count();
    return static_cast<double>(std::max<std::int64_t>(0, done - mark.done)) / seconds;
  };
  if (now - newer_.at > kRateTime) {
    older_ = newer_;
    newer_ = {now, done};
  }
  return since(older_);
}

void Progress::draw(std::int64_t done, double rate) {
  drawn_ = true;
  if (total_ == 0) {
    fmt::print(stderr, "\r\033[K{:<{}} {} MiB {:.1f} MB/s", label_, kLabelWidth, done >> 20,
               rate / 1e6);
    return;
  }
  const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
  const auto filled = static_cast<int>(part * kBarWidth);
  fmt::print(stderr, "\r\033[K{:<{}} [{:#<{}}{:-<{}}] {:3.0f}%", label_, kLabelWidth, "", filled,
             "", kBarWidth - filled, part * 100);
  if (unit_ == Unit::bytes) fmt::print(stderr, " {:.1f} MB/s", rate / 1e6);
}

void Progress::clear() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\033[K");
  drawn_ = false;
}

}  // namespace bloscfs::tools
