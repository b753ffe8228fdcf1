#pragma once
// Columns of a table of python-blosc2 that a mount leaves as they are: indexes and generated
// columns in other frames tell of their values (frame/formats/indexes.md).

#include <string>
#include <string_view>
#include <vector>

namespace bloscfs::fs {

/// Where a table's columns are, and the frame that describes the table.
inline constexpr std::string_view kColumnsGroup = "_cols";
inline constexpr std::string_view kTableFrame = "_meta.b2f";

class ProtectedColumns {
 public:
  ProtectedColumns() = default;
  /// Those of the table that the frame at `path` describes: all where that frame cannot be read or
  /// understood, none where it describes no table.
  explicit ProtectedColumns(const std::string& path);

  /// Why the values in the file with that key ("a/b" for _cols/a/b.b2nd) may not change, or, with
  /// an empty key, which rows are there. Empty if they may.
  std::string obstacle(const std::string& key) const;

 private:
  std::string unreadable_;               ///< why nobody can tell which columns these are
  std::vector<std::string> indexed_;     ///< names of columns
  std::vector<std::string> generating_;  ///< the same, of which others are generated
};

}  // namespace bloscfs::fs
