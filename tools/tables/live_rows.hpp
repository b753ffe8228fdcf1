#pragma once
// The rows of a table that are not deleted.

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "frame/container/snapshot.hpp"
#include "tools/slice.hpp"
#include "tools/tables/array_reader.hpp"

namespace bloscfs::tools {

/// Rows first, first + step, ... below `end`. The numbers count from 0 and do not include deleted
/// rows.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
  std::int64_t step = 1;
};

/// Throws UsageError if the step is not positive.
RowRange row_range(const AxisSlice& rows);

/// Parses "10:20", "10:", ":20", or "" for all rows. Throws UsageError for other texts.
RowRange parse_row_range(const std::string& text);

/// For one thread. Reads the array only as far as the wanted rows need it.
class LiveRows {
 public:
  /// `valid_rows` is the leaf _valid_rows. Throws Error(malformed) if it is not an array of
  /// booleans.
  LiveRows(std::shared_ptr<const frame::Snapshot> valid_rows, const RowRange& range,
           RunLimits& limits);

  /// Returns the number of rows including deleted ones.
  std::int64_t stored_rows() const { return array_.rows(); }
  /// Returns the next row, counted including deleted ones; -1 behind the last row.
  std::int64_t next();
  /// Returns how many stored rows may be worth loading, counted from the row that next() returned.
  /// The result is at most `most`. Looks only at the part of the array that is in memory.
  std::int64_t useful_rows(std::int64_t most) const;
  /// Returns how many rows of the range next() has not returned.
  std::int64_t count();

 private:
  /// Loads the next part of the array. Returns false at its end.
  bool load();

  ArrayReader array_;
  const std::int64_t step_;
  std::int64_t skipped_;    ///< live rows to skip before the next row of the range
  std::int64_t remaining_;  ///< live rows behind the skipped ones, before the end of the range
  std::int64_t first_ = 0;
  std::vector<std::uint8_t> is_live_;  ///< the stored rows from `first_` on
  std::size_t next_ = 0;               ///< index in `is_live_`
};

}  // namespace bloscfs::tools
