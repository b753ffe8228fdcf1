#pragma once
// What lies above SOURCE, and says something about the files in it.

#include <optional>
#include <string>
#include <vector>

#include "fs/source/local/names/protected_columns.hpp"

namespace bloscfs::fs {

/// As it was when SOURCE was opened: the daemon does not see it later (fs/sandbox/sandbox.hpp).
class Surroundings {
 public:
  Surroundings() = default;
  /// `directory` is SOURCE, or what `single` is in; absolute, without symlinks.
  Surroundings(std::string directory, const std::optional<std::string>& single);

  const std::string& directory() const { return directory_; }
  /// The names in its path.
  const std::vector<std::string>& names() const { return names_; }
  /// True if a mount of a directory above can have files in this one.
  bool is_below_another_mount() const { return is_below_another_mount_; }
  /// Whether the directory that has the first `depth` of the names, less than all, holds the frame
  /// that describes a table.
  bool has_table(std::size_t depth) const { return tables_[depth].is_described; }
  /// The columns of that table that no mount changes.
  const ProtectedColumns& columns(std::size_t depth) const { return tables_[depth].columns; }
  /// Whether such a directory, or one above it, is a store that may hold such a frame inside.
  bool is_in_store(std::size_t depth) const { return depth >= store_depth_; }

 private:
  struct Table {
    bool is_described = false;
    ProtectedColumns columns;
  };

  std::string directory_;
  std::vector<std::string> names_;
  std::vector<Table> tables_;  ///< by depth
  std::size_t store_depth_ = std::string::npos;
  bool is_below_another_mount_ = false;
};

}  // namespace bloscfs::fs
