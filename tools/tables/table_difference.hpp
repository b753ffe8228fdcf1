#pragma once
// Compares two tables.

#include <optional>

#include "tools/b2frame_commands.hpp"
#include "tools/run_limits.hpp"

namespace bloscfs::tools {

class RemoteFiles;

/// The exit status of diff where both are tables; nothing where none is. One alone is trouble.
std::optional<int> diff_tables(const DiffOptions& options, const RemoteFiles& remote,
                               RunLimits& limits);

}  // namespace bloscfs::tools
