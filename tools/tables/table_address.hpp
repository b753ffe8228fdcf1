#pragma once
// Finds the table that the command line names: STORE:/KEY, or a store whose root is a table.

#include <memory>
#include <optional>
#include <string>

#include "frame/pystore/python_store.hpp"

namespace bloscfs::tools {

class RemoteFiles;

struct TableAddress {
  std::unique_ptr<frame::PythonStore> store;
  std::string group;
};

/// Returns nullopt for a leaf, and if a name without a key is not a table. Of URLs without a key,
/// only those of .b2z files are checked. Throws Error, std::system_error, and std::runtime_error
/// for an unknown key or a group that is not a table.
std::optional<TableAddress> find_table(const std::string& file, const RemoteFiles& remote);

}  // namespace bloscfs::tools
