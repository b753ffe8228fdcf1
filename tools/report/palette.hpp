#pragma once
// Colours for numbers, from dark blue over green to yellow.

#include <array>
#include <cstdint>
#include <string>

namespace bloscfs::tools {

struct Colour {
  std::uint8_t red = 0, green = 0, blue = 0;
};

/// Returns the colour of a number from 0 to 1. Lightness grows evenly with the number, and the hue
/// only goes from blue to yellow. So colour-blind people can read the colours, and they work in
/// shades of grey.
Colour ramp_colour(double part);

/// Returns a text like "#0b2a6f".
std::string colour_text(const Colour& colour);

/// Returns the stops of a CSS gradient over the whole ramp: "#0b2a6f, ..., #f5e663".
std::string ramp_gradient();

}  // namespace bloscfs::tools
