#include "tools/advice_picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "tools/report/markup.hpp"
#include "tools/size_text.hpp"

namespace bloscfs::tools {
namespace {

constexpr double kPictureWidth = 900, kPanelHeight = 330, kPictureTop = 70, kPictureLeft = 70,
                 kPictureRight = 30, kPictureBottom = 50;
constexpr double kLegendLine = 17;  ///< height of a line in the legend
/// In pixels: average width (rounded up) and height of a letter of the small font; radius of a dot.
constexpr double kLetter = 6.3, kLetterHeight = 13, kDot = 5;
/// A label is tried at this many distances from its dot, the nearest first.
constexpr int kRings = 16;
constexpr std::size_t kTitleLetters = 80;

const char* const kPictureStyle =
    "svg{background:#fff;color:#222;font:13px sans-serif}"
    "text{fill:currentColor;paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}"
    ".axis{stroke:currentColor;fill:none}"
    ".grid{stroke:currentColor;opacity:.15}"
    ".front{stroke:#0a6ebd;stroke-width:2;fill:none}"
    ".leader{stroke:currentColor;opacity:.5}"
    ".dot{fill:#0a6ebd}.beaten{fill:none;stroke:#0a6ebd}"
    ".now{fill:#c2570c;stroke:#c2570c}"
    ".small{font-size:11px}"
    "@media (prefers-color-scheme:dark){svg{background:#16181c;color:#ddd}"
    "text{stroke:#16181c}"
    ".front{stroke:#6db8f5}.dot{fill:#6db8f5}.beaten{stroke:#6db8f5}"
    ".now{fill:#f0a060;stroke:#f0a060}}";

/// Maps values to positions. Callers pass speeds as logarithms, and ratios as they are.
struct PictureScale {
  double least, most, begin, end;
  double operator()(double value) const {
    return begin + (value - least) / std::max(most - least, 1e-9) * (end - begin);
  }
};

struct PictureBox {
  double left, top, width, height;
  bool overlaps(const PictureBox& other) const {
    return left < other.left + other.width && other.left < left + width &&
           top < other.top + other.height && other.top < top + height;
  }
};

double text_width(const std::string& text) { return kLetter * static_cast<double>(text.size()); }

/// Returns a step of 1, 2 or 5 times a power of ten, which divides the span into about five.
double even_step(double span) {
  const double power = std::pow(10, std::floor(std::log10(span / 4)));
  for (const double digit : {1.0, 2.0, 5.0})
    if (digit * power >= span / 5) return digit * power;
  return 10 * power;
}

class SpeedPanel {
 public:
  SpeedPanel(const std::vector<AdvisedSettings>& all, double MeasuredSettings::*speed, double top,
             const char* title)
      : all_(all), speed_(speed), top_(top), title_(title) {
    double slowest = 1e9, fastest = 0, largest = 1, smallest = 1e9;
    for (const AdvisedSettings& advised : all) {
      slowest = std::min(slowest, advised.measured.*speed);
      fastest = std::max(fastest, advised.measured.*speed);
      largest = std::max(largest, advised.measured.ratio);
      smallest = std::min(smallest, advised.measured.ratio);
    }
    x_ = {std::log10(std::max(slowest, 0.01)) - 0.05, std::log10(std::max(fastest, 0.02)) + 0.1,
          kPictureLeft, kPictureWidth - kPictureRight};
    const double margin = std::max(largest - smallest, 0.1) * 0.1;
    y_ = {smallest - margin, largest + margin, top + kPanelHeight - kPictureBottom, top};
  }

  Markup draw() const {
    Markup out;
    draw_axes(out);
    draw_front(out);
    draw_dots(out);
    return out;
  }

 private:
  double x(const MeasuredSettings& one) const {
    return x_(std::log10(std::max(one.*speed_, 0.01)));
  }
  double y(const MeasuredSettings& one) const { return y_(one.ratio); }

  void draw_axes(Markup& out) const {
    const double bottom = y_.begin;
    out.add("<text x=\"{}\" y=\"{}\">{}</text>\n", kPictureLeft, top_ - 10, title_);
    for (int power = -2; power <= 6; power++)
      for (const int digit : {1, 2, 5}) draw_speed(digit * std::pow(10, power), bottom, out);
    const double step = even_step(y_.most - y_.least);
    for (double ratio = std::ceil(y_.least / step) * step; ratio <= y_.most; ratio += step) {
      const double at = y_(ratio);
      out.add(R"(<line class="grid" x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}"/>)", kPictureLeft, at,
              kPictureWidth - kPictureRight, at);
      out.add("<text class=\"small\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:g}</text>\n",
              kPictureLeft - 6, at + 4, std::round(ratio * 1e4) / 1e4);
    }
    out.add("<path class=\"axis\" d=\"M{} {}V{}H{}\"/>\n", kPictureLeft, top_, bottom,
            kPictureWidth - kPictureRight);
  }

  void draw_speed(double speed, double bottom, Markup& out) const {
    const double at = x_(std::log10(speed));
    if (at < kPictureLeft || at > kPictureWidth - kPictureRight) return;
    out.add(R"(<line class="grid" x1="{:.1f}" y1="{}" x2="{:.1f}" y2="{}"/>)", at, top_, at,
            bottom);
    out.add("<text class=\"small\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:g}</text>\n", at,
            bottom + 16, speed);
  }

  /// Draws the line through the settings that no others beat in both speed and ratio.
  void draw_front(Markup& out) const {
    std::vector<const MeasuredSettings*> front;
    for (const AdvisedSettings& one : all_)  // smallest size first
      if (front.empty() || one.measured.*speed_ > front.back()->*speed_)
        front.push_back(&one.measured);
    std::string points;
    for (const MeasuredSettings* one : front)
      points += fmt::format("{:.1f},{:.1f} ", x(*one), y(*one));
    out.add("<polyline class=\"front\" points=\"{}\"/>\n", points);
  }

  PictureBox dot(const AdvisedSettings& one) const {
    return {x(one.measured) - kDot, y(one.measured) - kDot, 2 * kDot, 2 * kDot};
  }

  void draw_dots(Markup& out) const {
    std::vector<PictureBox> taken;
    Markup leaders, labels;
    for (const AdvisedSettings& one : all_) {
      const char* const kind = one.is_present ? "now" : (one.measured.on_front ? "dot" : "beaten");
      out.add(R"(<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{}"><title>{}</title></circle>)",
              kind, x(one.measured), y(one.measured), kDot, one.options);
      taken.push_back(dot(one));
    }
    for (const AdvisedSettings& one : all_) {
      const auto [box, is_beside] = place_label(one, taken);
      taken.push_back(box);
      if (!is_beside) leaders.add("{}", leader(one, box));
      labels.add("<text class=\"small\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", box.left,
                 box.top + kLetterHeight - 3, one.name);
    }
    out.add(leaders);
    out.add(labels);
  }

  struct LabelPlace {
    PictureBox box;
    bool is_beside;  ///< next to its dot; else a line joins the two
  };
  /// Finds a free place next to the dot, or else the nearest free place above or below. If all are
  /// taken, the label goes next to the dot, over other labels.
  LabelPlace place_label(const AdvisedSettings& one, const std::vector<PictureBox>& taken) const {
    const PictureBox at = dot(one);
    const double width = text_width(one.name), right = at.left + at.width + 3;
    const auto is_free = [&](const PictureBox& box) {
      return box.left >= kPictureLeft && box.left + box.width <= kPictureWidth && box.top >= top_ &&
             box.top + box.height <= y_.begin &&
             std::ranges::none_of(taken, [&](const auto& other) { return box.overlaps(other); });
    };
    for (int ring = 0; ring < kRings; ring++) {
      const double away = ring * kLetterHeight;
      for (const double left : {right, at.left - width - 3, at.left - width / 2})
        for (const double top : {at.top - 6 - away, at.top + 4 + away}) {
          const PictureBox box{left, top, width, kLetterHeight};
          if (is_free(box)) return {box, ring == 0};
        }
    }
    return {{right, at.top, width, kLetterHeight}, true};
  }

  /// Returns a line from a dot to its label.
  Markup leader(const AdvisedSettings& one, const PictureBox& label) const {
    return markup(R"(<line class="leader" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>)",
                  x(one.measured), y(one.measured),
                  std::clamp(x(one.measured), label.left, label.left + label.width),
                  label.top > y(one.measured) ? label.top + 2 : label.top + label.height);
  }

  const std::vector<AdvisedSettings>& all_;
  double MeasuredSettings::*speed_;
  double top_;
  const char* title_;
  PictureScale x_{}, y_{};
};

/// Lists name, size, ratio and options of all settings, in columns.
class PictureLegend {
 public:
  explicit PictureLegend(const Advice& advice) : advice_(advice) {
    for (const AdvisedSettings& one : advice.settings) {
      size_right_ = std::max(size_right_, kPictureLeft + text_width(one.name) + kSizeWidth);
      options_width_ = std::max(options_width_, text_width(one.options));
    }
  }

  double width() const { return options_left() + options_width_ + kPictureRight; }
  double height() const {
    return kLegendLine * static_cast<double>(advice_.settings.size() + 1) + 10;
  }
  Markup draw(double top) const {
    Markup out;
    add_line(top, {"name", "size", "ratio", "options of b2frame create"}, out);
    for (const AdvisedSettings& one : advice_.settings)
      add_line(top += kLegendLine,
               {one.name, size_with_unit(one.size), fmt::format("{:.2f}", one.measured.ratio),
                one.options},
               out);
    return out;
  }

 private:
  static constexpr double kSizeWidth = 75, kRatioWidth = 55;

  double options_left() const { return size_right_ + kRatioWidth + 20; }

  void add_line(double y, const std::array<std::string, 4>& cells, Markup& out) const {
    out.add(
        "<text class=\"small\" x=\"{}\" y=\"{}\">{}</text>"
        "<text class=\"small\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>"
        "<text class=\"small\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>"
        "<text class=\"small\" x=\"{}\" y=\"{}\">{}</text>\n",
        kPictureLeft, y, cells[0], size_right_, y, cells[1], size_right_ + kRatioWidth, y, cells[2],
        options_left(), y, cells[3]);
  }

  const Advice& advice_;
  double size_right_ = 0, options_width_ = 0;
};

/// Returns a text such as "run.b2nd: 258 KiB, stored now in 20 KiB". Cuts a long file name at its
/// start, because the end of a path says most.
std::string picture_title(const Advice& advice) {
  std::string name = advice.file;
  if (name.size() > kTitleLetters) name = "\u2026" + name.substr(name.size() - kTitleLetters);
  return fmt::format("{}: {}{}", name, size_with_unit(static_cast<double>(advice.contents)),
                     advice.stored
                         ? ", stored now in " + size_with_unit(static_cast<double>(*advice.stored))
                         : "");
}

}  // namespace

std::string advice_picture(const Advice& advice) {
  const PictureLegend legend(advice);
  const double legend_top = kPictureTop + 2 * kPanelHeight + 10;
  const double height = legend_top + legend.height(),
               width = std::max(kPictureWidth, legend.width());
  Markup out;
  out.add("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{}\">\n", width,
          height, width);
  out.add("<style>");
  out.add("{}", std::string(kPictureStyle));
  out.add("</style>\n<text x=\"{}\" y=\"24\">{}</text>\n", kPictureLeft, picture_title(advice));
  out.add("{}", SpeedPanel(advice.settings, &MeasuredSettings::decode, kPictureTop,
                           "Reading: compression ratio over MB/s that one thread decodes")
                    .draw());
  out.add("{}", SpeedPanel(advice.settings, &MeasuredSettings::encode, kPictureTop + kPanelHeight,
                           "Writing: compression ratio over MB/s that one thread encodes")
                    .draw());
  out.add("{}", legend.draw(legend_top));
  out.add("</svg>\n");
  return out.text();
}

}  // namespace bloscfs::tools
