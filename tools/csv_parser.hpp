#pragma once
// Reads comma-separated values (RFC 4180) record by record.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/bytes.hpp"
#include "tools/tables/cell_text.hpp"

namespace bloscfs::tools {

struct CsvField {
  std::string_view text;
  bool quoted = false;

  /// Returns the value of the field in a nullable column, or nullopt if the field stands for an
  /// absent value. A text in quotes never does.
  std::optional<std::string_view> unmarked() const { return quoted ? text : unmarked_text(text); }
};

/// Needs memory for one record, up to kMaxRecord. Throws Error, which names the line, counted from
/// 1. Its code is malformed for invalid UTF-8, a quote that is not closed, and text behind a
/// closing quote. Its code is too_large for a record above kMaxRecord or kMaxFields.
class CsvParser {
 public:
  static constexpr std::size_t kMaxRecord = std::size_t{32} << 20;  ///< bytes
  static constexpr std::size_t kMaxFields = std::size_t{1} << 16;

  /// Fills `out`, unless the input ends before. Returns the number of bytes read.
  using Read = std::function<std::size_t(codec::MutableBytes out)>;

  /// Skips a byte order mark at the start.
  CsvParser(Read read, char delimiter);

  /// Reads the next record. Skips empty lines. Returns false at the end of the input.
  bool next();
  /// Makes next() throw for a record with another number of fields. If `count` is 1, an empty line
  /// becomes a record with an absent field.
  void require_fields(std::size_t count) { field_count_ = count; }

  /// Returns the fields of the record, valid until the next call of next().
  const std::vector<CsvField>& fields() const { return fields_; }
  /// Returns the line in which the record begins.
  std::int64_t line() const { return line_; }

 private:
  enum class Stop { delimiter, line_end, input_end };
  struct FieldEnd {
    std::size_t at;  ///< its end in `record_`
    bool quoted;
  };

  bool fill();
  int peek();
  void skip_byte_order_mark();
  bool read_record();
  Stop read_field();
  void read_quoted();
  Stop read_plain();
  Stop stop_behind_quote();
  void append(std::size_t size);
  void set_fields();
  void check_count() const;
  void check_utf8() const;
  [[noreturn]] void refuse_size(const std::string& what) const;

  const Read read_;
  const char delimiter_;
  std::array<bool, 256> ends_plain_{};  ///< bytes that end a run of plain text
  std::vector<std::uint8_t> buffer_;
  std::size_t position_ = 0, end_ = 0;  ///< of the unread bytes of `buffer_`
  std::string record_;                  ///< the texts of all fields, joined
  std::vector<FieldEnd> ends_;
  std::vector<CsvField> fields_;
  std::size_t field_count_ = 0;  ///< 0: any number
  std::int64_t line_ = 0, next_line_ = 1;
};

}  // namespace bloscfs::tools
