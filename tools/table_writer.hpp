#pragma once
// Writes a table of python-blosc2 into a directory (frame/formats/stores.md, "Tables").

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "tools/b2frame_commands.hpp"
#include "tools/chunk_pipeline.hpp"
#include "tools/column_type.hpp"
#include "tools/csv_parser.hpp"
#include "tools/frame_output.hpp"
#include "tools/store_output.hpp"

namespace bloscfs::tools {

/// The facts about a column that are known before its first value is written.
struct WrittenColumn {
  std::string name;
  ColumnType type;
  std::int64_t text_bytes = 0;  ///< of all values together; for kind utf8
  bool has_nulls = false;       ///< at least one value is absent; only for a nullable column
};

/// The number of items in a chunk and in a block.
struct TableGrid {
  std::int32_t chunk, block;
};

/// For one thread. Writes the columns in groups, because each column keeps the values of a chunk in
/// memory and has open files. The caller reads its rows once for each group.
///
///     for (std::size_t first = 0; first < columns.size(); first = writer.end_group()) {
///       writer.begin_group(first);
///       for each row: writer.add_row(fields, line);
///     }
///     writer.finish();
///
/// Throws FileError for an output, and Error for a value that its column cannot hold. That Error
/// has the line, the name of the column and the value.
class TableWriter {
 public:
  /// Throws UsageError if the options do not fit a table.
  static void check_options(const StorageOptions& options);

  /// `output` must be empty, and must outlive the object. Throws what check_options() throws.
  TableWriter(const StoreOutput& output, std::vector<WrittenColumn> columns, std::int64_t rows,
              const StorageOptions& options);
  ~TableWriter();
  TableWriter(const TableWriter&) = delete;
  TableWriter& operator=(const TableWriter&) = delete;

  /// Returns how often the caller must read the rows.
  std::int64_t group_count() const;
  void begin_group(std::size_t first);
  void add_row(const std::vector<CsvField>& fields, std::int64_t line);
  /// Returns the first column of the next group. Throws Error(malformed) if the number of rows or
  /// the bytes of text differ from those announced.
  std::size_t end_group();
  /// Writes the parts of a table that are not columns.
  void finish();

 private:
  class Leaf;
  class Column;
  struct Pipeline;
  struct Items {
    std::int64_t stored;    ///< items of the array, at least one
    std::int64_t expected;  ///< items that will be added
  };

  std::size_t group_end(std::size_t first) const;
  std::int64_t buffered_bytes(const WrittenColumn& column) const;
  TableGrid row_grid(std::int32_t itemsize) const;
  /// Returns the items of a leaf with one item a row. In a table without rows, each array has one
  /// item. _valid_rows marks that item as not a row.
  Items row_items() const;
  std::unique_ptr<Leaf> make_leaf(const std::string& path, const std::string& dtype,
                                  std::int32_t itemsize, Items items, TableGrid grid);
  std::unique_ptr<Column> make_column(const WrittenColumn& column);
  void finish_chunks();
  void write_valid_rows();
  void write_meta();

  const StoreOutput& output_;
  const std::vector<WrittenColumn> columns_;
  const std::int64_t rows_;
  const StorageOptions options_;
  /// Key: bytes of an item, items of a block, and parameter of the last filter.
  std::map<std::tuple<std::int32_t, std::int32_t, int>, std::unique_ptr<Pipeline>> pipelines_;
  std::vector<std::unique_ptr<Column>> group_;
  std::size_t first_ = 0;  ///< first column of the group
};

}  // namespace bloscfs::tools
