#include "tools/tables/table_difference.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "frame/header/msgpack_json.hpp"
#include "frame/remote/url.hpp"
#include "tools/difference_report.hpp"
#include "tools/interrupt.hpp"
#include "tools/progress.hpp"
#include "tools/tables/table.hpp"
#include "tools/tables/table_address.hpp"

namespace bloscfs::tools {
namespace {

const ColumnSchema* column_named(const std::vector<ColumnSchema>& columns,
                                 const std::string& name) {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [&](const ColumnSchema& column) { return column.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

/// One of the two tables.
struct TableSide {
  TableSide(const std::string& file, TableAddress address)
      : name(frame::shown_url(file)),
        table(std::move(address)),
        schema(table_schema(*table.store, table.group)) {}

  std::string name;
  TableAddress table;
  TableSchema schema;
};

class TableDifference {
 public:
  TableDifference(const DiffOptions& options, const TableSide& a, const TableSide& b,
                  RunLimits& limits)
      : options_(options), a_(a), b_(b), limits_(limits), report_(a.name, b.name, options.brief) {}

  int run() {
    compare_columns();
    if (report_.goes_on()) compare_row_counts();
    if (report_.goes_on()) compare_rows();
    return report_.has_any() ? kExitBadData : 0;
  }

 private:
  void compare_columns() {
    for (const ColumnSchema& column : a_.schema.columns) {
      const ColumnSchema* const other = column_named(b_.schema.columns, column.name);
      if (other == nullptr)
        tell_only(column, a_);
      else
        compare_column(column, *other);
    }
    for (const ColumnSchema& column : b_.schema.columns)
      if (column_named(a_.schema.columns, column.name) == nullptr) tell_only(column, b_);
  }

  void tell_only(const ColumnSchema& column, const TableSide& side) {
    report_.tell(fmt::format("column {} only in {}", DifferenceReport::shortened(column.name),
                             DifferenceReport::shortened(side.name)));
  }

  void compare_column(const ColumnSchema& a, const ColumnSchema& b) {
    const std::string name = DifferenceReport::shortened(a.name);
    if (a.kind != b.kind)
      report_.tell(fmt::format("column {}: of the kind {} and {}", name, a.kind, b.kind));
    else
      common_.push_back(a.name);
    if (options_.meta && a.fields != b.fields)
      report_.tell(fmt::format("column {}: schema {} and {}", name,
                               DifferenceReport::shortened(frame::to_line(a.fields)),
                               DifferenceReport::shortened(frame::to_line(b.fields))));
  }

  void compare_row_counts() {
    const std::int64_t a = count_rows(*a_.table.store, a_.table.group, {}, limits_);
    const std::int64_t b = count_rows(*b_.table.store, b_.table.group, {}, limits_);
    common_rows_ = std::min(a, b);
    if (a != b) report_.tell(fmt::format("{} rows and {}", a, b));
  }

  Table open(const TableSide& side) {
    return {*side.table.store,
            side.table.group,
            {common_, {0, common_rows_}},
            CellStyle::text,
            limits_};
  }

  void compare_rows() {
    if (common_.empty()) return;
    Table a = open(a_), b = open(b_);
    Progress progress("diff", common_rows_, Progress::Unit::items);
    std::int64_t different = 0;
    for (std::int64_t row = 0; a.next_row() && b.next_row(); row++) {
      if (row % kRowsBetweenUpdates == 0) progress.update(row);
      if (!differs(a, b)) continue;
      different++;
      if (different == 1) {
        progress.clear();
        report_.tell(fmt::format(
            "row {}, column {}: {} and {}", row, DifferenceReport::shortened(common_[column_]),
            DifferenceReport::shortened(cell_), DifferenceReport::shortened(other_cell_)));
      }
      if (!options_.all) return;
    }
    progress.clear();
    if (different > 0) report_.tell(fmt::format("{} of {} rows", different, common_rows_));
  }

  /// Sets the first column in which the rows differ, and both of its cells.
  bool differs(const Table& a, const Table& b) {
    for (column_ = 0; column_ < common_.size(); column_++) {
      cell_.clear();
      other_cell_.clear();
      a.append_cell(column_, cell_);
      b.append_cell(column_, other_cell_);
      if (cell_ != other_cell_) return true;
    }
    return false;
  }

  static constexpr std::int64_t kRowsBetweenUpdates = 4096;

  const DiffOptions& options_;
  const TableSide& a_;
  const TableSide& b_;
  RunLimits& limits_;
  DifferenceReport report_;
  std::vector<std::string> common_;  ///< columns of the same kind in both tables
  std::int64_t common_rows_ = 0;
  std::size_t column_ = 0;
  std::string cell_, other_cell_;
};

std::optional<TableSide> open_side(const std::string& file, const RemoteFiles& remote) {
  auto address = find_table(file, remote);
  if (!address) return std::nullopt;
  return TableSide(file, *std::move(address));
}

/// Returns nullopt if neither file is a table.
std::optional<int> compare_tables(const DiffOptions& options, const RemoteFiles& remote,
                                  RunLimits& limits) {
  const auto a = open_side(options.first, remote);
  const auto b = open_side(options.other, remote);
  if (!a && !b) return std::nullopt;
  if (!a || !b)
    throw std::runtime_error((a ? options.other : options.first) +
                             " is not a table; a table can be compared with a table only");
  return TableDifference(options, *a, *b, limits).run();
}

}  // namespace

std::optional<int> diff_tables(const DiffOptions& options, const RemoteFiles& remote,
                               RunLimits& limits) {
  try {
    return compare_tables(options, remote, limits);
  } catch (const Interrupted&) {
    throw;
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception& error) {
    complain(options.first + " " + options.other, reason(error));
    return kExitTrouble;
  }
}

}  // namespace bloscfs::tools
