#pragma once
// The first lines of contents that are text.

#include "tools/input.hpp"
#include "tools/report/markup.hpp"

namespace bloscfs::tools {

/// Empty for arrays, and for what is no printable UTF-8, or cannot be read.
Markup text_preview(const Input& input);

}  // namespace bloscfs::tools
