#include "tools/report/table_section.hpp"

#include <algorithm>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "codec/error.hpp"
#include "tools/report/words.hpp"
#include "tools/store_address.hpp"
#include "tools/tables/table.hpp"

namespace bloscfs::tools {
namespace {

constexpr std::size_t kShownRows = 20, kShownColumns = 64;
/// Most bytes of a cell.
constexpr std::size_t kMostCell = 120;
/// In larger tables, the deleted rows are not counted.
constexpr std::int64_t kMostCounted = std::int64_t{1} << 26;

/// The facts about a table that the page shows.
struct TablePreview {
  std::vector<std::string> names, types;
  std::vector<std::string> computed;  ///< computed columns, which are not shown
  std::int64_t rows = 0;
  bool is_counted = true;                       ///< if false, `rows` includes deleted rows
  std::vector<std::vector<std::string>> first;  ///< cells of the first rows
};

/// Returns the text for which a CSV field stands.
std::string unquoted(const std::string& field) {
  if (!field.starts_with('"')) return field;
  std::string text;
  for (std::size_t i = 1; i + 1 < field.size(); i++) {
    text += field[i];
    if (field[i] == '"') i++;
  }
  return text;
}

/// Throws Error if the table is damaged or not supported.
TablePreview read_preview(const frame::PythonStore& store, const std::string& group,
                          RunLimits& limits) {
  Table table(store, group, {}, CellStyle::csv, limits);
  TablePreview preview;
  for (const ColumnSchema& column : table.schemas()) {
    preview.names.push_back(column.name);
    preview.types.push_back(column.kind);
  }
  preview.computed = table.computed();
  preview.is_counted = table.stored_rows() <= kMostCounted;
  preview.rows = preview.is_counted ? count_rows(store, group, {}, limits) : table.stored_rows();
  const std::size_t shown = std::min(kShownColumns, preview.names.size());
  while (preview.first.size() < kShownRows && table.next_row()) {
    std::vector<std::string>& cells = preview.first.emplace_back(shown);
    for (std::size_t i = 0; i < shown; i++) {
      table.append_cell(i, cells[i]);
      cells[i] = shortened(unquoted(cells[i]), kMostCell);
    }
  }
  return preview;
}

std::string lead(const TablePreview& preview) {
  return fmt::format("A table of {}{} and {}.", preview.is_counted ? "" : "up to ",
                     counted(preview.rows, "row", "rows"),
                     counted(std::ssize(preview.names), "column", "columns"));
}

Markup rows_table(const TablePreview& preview) {
  Markup head, body;
  const std::size_t shown = std::min(kShownColumns, preview.names.size());
  for (std::size_t i = 0; i < shown; i++)
    head.add("<th scope=\"col\">{}<br/><span class=\"kind\">{}</span></th>",
             shortened(preview.names[i], kMostCell), preview.types[i]);
  for (const auto& cells : preview.first) {
    body.add("<tr>");
    for (const std::string& cell : cells) body.add("<td>{}</td>", cell);
    body.add("</tr>\n");
  }
  Markup out;
  out.add(
      "<h3>{}</h3>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
      "aria-label=\"Rows of the table\"><table class=\"rows\"><thead><tr>{}</tr></thead><tbody>\n"
      "{}</tbody></table></div>\n",
      preview.rows == std::ssize(preview.first) ? "All rows" : "The first rows", head, body);
  if (const auto more = std::ssize(preview.names) - static_cast<std::int64_t>(shown); more > 0)
    out.add("<p class=\"left-out\">{}.</p>\n", counted(more, "column more", "columns more"));
  if (!preview.computed.empty())
    out.add("<p class=\"left-out\">Not shown, since they are computed: {}.</p>\n",
            fmt::format("{}", fmt::join(preview.computed, ", ")));
  return out;
}

/// Returns the command that writes the whole table.
Markup command(const std::string& file) {
  return markup(
      "<h3>Reading it</h3>\n<pre class=\"scroll\" tabindex=\"0\" role=\"region\" "
      "aria-label=\"In a shell\"><code>b2frame extract {} -o table.csv\n</code></pre>\n",
      shell_word(file));
}

}  // namespace

Section table_section(const std::string& file, RunLimits& limits) {
  Section section{file, Health::ok, "", true, {}};
  try {
    const StoreAddress address = *parse_store_address(file);
    const TablePreview preview = read_preview(*open_store(address.store), address.key, limits);
    section.body.add("<p class=\"lead\">{}</p>\n{}{}", lead(preview), rows_table(preview),
                     command(file));
  } catch (const codec::Error& error) {
    section.health = health_of(error);
    section.summary = reason(error, file);
    section.body.add(
        "<p class=\"lead\">A table.</p>\n<div class=\"note warn\" role=\"alert\"><h3>Its rows "
        "cannot be shown</h3>\n<p>{}</p></div>\n",
        section.summary);
  }
  return section;
}

}  // namespace bloscfs::tools
