#include "tools/tables/utf8_column.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "codec/error.hpp"

namespace bloscfs::tools {
namespace {

/// Most rows that are loaded at once. Their offsets take 512 KiB.
constexpr std::int64_t kMostOffsets = 1 << 16;

}  // namespace

Utf8Column::Utf8Column(const ColumnSchema& schema, CellStyle style, const OpenColumnPart& open,
                       RunLimits& limits)
    : style_(style),
      offsets_array_(required_part(open, "", "offsets are"), limits),
      bytes_array_(required_part(open, ".utf8", "bytes are"), limits),
      charge_(limits.cache().budget()) {
  offsets_array_.require_items("<i8", "its offsets are");
  bytes_array_.require_items("|u1", "its bytes are");
  if (schema.nulls == Nulls::mask) mask_.emplace(open(".notnull"), limits);
  // to_csv() of python-blosc2 writes sentinels unchanged.
  if (schema.nulls != Nulls::sentinel || style == CellStyle::csv) return;
  if (!schema.sentinel.is_string())
    codec::throw_malformed("its null_value is " + schema.sentinel.dump());
  sentinel_ = schema.sentinel.get<std::string>();
}

std::int64_t Utf8Column::load(std::int64_t first, std::int64_t most, std::size_t size) {
  first_ = first;
  offsets_.clear();
  bytes_.clear();
  // Rows behind the last text count as loaded: see TableColumn::load().
  if (first >= rows()) return most;
  load_offsets(first, std::min({most, rows() - first, kMostOffsets}));
  const std::int64_t count = rows_of_size(size);
  load_texts(count);
  if (mask_) mask_->load(first, count);
  return count;
}

void Utf8Column::check_rows(std::int64_t last) {
  first_ = 0;
  bytes_.clear();
  if (last >= rows()) refuse_rows();
  for (std::int64_t first = 0; first <= last; first += kMostOffsets)
    load_offsets(first, std::min(kMostOffsets, last + 1 - first));
  offsets_.clear();
  if (mask_) mask_->load(last, 1);
}

void Utf8Column::refuse_rows() const {
  codec::throw_malformed(
      fmt::format("has {} rows, the table has more", std::max<std::int64_t>(0, rows())));
}

void Utf8Column::load_offsets(std::int64_t first, std::int64_t count) {
  offsets_.resize(static_cast<std::size_t>(count) + 1);
  offsets_array_.read(first, {reinterpret_cast<std::uint8_t*>(offsets_.data()),
                              offsets_.size() * sizeof(std::int64_t)});
  std::int64_t before = 0;
  for (std::size_t i = 0; i < offsets_.size(); i++) {
    const std::int64_t offset = offsets_[i];
    if (offset < before || offset > bytes_array_.rows())
      codec::throw_malformed(fmt::format("row {} at the offset {}, behind {} and of {} bytes",
                                         first + static_cast<std::int64_t>(i), offset, before,
                                         bytes_array_.rows()));
    before = offset;
  }
}

std::int64_t Utf8Column::rows_of_size(std::size_t size) const {
  const auto end = std::upper_bound(offsets_.begin() + 1, offsets_.end(),
                                    offsets_.front() + static_cast<std::int64_t>(size));
  return std::max<std::int64_t>(1, end - offsets_.begin() - 1);
}

void Utf8Column::load_texts(std::int64_t count) {
  offsets_.resize(static_cast<std::size_t>(count) + 1);
  const auto size = static_cast<std::size_t>(offsets_.back() - offsets_.front());
  // Only a single text can be this large: rows_of_size() limits several texts to less.
  if (size > kMaxCell)
    throw codec::Error(codec::FormatErrc::too_large,
                       fmt::format("row {}: a text of {} bytes > {}", first_, size, kMaxCell));
  charge_.resize(size);
  bytes_.resize(size);
  bytes_array_.read(offsets_.front(), bytes_);
}

void Utf8Column::append_cell(std::int64_t row, std::string& line) const {
  const auto at = static_cast<std::size_t>(row - first_);
  if (at + 1 >= offsets_.size()) refuse_rows();
  const auto begin = static_cast<std::size_t>(offsets_[at] - offsets_.front());
  const std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + begin,
                              static_cast<std::size_t>(offsets_[at + 1] - offsets_[at]));
  const bool is_marked = mask_ && style_ == CellStyle::csv;
  if (mask_ && mask_->is_absent(row)) return append_absent_cell(style_, line, is_marked);
  if (is_marked) return append_marked_text(text, line);
  if (sentinel_ && text == *sentinel_) return append_absent_cell(style_, line);
  append_text_cell(text, style_, line);
}

}  // namespace bloscfs::tools
