#pragma once
// Finds the type of a column from the texts of all its fields.

#include <cstdint>

#include "tools/column_type.hpp"
#include "tools/csv_parser.hpp"

namespace bloscfs::tools {

/// int64, float64, bool or timestamp if all fields that are not empty have that form; otherwise
/// utf8. A column is nullable if a field is empty. One of utf8 is nullable also for texts that CSV
/// needs marks for (unmarked_text()), since only nullable columns are written with these.
class ColumnInference {
 public:
  void add(const CsvField& field);

  ColumnType type() const;
  /// Bytes of all texts together, with the marks of a nullable column taken for what they mean.
  std::int64_t text_bytes(bool is_nullable) const {
    return is_nullable ? text_bytes_ - mark_bytes_ : text_bytes_;
  }
  /// True if a text is absent.
  bool has_absent() const { return absent_; }
  /// True if a text is absent or empty.
  bool has_empty() const { return absent_ || empty_; }

 private:
  void add_marked(const CsvField& field);
  void add_number(std::string_view text);
  void add_timestamp(std::string_view text);
  bool fits_timestamp() const;

  std::int64_t text_bytes_ = 0, mark_bytes_ = 0;
  bool absent_ = false, empty_ = false, marked_ = false, has_text_ = false;
  bool numbers_ = true, booleans_ = true, timestamps_ = true;  ///< all fields are such
  bool floating_ = false;                                      ///< a number is no integer
  bool large_ = false;                                         ///< an integer does not fit int64
  bool zoned_ = false, unzoned_ = false;
  bool fits_us_ = true, fits_ns_ = true;  ///< the unit can hold all timestamps
};

}  // namespace bloscfs::tools
