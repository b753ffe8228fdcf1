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

/// Last entries of the colour table. The entries before them are the ramp.
enum Entry : std::uint8_t { kNan = 253, kDamage = 254, kDamageLine = 255 };
constexpr int kRampEntries = kNan;
/// Fewest pixels of a side in which a hatch is visible.
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
  // Uses halves, because the difference of two finite numbers may be infinite.
  const double span = range.max / 2 - range.min / 2;
  if (std::isinf(*value)) return *value < 0 ? 0 : kRampEntries - 1;
  const double part = span > 0 ? (*value / 2 - range.min / 2) / span : 0.5;
  return static_cast<std::uint8_t>(std::lround(std::clamp(part, 0.0, 1.0) * (kRampEntries - 1)));
}

/// The pixels of a picture, row by row. `table` is null if they are not entries of a colour table.
struct Pixels {
  std::uint32_t format;
  std::int64_t width, height;
  std::vector<std::uint8_t> bytes;
  const std::uint8_t* table = nullptr;
};

/// Returns the picture as a PNG file in a data: URI. Throws std::runtime_error.
std::string data_uri(const Pixels& pixels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(pixels.width);
  image.height = static_cast<png_uint_32>(pixels.height);
  image.format = pixels.format;
  image.colormap_entries = 256;
  std::vector<std::uint8_t> file(PNG_IMAGE_PNG_SIZE_MAX(image));
  png_alloc_size_t size = file.size();
  if (::png_image_write_to_memory(&image, file.data(), &size, 0, pixels.bytes.data(), 0,
                                  pixels.table) == 0)
    throw std::runtime_error(std::string("libpng: ") + image.message);
  file.resize(size);
  return "data:image/png;base64," + frame::base64(file);
}

/// Returns how many pixels an element takes along both axes, so that a hatch is visible.
std::int64_t zoom_of(const fs::ArraySlice& slice) {
  if (slice.range.unreadable == 0) return 1;
  return codec::ceil_div(kLeastSide,
                         std::min({kLeastSide, slice.rows.count(), slice.columns.count()}));
}

/// Calls `add(element, x, y)` for each pixel, row by row.
template <typename Add>
void for_each_pixel(const fs::ArraySlice& slice, std::int64_t zoom, Add add) {
  const std::int64_t columns = slice.columns.count();
  for (std::int64_t y = 0; y < slice.rows.count() * zoom; y++)
    for (std::int64_t x = 0; x < columns * zoom; x++)
      add(static_cast<std::size_t>(y / zoom * columns + x / zoom), x, y);
}

std::uint8_t part_of(double value, double full) {
  return static_cast<std::uint8_t>(std::lround(255 * std::clamp(value / full, 0.0, 1.0)));
}

}  // namespace

std::string picture_uri(const fs::ArraySlice& slice, const fs::ValueRange& scale) {
  const std::int64_t zoom = zoom_of(slice);
  const auto table = colour_table();
  Pixels pixels{PNG_FORMAT_RGB_COLORMAP,
                slice.columns.count() * zoom,
                slice.rows.count() * zoom,
                {},
                table.data()};
  for_each_pixel(slice, zoom, [&](std::size_t element, std::int64_t x, std::int64_t y) {
    pixels.bytes.push_back(entry_of(slice.values[element], scale, x, y));
  });
  return data_uri(pixels);
}

std::string colour_picture_uri(const fs::ArraySlice& slice, double brightest, double opaque) {
  const std::int64_t zoom = zoom_of(slice);
  const auto channels = static_cast<std::size_t>(slice.channels);
  const auto damage = colour_table();
  Pixels pixels{PNG_FORMAT_RGBA, slice.columns.count() * zoom, slice.rows.count() * zoom, {}};
  for_each_pixel(slice, zoom, [&](std::size_t element, std::int64_t x, std::int64_t y) {
    const auto* const values = &slice.values[element * channels];
    const bool is_read =
        std::all_of(values, values + channels, [](const auto& value) { return value.has_value(); });
    const std::size_t entry = std::size_t{3} * entry_of(std::nullopt, {}, x, y);
    for (std::size_t i = 0; i < 3; i++)
      pixels.bytes.push_back(is_read ? part_of(*values[i], brightest) : damage.at(entry + i));
    pixels.bytes.push_back(is_read && opaque > 0 ? part_of(*values[3], opaque) : 255);
  });
  return data_uri(pixels);
}

}  // namespace bloscfs::tools
