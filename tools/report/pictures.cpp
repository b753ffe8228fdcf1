#include "tools/report/pictures.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "fs/survey/array_line.hpp"
#include "fs/survey/array_slice.hpp"
#include "tools/report/examination.hpp"
#include "tools/report/png_image.hpp"
#include "tools/report/words.hpp"

namespace bloscfs::tools {
namespace {

using fs::ArrayLine;
using fs::ArraySlice;
using fs::ValueRange;

/// Pixels of the longer side of an image or of a cut, and the greatest ratio of its sides.
constexpr double kImageSide = 560, kCutSide = 420, kMostStretch = 4;

std::string range_text(const ValueRange& range) {
  std::string text =
      range.finite == 0 ? "no finite values"
      : range.min == range.max
          ? "all values are " + number_text(range.min)
          : fmt::format("values from {} to {}", number_text(range.min), number_text(range.max));
  if (range.nans > 0) text += ", " + counted(range.nans, "NaN", "NaNs");
  if (range.infinities > 0)
    text += ", " + counted(range.infinities, "infinite value", "infinite values");
  if (range.unreadable > 0)
    text += ", " + counted(range.unreadable, "element that cannot be decoded",
                           "elements that cannot be decoded");
  return text;
}

std::string step_text(const ArraySlice& slice) {
  const std::int64_t rows = slice.rows.step, columns = slice.columns.step;
  if (rows == 1 && columns == 1) return "Each pixel is an element";
  std::string text = "A sample:";
  const auto add = [&text](std::int64_t step, const std::string& where) {
    text += fmt::format("{} one of {} elements along {}", text.ends_with(':') ? "" : ",",
                        grouped(step), where);
  };
  if (rows == columns) {
    add(rows, "both axes");
  } else {
    if (rows > 1) add(rows, fmt::format("axis {}", slice.rows.number));
    if (columns > 1) add(columns, fmt::format("axis {}", slice.columns.number));
  }
  if (slice.is_coarse) text += ", so that few blocks have to be decoded";
  return text;
}

/// Explains the marks in pictures that are not colours of the ramp.
Markup marks(const ValueRange& range) {
  Markup out;
  if (range.nans > 0) out.add("<span><span class=\"mark none\"></span> NaN</span> ");
  if (range.unreadable > 0)
    out.add("<span><span class=\"mark bad\"></span> cannot be decoded</span>");
  return out.empty() ? out : markup("<p class=\"marks\">{}</p>\n", out);
}

Markup value_scale(const ValueRange& range) {
  Markup out;
  out.add("<div class=\"scale\">");
  if (range.finite > 0)
    out.add(
        "<svg viewBox=\"0 0 1 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
        "<rect width=\"1\" height=\"1\" fill=\"url(#ramp)\"/></svg>"
        "<span>{}</span><span>{}</span><span>{}</span>",
        number_text(range.min), number_text(range.min / 2 + range.max / 2), number_text(range.max));
  out.add("</div>");
  out.add(marks(range));
  return out;
}

/// Returns the position of a slice in its array: "axis 0 down, axis 1 to the right; axis 2 at 5".
std::string place_of(const ArraySlice& slice) {
  std::string text =
      fmt::format("axis {} down, axis {} to the right", slice.rows.number, slice.columns.number);
  for (const auto& [axis, at] : slice.fixed)
    text += fmt::format("{} {} at {}", &axis == &slice.fixed.front().first ? "; axis" : ", axis",
                        axis, grouped(at));
  return text;
}

Markup draw_slice(const ArraySlice& slice, const std::string& title, const std::string& caption,
                  const std::string& image, double side) {
  const double aspect =
      std::clamp(static_cast<double>(slice.columns.extent) / static_cast<double>(slice.rows.extent),
                 1 / kMostStretch, kMostStretch);
  const auto width = static_cast<int>(std::lround(aspect > 1 ? side : side * aspect));
  const auto height = static_cast<int>(std::lround(aspect > 1 ? side / aspect : side));
  Markup out;
  out.add(
      "<figure class=\"slice\"><figcaption><b>{}.</b> {}.</figcaption>\n"
      "<div class=\"axes\"><span class=\"down\"><span>0</span><span>axis {}</span>"
      "<span>{}</span></span><svg class=\"picture\" width=\"{}\" viewBox=\"0 0 {} {}\" "
      "role=\"img\" aria-label=\"{}: {}\"><image class=\"{}\" href=\"{}\" width=\"{}\" "
      "height=\"{}\" preserveAspectRatio=\"none\"/></svg>"
      "<span class=\"along\"><span>0</span><span>axis {}</span><span>{}</span></span></div>\n"
      "</figure>\n",
      title, caption, slice.rows.number, grouped(slice.rows.extent - 1), width, width, height,
      title, range_text(slice.range), slice.columns.count() * 2 < width ? "crisp" : "smooth", image,
      width, height, slice.columns.number, grouped(slice.columns.extent - 1));
  return out;
}

/// Draws all slices with one scale of colours.
Markup draw_slices(fs::Request& request, const fs::ElementSampler& sampler,
                   const fs::PictureLimits& limits) {
  std::vector<ArraySlice> slices;
  ValueRange all;
  for (const auto& [rows, columns] : fs::slice_axes(sampler.array().shape.size())) {
    slices.push_back(fs::read_slice(request, sampler, rows, columns, limits));
    all.add(slices.back().range);
  }
  Markup out;
  for (const ArraySlice& slice : slices) {
    std::string title = place_of(slice);
    title.front() = 'A';
    out.add(draw_slice(slice, title, step_text(slice) + "; " + range_text(slice.range),
                       picture_uri(slice, all), slices.size() == 1 ? kImageSide : kCutSide));
  }
  return markup("<div class=\"slices\">\n{}</div>\n{}", out, value_scale(all));
}

/// Returns the greatest readable value of the channels [first, end).
double greatest(const ArraySlice& slice, std::int64_t first, std::int64_t end) {
  double most = 0;
  for (std::int64_t i = 0; i < std::ssize(slice.values); i++)
    if (const std::int64_t channel = i % slice.channels; channel >= first && channel < end)
      most = std::max(most, slice.values[static_cast<std::size_t>(i)].value_or(0));
  return most;
}

/// Draws a colour picture. If the array holds several, draws the middle one.
Markup draw_in_colour(fs::Request& request, const fs::ElementSampler& sampler,
                      const fs::PictureLimits& limits) {
  const std::size_t last = sampler.array().shape.size() - 1;
  const ArraySlice slice = fs::read_slice(request, sampler, last - 2, last - 1, limits, last);
  constexpr double kByteMost = 255;
  const bool is_of_bytes = sampler.values().itemsize() == 1;
  const double opacity = greatest(slice, 3, slice.channels);
  double brightest = is_of_bytes ? kByteMost : greatest(slice, 0, 3);
  // A fourth channel of zeros cannot mean opacity, because then the picture would be invisible.
  const double opaque = is_of_bytes && opacity > 0 ? kByteMost : opacity;
  if (brightest == 0) brightest = kByteMost;
  std::string caption = slice.channels == 3
                            ? fmt::format("Red, green and blue are along axis {}", last)
                            : fmt::format("Red, green, blue and opacity are along axis {}", last);
  caption +=
      fmt::format("; {}; {}; {}", place_of(slice), step_text(slice), range_text(slice.range));
  if (!is_of_bytes) caption += fmt::format(". {} is full brightness", number_text(brightest));
  return markup("<div class=\"slices\">\n{}</div>\n{}",
                draw_slice(slice, slice.fixed.empty() ? "The picture" : "The picture in the middle",
                           caption, colour_picture_uri(slice, brightest, opaque), kImageSide),
                marks(slice.range));
}

/// Maps values to heights in a drawing of 100 units, with a margin at both ends.
class LineHeights {
 public:
  explicit LineHeights(const ValueRange& range) : low_(range.min), high_(range.max) {}
  double operator()(double value) const {
    // Uses halves, because the difference of two finite numbers may be infinite.
    const double span = high_ / 2 - low_ / 2;
    return span > 0 ? 96 - 92 * ((value / 2 - low_ / 2) / span) : 50;
  }

 private:
  double low_, high_;
};

/// Draws the band between the minimum and the maximum of each bin, and the line of the means. Both
/// have gaps where a bin has no finite value.
Markup draw_paths(const ArrayLine& line) {
  const LineHeights height(line.range);
  Markup bands, damage;
  std::string upper, lower, means;
  const auto close_band = [&] {
    if (!upper.empty()) bands.add(R"(<path class="band" d="M{}{}Z"/>)", upper, lower);
    upper.clear();
    lower.clear();
  };
  bool is_open = false;
  for (std::size_t i = 0; i < line.bins.size(); i++) {
    const ArrayLine::Bin& bin = line.bins[i];
    const double x = static_cast<double>(i) + 0.5;
    if (bin.range.unreadable > 0)
      damage.add(R"(<rect class="bad" x="{}" width="1" height="100"/>)", i);
    if (bin.range.finite == 0) {
      close_band();
      is_open = false;
      continue;
    }
    upper += fmt::format("{}{:.1f} {:.2f}", upper.empty() ? "" : "L", x, height(bin.range.max));
    lower.insert(0, fmt::format("L{:.1f} {:.2f}", x, height(bin.range.min)));
    // A single point is drawn as a short line.
    means += fmt::format("{}{:.1f} {:.2f}", is_open ? "L" : "M", is_open ? x : x - 0.4,
                         height(bin.mean));
    if (!is_open) means += "h.4";
    is_open = true;
  }
  close_band();
  return markup(R"({}{}<path class="mean" d="{}"/>)", damage, bands, means);
}

Markup draw_line(const ArrayLine& line) {
  const std::int64_t per_bin =
      line.bins.size() < 2 ? line.extent : line.bins[1].first - line.bins[0].first;
  std::string caption =
      per_bin == 1
          ? "All elements in order"
          : fmt::format(
                "Means of {} neighbouring elements (line) and the range of their values (band)",
                grouped(per_bin));
  if (line.is_sample)
    caption +=
        fmt::format("; of these a sample was read, {} of {} elements",
                    grouped(line.range.read() + line.range.unreadable), grouped(line.extent));
  Markup out;
  out.add(
      "<figure class=\"line\"><figcaption><b>{}.</b> {}{}.</figcaption>\n"
      "<div class=\"plot\"><span class=\"top\">{}</span><span class=\"bottom\">{}</span>"
      "<svg viewBox=\"0 0 {} 100\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">{}"
      "</svg><span class=\"first\">0</span><span class=\"last\">{}</span></div>\n",
      caption, "In all, ", range_text(line.range), number_text(line.range.max),
      number_text(line.range.min), line.bins.size(), range_text(line.range), draw_paths(line),
      grouped(line.extent - 1));
  ValueRange marked;
  marked.unreadable = line.range.unreadable;
  out.add(marks(marked));
  out.add("</figure>\n");
  return out;
}

Markup draw_element(fs::Request& request, const fs::ElementSampler& sampler) {
  Markup out;
  sampler.read_run(request, 0, 1, [&](std::size_t, std::optional<double> value) {
    out.add("<p>Its only element is {}.</p>\n", value ? number_text(*value) : "damaged");
  });
  return out;
}

Markup draw(fs::Request& request, const fs::ElementSampler& sampler,
            const fs::PictureLimits& limits) {
  const std::size_t dimensions = sampler.array().shape.size();
  Markup out;
  if (sampler.element_count() == 0) return markup("<p>It has no elements.</p>\n");
  if (sampler.values().is_complex())
    out.add("<p>Of complex numbers the magnitudes are shown.</p>\n");
  if (dimensions == 0) {
    out.add(draw_element(request, sampler));
  } else if (dimensions == 1) {
    out.add(draw_line(fs::read_line(request, sampler, limits)));
  } else if (fs::is_in_colour(sampler.array())) {
    out.add(draw_in_colour(request, sampler, limits));
  } else {
    out.add(draw_slices(request, sampler, limits));
  }
  return out;
}

}  // namespace

Markup array_pictures(const Input& input) {
  Markup out;
  if (!input.info().array) return out;
  out.add("<h3>The array</h3>\n");
  fs::Request request;
  try {
    const auto opened = fs::ElementSampler::open(request, input.reader());
    if (const auto* refusal = std::get_if<std::string>(&opened))
      out.add("<p>No picture: {}.</p>\n", *refusal);
    else
      out.add(draw(request, std::get<fs::ElementSampler>(opened), picture_limits(input)));
  } catch (const codec::Error& error) {
    out.add("<p>No picture: {}.</p>\n", error.what());
  }
  return out;
}

}  // namespace bloscfs::tools
