#pragma once
// Columns of tables of python-blosc2 that a mount leaves as they are: indexes and generated columns
// in other frames tell of their values (frame/formats/indexes.md).

#include <optional>
#include <string>
#include <vector>

#include "fs/source/local/files/source_root.hpp"

namespace bloscfs::fs {

/// A path on its way down, and the innermost table whose columns it has come to. Directories are
/// absolute paths.
class ColumnPath {
 public:
  /// The way to "/", or to a directory.
  ColumnPath() = default;
  explicit ColumnPath(const std::string& directory);

  /// For SOURCE, which is `root`. To be called before values of the file with that path below it
  /// change, or before it is made. Throws EROFS, saying why, for columns of a table that are
  /// protected, or whose table is described inside of a store.
  void require_changeable(const SourceRoot& root, const std::string& path) const;

  struct Table {
    std::string obstacle;                 ///< why nobody can tell which columns are protected
    std::vector<std::string> indexed;     ///< names of columns
    std::vector<std::string> generating;  ///< the same, of which others are generated
  };

 private:
  void enter(const std::string& directory, const std::string& name);
  std::string obstacle(const std::string& directory, const std::string& full_name);
  std::optional<Table> table_in(const std::string& directory);

  bool is_in_store_ = false;  ///< which may hold the description of a table inside
  std::optional<Table> table_;
  std::string key_;  ///< the path from the table's columns on
};

}  // namespace bloscfs::fs
