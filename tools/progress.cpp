#include "tools/progress.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fs/support/printable.hpp"
#include "tools/size_text.hpp"

namespace bloscfs::tools {
namespace {

constexpr std::chrono::milliseconds kRedrawInterval{100}, kRateTime{1000};
constexpr std::size_t kUsualColumns = 80;
constexpr std::size_t kShortestBar = 10, kLongestBar = 40, kShortestName = 8;

/// Returns an upper bound of the columns that a text takes: a character takes at most as many
/// columns as it has bytes.
std::size_t width(const std::string& text) { return text.size(); }

std::size_t terminal_columns() {
  winsize size{};
  const bool is_known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col : kUsualColumns;
}

std::string duration_text(double seconds) {
  constexpr std::int64_t kMinute = 60, kHour = 3600;
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole >= kHour)
    return fmt::format("{}:{:02}:{:02}", whole / kHour, whole % kHour / kMinute, whole % kMinute);
  return fmt::format("{}:{:02}", whole / kMinute, whole % kMinute);
}

std::string amount_text(std::int64_t amount, Progress::Unit unit) {
  return unit == Progress::Unit::bytes ? size_with_unit(static_cast<double>(amount))
                                       : std::to_string(amount);
}

/// Returns the end of the name, which says most. Cuts between characters.
std::string shortened(const std::string& name, std::size_t columns) {
  constexpr unsigned char kMask = 0xc0, kContinues = 0x80;
  if (width(name) <= columns) return name;
  std::size_t from = name.size() - (columns - 3);
  while (from < name.size() && (static_cast<unsigned char>(name[from]) & kMask) == kContinues)
    from++;
  return "..." + name.substr(from);
}

}  // namespace

std::string progress_line(const ProgressState& state, std::size_t columns) {
  const auto done = static_cast<double>(state.done), total = static_cast<double>(state.total);
  std::string line = state.label;
  const auto add_if_room = [&](const std::string& part) {
    if (width(line) + 2 + width(part) <= columns) line += "  " + part;
  };
  if (state.total > 0) {
    add_if_room(fmt::format("{:3.0f} %", std::min(1.0, done / total) * 100));
    add_if_room(fmt::format("{} of {}", amount_text(state.done, state.unit),
                            amount_text(state.total, state.unit)));
  } else {
    add_if_room(amount_text(state.done, state.unit));
  }
  if (state.unit == Progress::Unit::bytes) add_if_room(size_with_unit(state.rate) + "/s");
  constexpr double kLongest = 100 * 3600.0;  // seconds; a longer estimate says nothing
  if (state.total > state.done && total - done < state.rate * kLongest)
    add_if_room(duration_text((total - done) / state.rate) + " left");
  const std::size_t room = columns - std::min(columns, width(line) + 2);
  if (!state.file.empty()) {
    if (room >= kShortestName) add_if_room(shortened(fs::printable(state.file), room));
  } else if (state.total > 0 && room >= kShortestBar + 2) {
    const std::size_t length = std::min(kLongestBar, room - 2);
    const auto filled =
        static_cast<std::size_t>(std::min(1.0, done / total) * static_cast<double>(length));
    add_if_room(fmt::format("[{:#<{}}{:-<{}}]", "", filled, "", length - filled));
  }
  return line.substr(0, columns);
}

Progress::Progress(std::string label, std::int64_t total, Unit unit)
    : label_(std::move(label)),
      total_(total),
      unit_(unit),
      on_terminal_(is_shown()),
      begun_(Clock::now()),
      older_{begun_, 0},
      newer_(older_),
      next_(begun_ + kRedrawInterval) {}

bool Progress::is_shown() { return isatty(STDERR_FILENO) == 1; }

Progress::~Progress() { clear(); }

void Progress::update(std::int64_t done) {
  if (!on_terminal_) return;
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = now + kRedrawInterval;
  draw(done, rate_at(done, now));
}

void Progress::set_file(const std::string& name) {
  if (on_terminal_) file_ = name;
}

/// Returns the rate of the last one or two seconds, so that a stall shows but a short pause does
/// not.
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
  // Text in the last column may make the terminal begin a new line.
  fmt::print(stderr, "\r\033[K{}",
             progress_line({label_, file_, done, total_, rate, unit_}, terminal_columns() - 1));
}

void Progress::clear() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\033[K");
  drawn_ = false;
}

void Progress::finish(const Summary& summary) {
  clear();
  if (!on_terminal_) return;
  std::vector<std::string> parts{summary.files == 1 ? "1 file"
                                                    : fmt::format("{} files", summary.files)};
  const auto in = static_cast<double>(summary.bytes_in);
  const auto out = static_cast<double>(summary.bytes_out);
  if (in > 0) parts.push_back(size_with_unit(in) + " in");
  if (out > 0) parts.push_back(size_with_unit(out) + " out");
  if (in > 0 && out > 0)
    parts.push_back(fmt::format("ratio {:.2f}", std::max(in, out) / std::min(in, out)));
  const double seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
  parts.push_back(fmt::format("{:.1f} s", seconds));
  fmt::print(stderr, "{}: {}\n", label_, fmt::join(parts, ", "));
}

}  // namespace bloscfs::tools
