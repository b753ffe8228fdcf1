#include "tools/tables/table.hpp"

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codec/error.hpp"
#include "frame/pystore/column_names.hpp"
#include "frame/store/throw_errno.hpp"
#include "tools/chosen_columns.hpp"
#include "tools/input.hpp"
#include "tools/interrupt.hpp"
#include "tools/tables/array_column.hpp"
#include "tools/tables/dictionary_column.hpp"
#include "tools/tables/object_column.hpp"
#include "tools/tables/utf8_column.hpp"
#include "tools/verifier.hpp"

namespace bloscfs::tools {
namespace {

/// Most columns that can be read at once. An open column takes about 10 KiB of memory.
constexpr std::size_t kMaxColumns = 1 << 12;
constexpr std::size_t kMaxRow = std::size_t{64} << 20;
/// Bytes of rows that are loaded at once.
constexpr std::size_t kSizeAtOnce = std::size_t{8} << 20;
/// A value without a fixed size counts as this many bytes.
constexpr std::size_t kLeastSize = 16;
/// Limit for the bytes of the loaded values of all columns. One more column may be loaded before
/// the check.
constexpr std::size_t kMaxLoaded = std::size_t{96} << 20;
constexpr std::int64_t kMostRowsAtOnce = 1 << 16;

std::string key_below(const std::string& group, const std::string& name) {
  return (group == "/" ? std::string() : group) + "/" + name;
}

/// Returns null if the store has no such leaf.
std::shared_ptr<const frame::Snapshot> open_leaf_of(const frame::PythonStore& store,
                                                    const std::string& key) {
  const auto entry = store.find(key);
  if (!entry || !entry->leaf) return nullptr;
  std::shared_ptr<const frame::Snapshot> snapshot = store.open(*entry->leaf);
  if (!snapshot) codec::throw_malformed(key + ": is not a Blosc2 frame");
  return snapshot;
}

std::shared_ptr<const frame::Snapshot> required_leaf(const frame::PythonStore& store,
                                                     const std::string& key) {
  auto snapshot = open_leaf_of(store, key);
  if (!snapshot) codec::throw_malformed(key + ": is missing");
  return snapshot;
}

/// Runs `work`. Adds the name of the column to its errors.
template <typename Work>
decltype(auto) of_column(const std::string& name, const Work& work) {
  try {
    return work();
  } catch (const codec::Error& error) {
    throw codec::Error(static_cast<codec::FormatErrc>(error.code().value()),
                       fmt::format("column {}: {}", name, error.what()));
  } catch (const std::system_error& error) {
    throw std::runtime_error(fmt::format("column {}: {}", name, reason(error)));
  }
}

/// Opens a column as its kind needs. `table_rows` includes deleted rows. Throws Error without the
/// name of the column.
std::unique_ptr<TableColumn> open_table_column(const ColumnSchema& schema, CellStyle style,
                                               const OpenColumnPart& open, std::int64_t table_rows,
                                               RunLimits& limits) {
  if (schema.kind == "utf8") return std::make_unique<Utf8Column>(schema, style, open, limits);
  if (schema.kind == "dictionary")
    return std::make_unique<DictionaryColumn>(schema, style, open, table_rows, limits);
  if (schema.nulls == Nulls::native) return std::make_unique<ObjectColumn>(style, open, limits);
  return std::make_unique<ArrayColumn>(schema, style, open, table_rows, limits);
}

/// Returns the last row that is not deleted, counted including deleted ones; -1 if there is none.
std::int64_t last_row(const frame::PythonStore& store, const std::string& group,
                      RunLimits& limits) {
  LiveRows rows(required_leaf(store, key_below(group, "_valid_rows")), {}, limits);
  std::int64_t last = -1;
  for (std::int64_t row = rows.next(); row >= 0; row = rows.next()) last = row;
  return last;
}

}  // namespace

bool is_table(const frame::PythonStore& store, const std::string& group) {
  return store.group_kind(group) == "ctable";
}

TableSchema table_schema(const frame::PythonStore& store, const std::string& group) {
  if (!is_table(store, group)) frame::throw_errno(EISDIR, group);
  return read_table_schema(*required_leaf(store, key_below(group, "_meta")));
}

Table::Table(const frame::PythonStore& store, const std::string& group,
             const TableSelection& selection, CellStyle style, RunLimits& limits)
    : limits_(limits), rows_(selection.rows) {
  TableSchema schema = table_schema(store, group);
  schemas_ = chosen_columns(std::move(schema.columns), selection.columns);
  computed_ = std::move(schema.computed);
  if (schemas_.size() > kMaxColumns)
    throw codec::Error(codec::FormatErrc::too_large,
                       fmt::format("{} columns, of which {} can be read at once; --columns chooses",
                                   schemas_.size(), kMaxColumns));
  valid_rows_ = required_leaf(store, key_below(group, "_valid_rows"));
  live_ = std::make_unique<LiveRows>(valid_rows_, rows_, limits);
  std::size_t row_size = 1;
  for (const ColumnSchema& column : schemas_) {
    const auto open = [&](const std::string& suffix) {
      // The key may have the column's name in escaped or in plain form.
      auto part = open_leaf_of(
          store, key_below(group, "_cols/" + frame::column_path(column.name) + suffix));
      return part ? std::move(part)
                  : open_leaf_of(store, key_below(group, "_cols/" + column.name + suffix));
    };
    columns_.push_back(of_column(column.name, [&] {
      return open_table_column(column, style, open, stored_rows(), limits);
    }));
    row_size += std::max(columns_.back()->row_size(), kLeastSize);
    if (row_size > kMaxRow)
      throw codec::Error(codec::FormatErrc::too_large,
                         fmt::format("rows of more than {} bytes", kMaxRow));
  }
  rows_at_once_ = std::clamp(static_cast<std::int64_t>(kSizeAtOnce / row_size), std::int64_t{1},
                             kMostRowsAtOnce);
  size_at_once_ = kSizeAtOnce / std::max<std::size_t>(8, columns_.size());
  load_order_.resize(columns_.size());
  std::iota(load_order_.begin(), load_order_.end(), std::size_t{0});
  std::stable_partition(load_order_.begin(), load_order_.end(),
                        [&](std::size_t column) { return columns_[column]->row_size() == 0; });
}

std::int64_t Table::count_wanted_rows() const {
  return LiveRows(valid_rows_, rows_, limits_).count();
}

bool Table::next_row() {
  row_ = live_->next();
  if (row_ < 0) return false;
  if (row_ >= loaded_end_) load_rows();
  return true;
}

void Table::load_rows() {
  throw_if_interrupted();
  std::int64_t count = live_->useful_rows(std::min(rows_at_once_, stored_rows() - row_));
  // A column may load fewer rows than asked for. Then the columns after it load only that many.
  std::size_t memory = 0;
  for (const std::size_t column : load_order_) {
    count = of_column(schemas_[column].name,
                      [&] { return columns_[column]->load(row_, count, size_at_once_); });
    memory += columns_[column]->memory();
    if (memory > kMaxLoaded)
      throw codec::Error(codec::FormatErrc::too_large,
                         fmt::format("column {}: the columns up to it take more than {} bytes at "
                                     "row {}; --columns chooses some",
                                     schemas_[column].name, kMaxLoaded, row_));
  }
  loaded_end_ = row_ + count;
}

void Table::check_rows(std::int64_t last) {
  for (std::size_t column = 0; column < columns_.size(); column++)
    of_column(schemas_[column].name, [&] { columns_[column]->check_rows(last); });
}

void Table::append_cell(std::size_t column, std::string& line) const {
  of_column(schemas_[column].name, [&] { columns_[column]->append_cell(row_, line); });
}

std::string Table::npy_dtype(std::size_t column) const {
  const ColumnSchema& schema = schemas_[column];
  const fs::NumpyDtype* const dtype = columns_[column]->item_dtype();
  if (dtype != nullptr && schema.kind == "timestamp" && schema.nulls != Nulls::mask)
    return fmt::format("{}M8[{}]", dtype->stored.front(), unit_of_time(schema));
  if (dtype != nullptr && schema.nulls != Nulls::mask) return dtype->stored;
  codec::throw_unsupported(
      schema.nulls == Nulls::mask
          ? fmt::format("column {}: may have absent values, which a NPY file cannot have; choose "
                        ".csv or .json, or other columns with --columns",
                        schema.name)
          : fmt::format("column {}: is of the kind {}, which a NPY file cannot have; choose .csv "
                        "or .json, or other columns with --columns",
                        schema.name, schema.kind));
}

std::vector<TableProblem> table_problems(const frame::PythonStore& store, const std::string& group,
                                         RunLimits& limits) {
  constexpr std::string_view kMeta = "/_meta";
  std::vector<std::string> tables;
  store.for_each_leaf(group, [&](const std::string& key, const frame::Leaf&) {
    if (!key.ends_with(kMeta)) return;
    const std::string above = key.substr(0, key.size() - kMeta.size());
    if (is_table(store, above.empty() ? "/" : above)) tables.push_back(above.empty() ? "/" : above);
  });
  std::vector<TableProblem> problems;
  for (const std::string& table : tables) {
    const auto check = [&](const auto& work) {
      try {
        work();
      } catch (const Interrupted&) {
        throw;
      } catch (const std::exception& error) {
        if (health_of(error) == Health::damaged) problems.push_back({table, reason(error, table)});
      }
    };
    check([&] {
      const std::vector<ColumnSchema> columns = table_schema(store, table).columns;
      const std::int64_t last = last_row(store, table, limits);
      // One by one, so that one bad column does not hide others.
      for (const ColumnSchema& column : columns)
        check([&] {
          Table opened(store, table, {{column.name}, {}}, CellStyle::csv, limits);
          if (last >= 0) opened.check_rows(last);
        });
    });
  }
  return problems;
}

std::optional<ColumnAddress> find_column(const frame::PythonStore& store, const std::string& key) {
  constexpr std::string_view kColumns = "/_cols/";
  const std::size_t at = key.rfind(kColumns);
  if (at == std::string::npos) return std::nullopt;
  const std::string group = at == 0 ? "/" : key.substr(0, at);
  if (!is_table(store, group)) return std::nullopt;
  const std::string path = key.substr(at + kColumns.size());
  for (const ColumnSchema& column : table_schema(store, group).columns)
    if (path == column.name || path == frame::column_path(column.name))
      return ColumnAddress{group, column.name};
  return std::nullopt;
}

std::int64_t count_rows(const frame::PythonStore& store, const std::string& group,
                        const RowRange& rows, RunLimits& limits) {
  return LiveRows(required_leaf(store, key_below(group, "_valid_rows")), rows, limits).count();
}

}  // namespace bloscfs::tools
