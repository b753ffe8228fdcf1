#pragma once
// Colours for numbers, from dark blue over green to yellow.

#include <array>
#include <cstdint>
#include <string>

namespace bloscfs::tools {

struct Colour {
  std::uint8_t red = 0, green = 0, blue = 0;
};

/// Colour of a number from 0 to 1. Lightness grows evenly with it, and hue goes from blue to yellow
/// alone, so that it is read as well by those who see fewer colours, and in grey.
Colour ramp_colour(double part);

/// "#0b2a6f"
std::string colour_text(const Colour& colour);

/// Stops of a CSS gradient over the whole ramp: "#0b2a6f, ..., #f5e663".
std::string ramp_gradient();

}  // namespace bloscfs::tools
