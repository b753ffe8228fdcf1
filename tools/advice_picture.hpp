#pragma once
// Draws the measured settings of an Advice as a picture.

#include <string>

#include "tools/advice.hpp"

namespace bloscfs::tools {

/// Returns an SVG with two diagrams: compression ratio over decoding speed, and over encoding
/// speed. In each, a line joins the settings that no others beat. Readable on light and dark pages.
std::string advice_picture(const Advice& advice);

}  // namespace bloscfs::tools
