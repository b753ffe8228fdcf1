#pragma once
// A picture of what settings give.

#include <string>

#include "tools/advice.hpp"

namespace bloscfs::tools {

/// An SVG with two diagrams, of ratios over speeds of decoding and of encoding, each with the line
/// of those that no others beat. Readable on light and on dark pages.
std::string advice_picture(const Advice& advice);

}  // namespace bloscfs::tools
