#pragma once
// Pictures of numbers as PNG files.

#include <cstdint>
#include <string>
#include <vector>

#include "fs/survey/array_slice.hpp"

namespace bloscfs::tools {

/// Returns a slice as a data: URI, with one pixel for each element, or several if the slice is
/// small and has unreadable elements, whose hatch would not be visible. The colours are the ramp
/// from the minimum of `scale` to its maximum. Infinities have the colours of its ends. NaNs are
/// grey, and unreadable elements are hatched in red.
std::string picture_uri(const fs::ArraySlice& slice, const fs::ValueRange& scale);

/// Returns a slice with 3 or 4 channels in its own colours. `brightest` is the value of full
/// brightness. `opaque` is the value of full opacity, or 0 if everything is opaque. Unreadable
/// elements are hatched in red.
std::string colour_picture_uri(const fs::ArraySlice& slice, double brightest, double opaque);

}  // namespace bloscfs::tools
