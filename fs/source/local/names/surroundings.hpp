#pragma once
// What lies above SOURCE, and says something about the files in it.

#include <optional>
#include <string>

#include "fs/source/local/names/protected_columns.hpp"

namespace bloscfs::fs {

/// As it was when SOURCE was opened: the daemon does not see it later (fs/sandbox/sandbox.hpp).
class Surroundings {
 public:
  /// `directory` is SOURCE, or what `single` is in; absolute, without symlinks.
  Surroundings(std::string directory, const std::optional<std::string>& single);

  const std::string& directory() const { return directory_; }
  /// True if a mount of a directory above can have files in this one.
  bool is_below_another_mount() const { return is_below_another_mount_; }
  /// The way to the directory, which may lie in the columns of a table.
  const ColumnPath& columns() const { return columns_; }

 private:
  std::string directory_;
  bool is_below_another_mount_;
  ColumnPath columns_;
};

}  // namespace bloscfs::fs
