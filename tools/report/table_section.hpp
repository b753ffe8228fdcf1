#pragma once
// The part of a page about a table of a store.

#include <string>

#include "tools/report/section.hpp"
#include "tools/run_limits.hpp"

namespace bloscfs::tools {

/// Returns the names and types of the columns, and the first rows; or a message that the table is
/// damaged or not supported. `file` is STORE:/GROUP. Throws std::system_error.
Section table_section(const std::string& file, RunLimits& limits);

}  // namespace bloscfs::tools
