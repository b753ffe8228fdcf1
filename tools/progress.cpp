#include "tools/progress.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

namespace bloscfs::tools {
namespace {

constexpr std::chrono::milliseconds kRedrawInterval{100};
constexpr int kLabelWidth = 20;
constexpr int kBarWidth = 40;

}  // namespace

Progress::Progress(std::string label, std::int64_t total)
    : label_(std::move(label)),
      total_(total),
      on_terminal_(is_shown()),
      next_(std::chrono::steady_clock::now() + kRedrawInterval) {}

bool Progress::is_shown() { return isatty(STDERR_FILENO) == 1; }

Progress::~Progress() { clear(); }

void Progress::update(std::int64_t done) {
  if (!on_terminal_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + kRedrawInterval;
  draw(done);
}

void Progress::draw(std::int64_t done) {
  drawn_ = true;
  if (total_ == 0) {
    fmt::print(stderr, "\r{:<{}} {} MiB", label_, kLabelWidth, done >> 20);
    return;
  }
  const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
  const auto filled = static_cast<int>(part * kBarWidth);
  fmt::print(stderr, "\r{:<{}} [{:#<{}}{:-<{}}] {:3.0f}%", label_, kLabelWidth, "", filled, "",
             kBarWidth - filled, part * 100);
}

void Progress::clear() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\033[K");
  drawn_ = false;
}

}  // namespace bloscfs::tools
