#pragma once
// Pictures of numbers as PNG files.

#include <cstdint>
#include <string>
#include <vector>

#include "fs/survey/array_slice.hpp"

namespace bloscfs::tools {

/// A slice, a pixel for each of its elements (or several, of small ones), as a data: URI. Numbers
/// are coloured by the ramp from the minimum of `scale` to its maximum; infinities are as its ends.
/// NaNs are grey; what cannot be read is hatched in red.
std::string picture_uri(const fs::ArraySlice& slice, const fs::ValueRange& scale);

/// A slice of 3 or 4 channels in its own colours. `brightest` is the value of full brightness, and
/// `opaque` that of full opacity; 0 where all is opaque. What cannot be read is hatched in red.
std::string colour_picture_uri(const fs::ArraySlice& slice, double brightest, double opaque);

}  // namespace bloscfs::tools
