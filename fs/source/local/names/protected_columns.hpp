#pragma once
// Protects columns of python-blosc2 tables. Indexes and generated columns in other frames depend on
// the values of a column (frame/formats/indexes.md), so the mount must not change these values.

#include <optional>
#include <string>
#include <vector>

#include "fs/source/local/files/source_root.hpp"

namespace bloscfs::fs {

/// A path that is followed downwards from "/". Remembers the innermost table whose columns group
/// the path has entered. Directories are absolute paths.
class ColumnPath {
 public:
  /// The path to "/", or to a directory.
  ColumnPath() = default;
  explicit ColumnPath(const std::string& directory);

  /// To be called before the file at `path`, relative to SOURCE, is created or its values change.
  /// `root` is the opened SOURCE. Throws EROFS, with the reason, for a protected column of a table,
  /// and for every column of a table whose metadata lies inside a store file.
  void require_changeable(const SourceRoot& root, const std::string& path) const;

  struct Table {
    std::string obstacle;  ///< why the protected columns are unknown; empty if they are known
    std::vector<std::string> indexed;     ///< names of columns that have an index
    std::vector<std::string> generating;  ///< names of columns that others are generated from
  };

 private:
  void enter(const std::string& directory, const std::string& name);
  std::string obstacle(const std::string& directory, const std::string& full_name);
  std::optional<Table> table_in(const std::string& directory);

  bool is_in_store_ = false;  ///< a store on the path may contain the table's description
  std::optional<Table> table_;
  std::string key_;  ///< the path below the columns group of `table_`
};

}  // namespace bloscfs::fs
