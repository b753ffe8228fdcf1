#pragma once
// Which table the command line means: STORE:/KEY, or a store whose root is one.

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

/// Nothing for a leaf, and for what is no table by its plain name; of URLs without a key those of
/// .b2z files are looked at. Throws Error, std::system_error, and std::runtime_error for a key that
/// the store has not, and for a group that is no table.
std::optional<TableAddress> find_table(const std::string& file, const RemoteFiles& remote);

}  // namespace bloscfs::tools
