#include "fs/source/local/names/protected_columns.hpp"

#include <algorithm>
#include <system_error>

#include <fmt/core.h>

#include "frame/open/open.hpp"
#include "frame/python/python_indexes.hpp"
#include "fs/encoding/stale_indexes.hpp"

namespace bloscfs::fs {

ProtectedColumns::ProtectedColumns(const std::string& path) {
  try {
    const auto frame = frame::open_path(path, {});
    if (!frame) codec::throw_malformed("no frame");
    const auto kind = read_index_metadata(*frame, frame::kKindLayer);
    if (!kind || !frame::is_table_kind(*kind)) return;
    if (const auto catalog = read_index_metadata(*frame, frame::kIndexCatalogLayer))
      indexed_ = frame::indexed_columns(*catalog);
    if (const auto schema = read_index_metadata(*frame, frame::kSchemaLayer))
      generating_ = frame::generating_columns(*schema);
  } catch (const std::system_error& error) {
    unreadable_ = error.what();
  }
}

std::string ProtectedColumns::obstacle(const std::string& key) const {
  if (!unreadable_.empty())
    return fmt::format("read-only, since the description of its table cannot be read: {}: {}",
                       kTableFrame, unreadable_);
  const auto is_of_key = [&key](const std::string& column) {
    return key.empty() || frame::holds_values_of(key, column);
  };
  const auto indexed = std::find_if(indexed_.begin(), indexed_.end(), is_of_key);
  if (indexed != indexed_.end())
    return fmt::format("read-only, since its table has an index of the column {}", *indexed);
  const auto generating = std::find_if(generating_.begin(), generating_.end(), is_of_key);
  if (generating != generating_.end() && !key.empty())
    return fmt::format("read-only, since another column is generated from the column {}",
                       *generating);
  return {};
}

}  // namespace bloscfs::fs
