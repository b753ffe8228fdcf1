#include "tools/tables/object_column.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "tools/tables/msgpack_text.hpp"

namespace bloscfs::tools {
ObjectColumn::ObjectColumn(CellStyle style, const OpenColumnPart& open, RunLimits& limits)
    : style_(style), documents_(required_part(open, "", "objects are"), limits) {}

std::int64_t ObjectColumn::load(std::int64_t first, std::int64_t most, std::size_t size) {
  std::erase_if(loaded_, [&](const auto& document) { return document->end() <= first; });
  current_ = 0;
  std::size_t loaded = 0;
  for (const auto& document : loaded_) loaded += document->bytes.size();
  std::int64_t end = loaded_.empty() ? first : loaded_.back()->end();
  while (end < first + most && (end == first || loaded < size)) {
    auto document = documents_.find(end);
    // Rows behind the last object count as loaded: see TableColumn::load().
    if (!document) return most;
    end = document->end();
    loaded += document->bytes.size();
    loaded_.push_back(std::move(document));
  }
  return std::min(most, end - first);
}

void ObjectColumn::check_rows(std::int64_t last) {
  loaded_.clear();
  current_ = 0;
  if (!documents_.find(last)) refuse_rows();
}

void ObjectColumn::refuse_rows() const {
  codec::throw_malformed(fmt::format("has {} rows, the table has more", documents_.count()));
}

std::size_t ObjectColumn::memory() const {
  std::size_t bytes = 0;
  for (const auto& document : loaded_) bytes += document->memory();
  return bytes;
}

void ObjectColumn::append_cell(std::int64_t row, std::string& line) const {
  while (current_ < loaded_.size() && row >= loaded_[current_]->end()) current_++;
  while (current_ > 0 && row < loaded_[current_ - 1]->end()) current_--;
  if (current_ == loaded_.size()) refuse_rows();
  const ObjectDocument& document = *loaded_[current_];
  append_msgpack_cell(document.bytes,
                      document.positions[static_cast<std::size_t>(row - document.first)], style_,
                      line);
}

}  // namespace bloscfs::tools
