#pragma once
// Compares two tables.

#include <optional>

#include "tools/b2frame_commands.hpp"
#include "tools/run_limits.hpp"

namespace bloscfs::tools {

class RemoteFiles;

/// Returns the exit status of diff if both files are tables; nullopt if neither is. If only one of
/// them is a table, prints an error and returns kExitTrouble.
std::optional<int> diff_tables(const DiffOptions& options, const RemoteFiles& remote,
                               RunLimits& limits);

}  // namespace bloscfs::tools
