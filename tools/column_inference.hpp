#pragma once
// Infers the type of a column from the texts of all its fields.

#include <cstdint>
#include <string>

#include "tools/column_type.hpp"
#include "tools/csv_parser.hpp"

namespace bloscfs::tools {

/// Infers int64, float64, bool or timestamp if all non-empty fields have that form, otherwise utf8.
/// A column is nullable if a field is empty. A utf8 column is also nullable if a field looks like a
/// mark, such as \N (see unmarked_text()), since only nullable columns are written with marks.
class ColumnInference {
 public:
  void add(const CsvField& field);

  ColumnType type() const;
  /// Returns the bytes of all texts. In a nullable column, a mark counts as the text that it stands
  /// for.
  std::int64_t text_bytes(bool is_nullable) const {
    return is_nullable ? text_bytes_ - mark_bytes_ : text_bytes_;
  }
  /// Returns the first integer that float64 cannot hold exactly; empty if there is none.
  const std::string& rounded() const { return rounded_; }
  /// True if a field is absent: empty without quotes, or \N.
  bool has_nulls() const { return absent_; }
  /// True if a field is absent, or an empty text.
  bool has_empty() const { return absent_ || empty_; }

 private:
  void add_marked(const CsvField& field);
  void add_number(std::string_view text);
  void add_timestamp(std::string_view text);
  bool fits_timestamp() const;

  std::int64_t text_bytes_ = 0, mark_bytes_ = 0;
  std::string rounded_;
  bool absent_ = false, empty_ = false, marked_ = false, has_text_ = false;
  bool numbers_ = true, booleans_ = true, timestamps_ = true;  ///< all fields have that form
  bool floating_ = false;                                      ///< some number is not an integer
  bool large_ = false;                                         ///< some integer does not fit int64
  bool zoned_ = false, unzoned_ = false;
  bool fits_us_ = true, fits_ns_ = true;  ///< the unit can hold all timestamps
};

}  // namespace bloscfs::tools
