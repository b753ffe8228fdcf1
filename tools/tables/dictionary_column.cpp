#include "tools/tables/dictionary_column.hpp"

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/python/msgpack_cursor.hpp"

namespace bloscfs::tools {
namespace {

/// Limit for the texts of a dictionary and their positions, in bytes.
constexpr std::size_t kMaxDictionary = std::size_t{64} << 20;

}  // namespace

DictionaryColumn::DictionaryColumn(const ColumnSchema& schema, CellStyle style,
                                   const OpenColumnPart& open, std::int64_t table_rows,
                                   RunLimits& limits)
    : style_(style),
      codes_array_(required_part(open, "", "codes are"), limits),
      charge_(limits.cache().budget()) {
  codes_array_.require_items("<i4", "its codes are");
  codes_array_.require_rows(table_rows);
  documents_.emplace(required_part(open, "_dict", "dictionary is"), limits);
  if (const auto code = schema.fields.find("null_code");
      code != schema.fields.end() && code->is_number_integer())
    null_code_ = code->get<std::int64_t>();
}

std::int64_t DictionaryColumn::load(std::int64_t first, std::int64_t most, std::size_t /*size*/) {
  if (documents_) load_texts();
  first_ = first;
  codes_.resize(static_cast<std::size_t>(most));
  codes_array_.read(first, {reinterpret_cast<std::uint8_t*>(codes_.data()),
                            codes_.size() * sizeof(std::int32_t)});
  return most;
}

void DictionaryColumn::load_texts() {
  std::int64_t object = 0;
  while (const auto document = documents_->find(object)) {
    add_texts(*document);
    object = document->end();
  }
  documents_.reset();
}

void DictionaryColumn::add_texts(const ObjectDocument& document) {
  const std::size_t size = letters_.size() + document.bytes.size() +
                           (texts_.size() + document.positions.size()) * sizeof(Text);
  if (size > kMaxDictionary)
    throw codec::Error(codec::FormatErrc::too_large,
                       fmt::format("a dictionary of more than {} bytes", kMaxDictionary));
  // The capacity of both containers may be twice their size.
  charge_.resize(2 * size);
  for (const std::size_t position : document.positions) {
    const auto text = frame::MsgpackCursor(document.bytes, position).read_if_text();
    if (!text)
      codec::throw_malformed(fmt::format("value {} of its dictionary is not text", texts_.size()));
    texts_.push_back({letters_.size(), text->size()});
    letters_ += *text;
  }
}

void DictionaryColumn::append_cell(std::int64_t row, std::string& line) const {
  const std::int32_t code = codes_[static_cast<std::size_t>(row - first_)];
  if (code == null_code_) return append_absent_cell(style_, line);
  if (code < 0 || static_cast<std::size_t>(code) >= texts_.size())
    codec::throw_malformed(fmt::format("row {} has the code {}, its dictionary has {} texts", row,
                                       code, texts_.size()));
  const Text& text = texts_[static_cast<std::size_t>(code)];
  append_text_cell(std::string_view(letters_).substr(text.begin, text.size), style_, line);
}

}  // namespace bloscfs::tools
