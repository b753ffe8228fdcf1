#include "tools/column_inference.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tools/tables/cell_text.hpp"
#include "tools/value_text.hpp"

namespace bloscfs::tools {
namespace {

/// True if float64 cannot hold the integer exactly.
bool is_rounded(std::string_view text) {
  // 2^53 has 16 digits.
  constexpr std::size_t kExactDigits = 15;
  text.remove_prefix(std::min(text.find_first_of("123456789"), text.size()));
  if (text.size() <= kExactDigits) return false;
  const auto value = parse_double(text);
  return value && fmt::format("{:.0f}", *value) != text;
}

}  // namespace

void ColumnInference::add(const CsvField& field) {
  if (field.text.empty()) {
    (field.quoted ? empty_ : absent_) = true;
    return;
  }
  has_text_ = true;
  text_bytes_ += std::ssize(field.text);
  if (looks_marked(field.text)) add_marked(field);
  if (numbers_) add_number(field.text);
  if (booleans_) booleans_ = parse_boolean(field.text).has_value();
  if (timestamps_) add_timestamp(field.text);
}

void ColumnInference::add_marked(const CsvField& field) {
  marked_ = true;
  const auto text = field.unmarked();
  absent_ = absent_ || !text;
  empty_ = empty_ || (text && text->empty());
  mark_bytes_ += std::ssize(field.text) - (text ? std::ssize(*text) : 0);
}

void ColumnInference::add_number(std::string_view text) {
  const NumberForm form = number_form(text);
  if (form == NumberForm::integer && rounded_.empty() && is_rounded(text)) rounded_ = text;
  if (form == NumberForm::integer && parse_integer<std::int64_t>(text)) return;
  if (form == NumberForm::none || !parse_double(text))
    numbers_ = false;
  else
    (form == NumberForm::floating ? floating_ : large_) = true;
}

void ColumnInference::add_timestamp(std::string_view text) {
  const auto timestamp = parse_timestamp(text);
  if (!timestamp) {
    timestamps_ = false;
    return;
  }
  (timestamp->has_zone ? zoned_ : unzoned_) = true;
  fits_us_ = fits_us_ && timestamp_in(*timestamp, TimeUnit::us);
  fits_ns_ = fits_ns_ && timestamp_in(*timestamp, TimeUnit::ns);
}

/// True if all fields are timestamps that one unit can hold. A column cannot have times with and
/// without a zone.
bool ColumnInference::fits_timestamp() const {
  return timestamps_ && (fits_us_ || fits_ns_) && !(zoned_ && unzoned_);
}

ColumnType ColumnInference::type() const {
  ColumnType type;
  type.nullable = has_empty() || marked_;
  if (!has_text_) return type;
  if (booleans_) {
    type.kind = ColumnKind::boolean;
  } else if (numbers_ && floating_) {
    type.kind = ColumnKind::float64;
  } else if (numbers_ && !large_) {
    type.kind = ColumnKind::int64;
  } else if (fits_timestamp()) {
    type.kind = ColumnKind::timestamp;
    type.unit = fits_us_ ? TimeUnit::us : TimeUnit::ns;
    type.in_utc = zoned_;
  }
  return type;
}

}  // namespace bloscfs::tools
