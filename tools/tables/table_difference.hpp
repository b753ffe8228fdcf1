#pragma once
// Compares two tables.

#include <optional>

#include "tools/b2frame_commands.hpp"
#include "tools/run_limits.hpp"

namespace bloscfs::tools {

/// The exit status of diff where both are tables; nothing where none is. One alone is trouble.
std::optional<int> diff_tables(const DiffOptions& options, RunLimits& limits);

}  // namespace bloscfs::tools
