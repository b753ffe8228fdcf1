#include "tools/tables/live_rows.hpp"

#include <algorithm>
#include <utility>

#include "fs/options/option_values.hpp"
#include "tools/b2frame_commands.hpp"

namespace bloscfs::tools {
namespace {

constexpr std::int64_t kLoadedAtOnce = 1 << 18;

/// Sets `number` if there is text. Returns false if the text is not a number.
bool take_row_number(const std::string& text, std::int64_t& number) {
  const auto given = text.empty() ? number : fs::parse_number(text);
  number = given.value_or(number);
  return given.has_value();
}

}  // namespace

RowRange row_range(const AxisSlice& rows) {
  require(rows.step > 0, "rows of a table are read forwards: the step of a slice is positive");
  const std::int64_t last = rows.start + (rows.count - 1) * rows.step;
  return {rows.start, rows.count == 0 ? rows.start : last + 1, rows.step};
}

RowRange parse_row_range(const std::string& text) {
  RowRange range;
  if (text.empty()) return range;
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || !take_row_number(text.substr(0, colon), range.first) ||
      !take_row_number(text.substr(colon + 1), range.end))
    throw UsageError("'" + text + "' is not a range of rows, such as 10:20");
  return range;
}

LiveRows::LiveRows(std::shared_ptr<const frame::Snapshot> valid_rows, const RowRange& range,
                   RunLimits& limits)
    : array_(std::move(valid_rows), limits),
      step_(range.step),
      skipped_(range.first),
      remaining_(std::max<std::int64_t>(0, range.end - range.first)) {
  array_.require_items("|b1", "_valid_rows:");
}

std::int64_t LiveRows::next() {
  while (remaining_ > 0) {
    if (next_ == is_live_.size() && !load()) return -1;
    const std::size_t row = next_++;
    if (is_live_[row] == 0) continue;
    if (skipped_ > 0) {
      skipped_--;
      continue;
    }
    skipped_ = step_ - 1;
    remaining_ -= std::min(remaining_, step_);
    return first_ + static_cast<std::int64_t>(row);
  }
  return -1;
}

std::int64_t LiveRows::useful_rows(std::int64_t most) const {
  std::int64_t wanted = remaining_ == 0 ? 0 : remaining_ + skipped_;
  std::int64_t rows = 1;
  for (std::size_t at = next_; at < is_live_.size() && rows < most && wanted > 0; at++, rows++)
    if (is_live_[at] != 0) wanted--;
  return rows;
}

std::int64_t LiveRows::count() {
  std::int64_t rows = 0;
  while (next() >= 0) rows++;
  return rows;
}

bool LiveRows::load() {
  first_ += std::ssize(is_live_);
  next_ = 0;
  is_live_.resize(
      static_cast<std::size_t>(std::clamp<std::int64_t>(array_.rows() - first_, 0, kLoadedAtOnce)));
  array_.read(first_, is_live_);
  return !is_live_.empty();
}

}  // namespace bloscfs::tools
