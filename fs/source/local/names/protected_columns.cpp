#include "fs/source/local/names/protected_columns.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/core.h>
#include <sys/stat.h>

#include "frame/open/open.hpp"
#include "frame/pystore/store_names.hpp"
#include "frame/python/python_indexes.hpp"
#include "frame/store/open_regular.hpp"
#include "frame/store/refusal.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/encoding/stale_indexes.hpp"

namespace bloscfs::fs {
namespace {

/// Entries of a table's directory: the group of its columns, the frame that describes the table,
/// and the array that says which rows are valid.
constexpr std::string_view kColumnsGroup = "_cols";
constexpr std::string_view kTableFrame = "_meta.b2f";
constexpr std::string_view kValidRows = "_valid_rows";

bool is_there(const std::string& path) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) == 0) return true;
  // An entry that the daemon may not look at counts as absent: SOURCE may be in any user's home.
  if (!frame::is_refusal(frame::errno_code(errno))) frame::throw_errno(path);
  return false;
}

/// Returns the key that python-blosc2 makes from a file's name: the name without its last
/// extension. Also removes a ".npy" before that extension: a.npy.b2frame may become the array
/// a.b2nd.
std::string key_of(const std::string& full_name) {
  const std::size_t dot = full_name.rfind('.');
  if (dot == std::string::npos || dot == 0) return full_name;
  std::string key = full_name.substr(0, dot);
  if (key.ends_with(".npy")) key.resize(key.size() - std::string_view(".npy").size());
  return key;
}

/// Reads from the frame _meta.b2f which columns of its table are protected.
ColumnPath::Table described_by(const std::string& path) {
  ColumnPath::Table table;
  try {
    const auto frame = frame::open_path(path, {});
    if (!frame) codec::throw_malformed("no frame");
    const auto kind = read_index_metadata(*frame, frame::kKindLayer);
    if (!kind || !frame::is_table_kind(*kind)) return table;
    if (const auto catalog = read_index_metadata(*frame, frame::kIndexCatalogLayer))
      table.indexed = frame::indexed_columns(*catalog);
    if (const auto schema = read_index_metadata(*frame, frame::kSchemaLayer))
      table.generating = frame::generating_columns(*schema);
  } catch (const std::system_error& error) {
    table.obstacle =
        fmt::format("read-only, since the description of its table cannot be read: {}: {}",
                    kTableFrame, error.what());
  }
  return table;
}

/// Returns why the values of a column may not change; empty if they may. `key` is "a/b" for
/// _cols/a/b.b2nd, and empty for the array of valid rows.
std::string obstacle_of(const ColumnPath::Table& table, const std::string& key) {
  if (!table.obstacle.empty()) return table.obstacle;
  const auto is_of_key = [&key](const std::string& column) {
    return key.empty() || frame::holds_values_of(key, column);
  };
  const auto indexed = std::find_if(table.indexed.begin(), table.indexed.end(), is_of_key);
  if (indexed != table.indexed.end())
    return fmt::format("read-only, since its table has an index of the column {}", *indexed);
  const auto generating = std::find_if(table.generating.begin(), table.generating.end(), is_of_key);
  if (generating != table.generating.end() && !key.empty())
    return fmt::format("read-only, since another column is generated from the column {}",
                       *generating);
  return {};
}

}  // namespace

ColumnPath::ColumnPath(const std::string& directory) {
  std::filesystem::path above = "/";
  for (const auto& part : std::filesystem::path(directory).relative_path()) {
    enter(above, part);
    above /= part;
  }
}

/// Returns the table whose directory this is; nullopt if the directory is not a table.
std::optional<ColumnPath::Table> ColumnPath::table_in(const std::string& directory) {
  const std::string description = join_path(directory, std::string(kTableFrame));
  if (is_there(description)) return described_by(description);
  if (!is_in_store_) return std::nullopt;
  return Table{
      "read-only, since the table that it belongs to is described inside of a store", {}, {}};
}

/// Moves on from a directory into its entry `name`.
void ColumnPath::enter(const std::string& directory, const std::string& name) {
  is_in_store_ |= is_there(join_path(directory, std::string(frame::kEmbedName)));
  auto table = name == kColumnsGroup ? table_in(directory) : std::nullopt;
  key_ = table ? std::string() : join_path(key_, name);
  if (table) table_ = std::move(table);
}

/// Returns why the file `full_name` may not change; empty if it may. The path has been followed to
/// `directory`, which contains the file.
std::string ColumnPath::obstacle(const std::string& directory, const std::string& full_name) {
  const std::string key = key_of(full_name);
  if (key == kValidRows) {
    is_in_store_ |= is_there(join_path(directory, std::string(frame::kEmbedName)));
    if (const auto table = table_in(directory)) return obstacle_of(*table, {});
  }
  return table_ ? obstacle_of(*table_, join_path(key_, key)) : std::string();
}

void ColumnPath::require_changeable(const SourceRoot& root, const std::string& path) const {
  const std::filesystem::path below(path);
  const std::string name = below.filename();
  const std::filesystem::path above = below.parent_path();
  // The names of most files prove that they belong to no table.
  if (!table_ && key_of(name) != kValidRows &&
      std::find(above.begin(), above.end(), kColumnsGroup) == above.end())
    return;
  ColumnPath here = *this;
  std::string directory = frame::descriptor_path(root.descriptor());
  for (const std::string part : above) {
    here.enter(directory, part);
    directory = join_path(directory, part);
  }
  const std::string why = here.obstacle(directory, name);
  if (!why.empty()) frame::throw_errno(EROFS, why);
}

}  // namespace bloscfs::fs
