#include "tools/tables/table_output.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "codec/error.hpp"
#include "fs/numpy/npy.hpp"
#include "tools/progress.hpp"
#include "tools/tables/json_text.hpp"
#include "tools/text_columns.hpp"

namespace bloscfs::tools {
namespace {

/// Lines are written in parts of about this size.
constexpr std::size_t kLinesAtOnce = std::size_t{256} << 10;

/// Returns the text before each cell of a row.
std::vector<std::string> leads_of(const Table& table, CellStyle style, char delimiter) {
  std::vector<std::string> leads;
  for (const ColumnSchema& column : table.schemas()) {
    std::string lead(leads.empty() ? 0 : 1, delimiter);
    if (style == CellStyle::json) {
      if (leads.empty()) lead = "{";
      append_json_text(column.name, lead);
      lead += ':';
    }
    leads.push_back(std::move(lead));
  }
  return leads;
}

/// Adds quotes to the cell at `begin` if it contains a tab. Table::append_cell() has already put
/// quotes around a cell with a comma.
void quote_tabs(std::size_t begin, std::string& line) {
  if (line.find('\t', begin) == std::string::npos || line[begin] == '"') return;
  line.insert(begin, 1, '"');
  line += '"';
}

class TextWriter {
 public:
  TextWriter(Table& table, CellStyle style, char delimiter, OutputFile& out)
      : table_(table),
        style_(style),
        delimiter_(delimiter),
        out_(out),
        leads_(leads_of(table, style, delimiter)) {}

  void run() {
    Progress progress("extract", table_.stored_rows(), Progress::Unit::items);
    if (style_ == CellStyle::csv) add_names();
    while (table_.next_row()) {
      add_row();
      if (lines_.size() < kLinesAtOnce) continue;
      flush();
      progress.update(table_.stored_row());
    }
    flush();
  }

 private:
  void add_names() {
    for (std::size_t i = 0; i < leads_.size(); i++) {
      lines_ += leads_[i];
      const std::size_t begin = lines_.size();
      append_text_cell(table_.schemas()[i].name, CellStyle::csv, lines_);
      if (delimiter_ == '\t') quote_tabs(begin, lines_);
    }
    lines_ += '\n';
  }
  void add_row() {
    const std::size_t begin = lines_.size();
    for (std::size_t i = 0; i < leads_.size(); i++) {
      lines_ += leads_[i];
      const std::size_t cell = lines_.size();
      table_.append_cell(i, lines_);
      if (delimiter_ == '\t') quote_tabs(cell, lines_);
    }
    // Like Python's csv, writes a row of one empty cell as "", because readers skip empty lines.
    if (style_ == CellStyle::csv && lines_.size() == begin) lines_ += "\"\"";
    if (style_ == CellStyle::json) lines_ += leads_.empty() ? "{}" : "}";
    lines_ += '\n';
  }
  void flush() {
    out_.write({reinterpret_cast<const std::uint8_t*>(lines_.data()), lines_.size()});
    lines_.clear();
  }

  Table& table_;
  const CellStyle style_;
  const char delimiter_;
  OutputFile& out_;
  const std::vector<std::string> leads_;
  std::string lines_;
};

/// Returns the columns as a NumPy list of fields.
std::string npy_fields(const Table& table) {
  std::string fields;
  for (std::size_t i = 0; i < table.schemas().size(); i++) {
    std::string name;
    for (const char c : table.schemas()[i].name) {
      if (c == '\'' || c == '\\') name += '\\';
      name += c;
    }
    fields += fmt::format("('{}', '{}'), ", name, table.npy_dtype(i));
  }
  return "[" + fields + "]";
}

}  // namespace

void write_table_text(Table& table, CellStyle style, char delimiter, OutputFile& out) {
  TextWriter(table, style, delimiter, out).run();
}

void write_table_rows(Table& table, OutputFile& out) {
  std::vector<std::string> cells;
  for (const ColumnSchema& column : table.schemas()) cells.push_back(column.name);
  TextColumns rows(std::vector<Align>(cells.size(), Align::right), cells);
  const auto write = [&] {
    const std::string text = rows.take();
    out.write({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  };
  while (table.next_row()) {
    for (std::size_t i = 0; i < cells.size(); i++) {
      cells[i].clear();
      table.append_cell(i, cells[i]);
    }
    rows.add(cells);
    if (rows.is_full()) write();
  }
  write();
}

void write_table_npy(Table& table, OutputFile& out) {
  const auto dtype = fs::parse_numpy_dtype(npy_fields(table));
  const auto header =
      dtype ? fs::build_npy_header(dtype->descr, false, {table.count_wanted_rows()}) : std::nullopt;
  if (!header) codec::throw_unsupported("columns that no NPY file can have");
  out.write(*header);
  Progress progress("extract", table.stored_rows(), Progress::Unit::items);
  std::vector<std::uint8_t> items;
  while (table.next_row()) {
    for (std::size_t i = 0; i < table.schemas().size(); i++) {
      const codec::Bytes item = table.item(i);
      items.insert(items.end(), item.begin(), item.end());
    }
    if (items.size() < kLinesAtOnce) continue;
    out.write(items);
    items.clear();
    progress.update(table.stored_row());
  }
  out.write(items);
}

}  // namespace bloscfs::tools
