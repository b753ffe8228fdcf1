#include "tools/report/png_image.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include <png.h>

#include "frame/header/base64.hpp"
#include "tools/report/palette.hpp"

namespace bloscfs::tools {
namespace {

/// Of the colour table; the ramp has what is before.
enum Entry : std::uint8_t { kNan = 253, kDamage = 254, kDamageLine = 255 };
constexpr int kRampEntries = kNan;
/// Pixels that a hatch needs to be seen.
constexpr std::int64_t kLeastSide = 96;

std::array<std::uint8_t, 768> colour_table() {
  std::array<std::uint8_t, 768> table{};
  const auto set = [&table](int entry, const Colour& colour) {
    std::uint8_t* const at = table.data() + std::ptrdiff_t{3} * entry;
    at[0] = colour.red, at[1] = colour.green, at[2] = colour.blue;
  };
  for (int i = 0; i < kRampEntries; i++)
    set(i, ramp_colour(static_cast<double>(i) / (kRampEntries - 1)));
  set(kNan, {150, 150, 150});
  set(kDamage, {200, 30, 30});
  set(kDamageLine, {255, 235, 235});
  return table;
}

std::uint8_t entry_of(const std::optional<double>& value, const fs::ValueRange& range,
                      std::int64_t x, std::int64_t y) {
  if (!value) return (x + y) % 6 < 2 ? kDamageLine : kDamage;
  if (std::isnan(*value)) return kNan;
  // Halves, since the difference of two finite numbers may be none.
  const double span = range.max / 2 - range.min / 2;
  if (std::isinf(*value)) return *value < 0 ? 0 : kRampEntries - 1;
  const double part = span > 0 ? (*value / 2 - range.min / 2) / span : 0.5;
  return static_cast<std::uint8_t>(std::lround(std::clamp(part, 0.0, 1.0) * (kRampEntries - 1)));
}

/// Throws std::runtime_error.
std::vector<std::uint8_t> encode(const std::vector<std::uint8_t>& pixels, std::int64_t width,
                                 std::int64_t height) {
  const auto table = colour_table();
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB_COLORMAP;
  image.colormap_entries = 256;
  std::vector<std::uint8_t> file(PNG_IMAGE_PNG_SIZE_MAX(image));
  png_alloc_size_t size = file.size();
  if (::png_image_write_to_memory(&image, file.data(), &size, 0, pixels.data(),
                                  static_cast<png_int_32>(width), table.data()) == 0)
    throw std::runtime_error(std::string("libpng: ") + image.message);
  file.resize(size);
  return file;
}

}  // namespace

std::string picture_uri(const fs::ArraySlice& slice, const fs::ValueRange& scale) {
  const std::int64_t rows = slice.rows.count(), columns = slice.columns.count();
  const bool is_hatched = slice.range.unreadable > 0;
  const std::int64_t zoom =
      is_hatched ? std::max<std::int64_t>(1, codec::ceil_div(kLeastSide, std::min(rows, columns)))
                 : 1;
  std::vector<std::uint8_t> pixels;
  pixels.reserve(static_cast<std::size_t>(rows * columns * zoom * zoom));
  for (std::int64_t y = 0; y < rows * zoom; y++)
    for (std::int64_t x = 0; x < columns * zoom; x++)
      pixels.push_back(entry_of(
          slice.values[static_cast<std::size_t>(y / zoom * columns + x / zoom)], scale, x, y));
  return "data:image/png;base64," + frame::base64(encode(pixels, columns * zoom, rows * zoom));
}

}  // namespace bloscfs::tools
