#pragma once
// The first lines of contents that are text.

#include "tools/input.hpp"
#include "tools/report/markup.hpp"

namespace bloscfs::tools {

/// Returns nothing for arrays, for contents that are not printable UTF-8, and on errors.
Markup text_preview(const Input& input);

}  // namespace bloscfs::tools
