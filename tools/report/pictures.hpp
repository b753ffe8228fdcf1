#pragma once
// Pictures of an array: a line, an image, or cuts through the middle.

#include "tools/input.hpp"
#include "tools/report/markup.hpp"

namespace bloscfs::tools {

/// Returns the pictures, or the reason why there are none. Returns nothing if the contents are not
/// an array.
Markup array_pictures(const Input& input);

}  // namespace bloscfs::tools
