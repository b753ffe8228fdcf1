#include "tools/report/palette.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace bloscfs::tools {
namespace {

/// A colour in Oklab: lightness, green to red, blue to yellow.
struct Lab {
  double l, a, b;
};

/// The ends of the ramp, and a control point that bends it towards green.
constexpr Lab kDark{0.30, 0.0, -0.13}, kBend{0.58, -0.145, -0.005}, kLight{0.94, -0.025, 0.155};
constexpr int kStops = 12;

double cube(double x) { return x * x * x; }

std::uint8_t channel(double linear) {
  const double x = std::clamp(linear, 0.0, 1.0);
  const double encoded = x <= 0.0031308 ? 12.92 * x : 1.055 * std::pow(x, 1 / 2.4) - 0.055;
  return static_cast<std::uint8_t>(std::lround(255 * encoded));
}

Colour to_rgb(const Lab& lab) {
  const double l = cube(lab.l + 0.3963377774 * lab.a + 0.2158037573 * lab.b);
  const double m = cube(lab.l - 0.1055613458 * lab.a - 0.0638541728 * lab.b);
  const double s = cube(lab.l - 0.0894841775 * lab.a - 1.2914855480 * lab.b);
  return {channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          channel(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

}  // namespace

Colour ramp_colour(double part) {
  const double t = std::clamp(part, 0.0, 1.0), u = 1 - t;
  const auto bent = [&](double Lab::*axis) {
    return u * u * kDark.*axis + 2 * u * t * kBend.*axis + t * t * kLight.*axis;
  };
  return to_rgb({kDark.l + t * (kLight.l - kDark.l), bent(&Lab::a), bent(&Lab::b)});
}

std::string colour_text(const Colour& colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue);
}

std::string ramp_gradient() {
  std::string stops;
  for (int i = 0; i <= kStops; i++)
    stops += (i == 0 ? "" : ", ") + colour_text(ramp_colour(static_cast<double>(i) / kStops));
  return stops;
}

}  // namespace bloscfs::tools
