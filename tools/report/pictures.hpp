#pragma once
// Pictures of an array: a line, an image, or cuts through the middle.

#include "tools/input.hpp"
#include "tools/report/markup.hpp"

namespace bloscfs::tools {

/// Or why there are none. Empty for what says nothing of being an array.
Markup array_pictures(const Input& input);

}  // namespace bloscfs::tools
