#pragma once
// The rows of a table that were not deleted.

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "frame/container/snapshot.hpp"
#include "tools/slice.hpp"
#include "tools/tables/array_reader.hpp"

namespace bloscfs::tools {

/// Rows first, first + step, ... below `end` of those that were not deleted, counted from 0.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
  std::int64_t step = 1;
};

/// Throws UsageError for a slice whose step is not positive.
RowRange row_range(const AxisSlice& rows);

/// "10:20", "10:", ":20", or "" for all. Throws UsageError for anything else.
RowRange parse_row_range(const std::string& text);

/// For one thread. Reads only as much of the array as has the rows that are asked for.
class LiveRows {
 public:
  /// `valid_rows` is the leaf _valid_rows. Throws Error(malformed) where that is no array of
  /// booleans.
  LiveRows(std::shared_ptr<const frame::Snapshot> valid_rows, const RowRange& range,
           RunLimits& limits);

  /// With deleted ones.
  std::int64_t stored_rows() const { return array_.rows(); }
  /// The next row, counted with deleted ones; -1 behind the last one.
  std::int64_t next();
  /// How many stored rows from the one that next() returned on are of use, `most` at most, as far
  /// as that is known without reading.
  std::int64_t useful_rows(std::int64_t most) const;
  /// All rows of the range that next() has not returned.
  std::int64_t count();

 private:
  bool load();

  ArrayReader array_;
  const std::int64_t step_;
  std::int64_t skipped_;  ///< rows that are left before the next one of the range
  std::int64_t left_;     ///< rows that are left before the end of the range, without these
  std::int64_t first_ = 0;
  std::vector<std::uint8_t> is_live_;  ///< of the stored rows from `first_` on
  std::size_t next_ = 0;               ///< in `is_live_`
};

}  // namespace bloscfs::tools
