#pragma once
// The part of a page that shows a table of a store.

#include <string>

#include "tools/report/section.hpp"
#include "tools/run_limits.hpp"

namespace bloscfs::tools {

/// `file` is STORE:/GROUP. Shows names and types of the columns, and the first rows, or says which
/// column is not supported. Errors of other sorts: std::system_error.
Section table_section(const std::string& file, RunLimits& limits);

}  // namespace bloscfs::tools
