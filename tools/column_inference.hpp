#pragma once
// Finds the type of a column from the texts of all its fields.

#include <cstdint>

#include "tools/column_type.hpp"
#include "tools/csv_parser.hpp"

namespace bloscfs::tools {

/// int64, float64, bool or timestamp if all fields that are not empty have that form; otherwise
/// utf8. The column is nullable if a field is absent; a quoted empty field is an absent value too,
/// except of utf8, where it is the empty text.
class ColumnInference {
 public:
  void add(const CsvField& field);

  ColumnType type() const;
  /// Bytes of all texts together.
  std::int64_t text_bytes() const { return text_bytes_; }
  /// True if a field has neither text nor quotes.
  bool has_absent() const { return absent_; }
  /// True if a field has no text.
  bool has_empty() const { return absent_ || quoted_empty_; }

 private:
  void add_number(std::string_view text);
  void add_timestamp(std::string_view text);
  bool fits_timestamp() const;

  std::int64_t text_bytes_ = 0;
  bool absent_ = false, quoted_empty_ = false, has_text_ = false;
  bool numbers_ = true, booleans_ = true, timestamps_ = true;  ///< all fields are such
  bool floating_ = false;                                      ///< a number is no integer
  bool large_ = false;                                         ///< an integer does not fit int64
  bool zoned_ = false, unzoned_ = false;
  bool fits_us_ = true, fits_ns_ = true;  ///< the unit can hold all timestamps
};

}  // namespace bloscfs::tools
