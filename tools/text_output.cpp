#include "tools/text_output.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "codec/error.hpp"
#include "tools/chosen_columns.hpp"
#include "tools/item_text.hpp"
#include "tools/progress.hpp"
#include "tools/record_fields.hpp"
#include "tools/tables/item_cell.hpp"
#include "tools/tables/json_text.hpp"
#include "tools/text_columns.hpp"

namespace bloscfs::tools {
namespace {

constexpr std::int64_t kBytesOfItems = std::int64_t{1} << 20;
/// Lines are written in parts of about this size.
constexpr std::size_t kTextSize = std::size_t{1} << 18;
/// Most cells that wait until the widths of the columns are known.
constexpr std::size_t kMostCells = std::size_t{1} << 15;

/// Returns the conversion of items to text. Items of a flat frame without a dtype count as unsigned
/// integers. Throws Error(unsupported) if the items have no text form.
ItemText text_of(const Elements& elements, const FieldNames& names,
                 TextStyle style = TextStyle::columns) {
  if (elements.dtype())
    if (auto fields = record_fields(*elements.dtype()))
      return record_text(chosen_columns(*std::move(fields), names), style);
  const std::string dtype =
      elements.dtype().value_or(elements.shape() ? "" : fmt::format("<u{}", elements.itemsize()));
  if (auto text = item_text(dtype, style)) return text;
  if (elements.dtype()) codec::throw_unsupported("cannot print items of " + *elements.dtype());
  codec::throw_unsupported(fmt::format("cannot print items of {} bytes without a dtype{}",
                                       elements.itemsize(),
                                       elements.shape() ? "" : "; --dtype says what they are"));
}

bool has_records(const Elements& elements) {
  return elements.dtype() && elements.dtype()->find_first_of("[{") == 0;
}

/// Returns the number of items in a line.
std::int64_t line_length(const Elements& elements, const Shape& shape) {
  if (shape.size() < 2 || has_records(elements)) return 1;
  return std::max<std::int64_t>(1, shape.back());
}

/// Collects text, and writes it in large parts.
class TextOutput {
 public:
  explicit TextOutput(OutputFile& out) : out_(out) {}

  std::string& text() { return text_; }
  void write_full_part() {
    if (text_.size() >= kTextSize) write();
  }
  void write() {
    out_.write({reinterpret_cast<const std::uint8_t*>(text_.data()), text_.size()});
    text_.clear();
  }

 private:
  OutputFile& out_;
  std::string text_;
};

class ItemLines {
 public:
  /// `first` is the position of the first item among all items, which are cut into lines of
  /// `length`.
  ItemLines(ItemText append, std::size_t itemsize, std::int64_t length, std::int64_t first,
            OutputFile& out, char separator = ' ')
      : append_(std::move(append)),
        itemsize_(itemsize),
        length_(length),
        separator_(separator),
        next_(first),
        out_(out) {}

  void add(codec::Bytes items) {
    for (; !items.empty(); items = items.subspan(itemsize_)) {
      if (is_within_line_) out_.text() += separator_;
      append_(items.first(itemsize_), out_.text());
      is_within_line_ = ++next_ % length_ != 0;
      if (!is_within_line_) out_.text() += '\n';
      out_.write_full_part();
    }
  }
  void end() {
    if (is_within_line_) out_.text() += '\n';
    out_.write();
  }

 private:
  const ItemText append_;
  const std::size_t itemsize_;
  const std::int64_t length_;
  const char separator_;
  std::int64_t next_;
  bool is_within_line_ = false;
  TextOutput out_;
};

std::size_t itemsize_of(const Elements& elements) {
  return static_cast<std::size_t>(elements.itemsize());
}

std::vector<RecordField> fields_of(const SlicedItems& items, const FieldNames& names) {
  const auto& dtype = items.elements().dtype();
  auto fields = dtype ? record_fields(*dtype) : std::nullopt;
  if (!fields)
    codec::throw_unsupported("cannot be written as CSV or JSON: its items are not records");
  return chosen_columns(*std::move(fields), names);
}

/// Calls `use` for each record.
template <typename Use>
void for_each_record(SlicedItems& items, Progress& progress, Use use) {
  const std::size_t size = itemsize_of(items.elements());
  std::int64_t done = 0;
  items.read([&](codec::Bytes records) {
    done += std::ssize(records) / items.elements().itemsize();
    for (; !records.empty(); records = records.subspan(size)) use(records.first(size));
    progress.update(done);
  });
}

}  // namespace

void write_text(Elements& elements, const ItemRange& range, OutputFile& out) {
  const Shape shape = shape_of(elements);
  ItemLines lines(text_of(elements, {}), itemsize_of(elements), line_length(elements, shape),
                  range.first, out);
  const std::int64_t at_once = std::max<std::int64_t>(1, kBytesOfItems / elements.itemsize());
  Progress progress("cat", range.end - range.first, Progress::Unit::items);
  std::vector<std::uint8_t> items;
  for (std::int64_t first = range.first; first < range.end; first += at_once) {
    const std::int64_t end = std::min(range.end, first + at_once);
    items.resize(static_cast<std::size_t>(end - first) * itemsize_of(elements));
    elements.read(first * elements.itemsize(), items);
    lines.add(items);
    progress.update(end - range.first);
  }
  lines.end();
  if (elements.nbytes() % elements.itemsize() != 0 && range.end == elements.count())
    refuse_incomplete_item(elements);
}

void refuse_incomplete_item(const Elements& elements) {
  codec::throw_malformed(
      fmt::format("ends with {} bytes, less than one item; read the whole file without a slice or "
                  "--text, or its bytes with b2frame cat --dtype u1",
                  elements.nbytes() % elements.itemsize()));
}

namespace {

void write_lines(SlicedItems& items, const FieldNames& names, TextStyle style, char separator,
                 OutputFile& out) {
  const Elements& elements = items.elements();
  ItemLines lines(text_of(elements, names, style), itemsize_of(elements),
                  line_length(elements, items.shape()), 0, out, separator);
  Progress progress(style == TextStyle::csv ? "extract" : "cat", items.nbytes());
  std::int64_t done = 0;
  items.read([&](codec::Bytes bytes) {
    lines.add(bytes);
    progress.update(done += std::ssize(bytes));
  });
  lines.end();
}

}  // namespace

void write_text(SlicedItems& items, const FieldNames& names, OutputFile& out) {
  write_lines(items, names, TextStyle::columns, ' ', out);
}

void write_csv(SlicedItems& items, const FieldNames& names, OutputFile& out) {
  if (!has_records(items.elements())) return write_lines(items, names, TextStyle::csv, ',', out);
  const std::vector<RecordField> fields = fields_of(items, names);
  const ItemText append = record_text(fields, TextStyle::csv);
  TextOutput lines(out);
  for (const RecordField& field : fields) {
    if (&field != &fields.front()) lines.text() += ',';
    append_csv(field.name, lines.text());
  }
  lines.text() += '\n';
  Progress progress("extract", items.count(), Progress::Unit::items);
  for_each_record(items, progress, [&](codec::Bytes record) {
    append(record, lines.text());
    lines.text() += '\n';
    lines.write_full_part();
  });
  lines.write();
}

void write_json(SlicedItems& items, const FieldNames& names, OutputFile& out) {
  const std::vector<RecordField> fields = fields_of(items, names);
  static_cast<void>(field_texts(fields, TextStyle::csv));  // throws for a field that has no text
  std::vector<ItemCell> cells;
  std::vector<std::string> leads;  // the texts in front of the cells
  for (const RecordField& field : fields) {
    cells.push_back(
        array_item_cell(field.dtype, static_cast<std::int64_t>(field.size), {}, CellStyle::json));
    leads.emplace_back(leads.empty() ? "{" : ",");
    append_json_text(field.name, leads.back());
    leads.back() += ':';
  }
  TextOutput lines(out);
  Progress progress("extract", items.count(), Progress::Unit::items);
  for_each_record(items, progress, [&](codec::Bytes record) {
    for (std::size_t i = 0; i < fields.size(); i++) {
      lines.text() += leads[i];
      cells[i](fields[i].of(record), lines.text());
    }
    lines.text() += "}\n";
    lines.write_full_part();
  });
  lines.write();
}

void write_rows(SlicedItems& items, const FieldNames& names, OutputFile& out) {
  if (!has_records(items.elements())) return write_text(items, names, out);
  const std::vector<RecordField> fields = fields_of(items, names);
  const std::vector<ItemText> texts = field_texts(fields, TextStyle::columns);
  std::vector<std::string> cells;
  cells.reserve(fields.size());
  for (const RecordField& field : fields) cells.push_back(field.name);
  TextColumns table(std::vector<Align>(fields.size(), Align::right), cells);
  TextOutput lines(out);
  std::size_t rows = 0;
  Progress progress("head", items.count(), Progress::Unit::items);
  for_each_record(items, progress, [&](codec::Bytes record) {
    for (std::size_t i = 0; i < fields.size(); i++) {
      cells[i].clear();
      texts[i](fields[i].of(record), cells[i]);
    }
    table.add(cells);
    if (++rows * cells.size() < kMostCells) return;
    rows = 0;
    lines.text() += table.take();
    lines.write_full_part();
  });
  lines.text() += table.take();
  lines.write();
}

}  // namespace bloscfs::tools
