#include "tools/advice_picture.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/report/markup.hpp"

namespace bloscfs::tools {
namespace {

constexpr double kPictureWidth = 900, kPanelHeight = 330, kPictureTop = 70, kPictureLeft = 70,
                 kPictureRight = 30, kPictureBottom = 50;
constexpr double kLegendLine = 17;  ///< of the picture_legend

const char* const kPictureStyle =
    "svg{background:#fff;color:#222;font:13px sans-serif}"
    "text{fill:currentColor}"
    ".axis{stroke:currentColor;fill:none}"
    ".grid{stroke:currentColor;opacity:.15}"
    ".front{stroke:#0a6ebd;stroke-width:2;fill:none}"
    ".dot{fill:#0a6ebd}.beaten{fill:none;stroke:#0a6ebd}"
    ".now{fill:#c2570c;stroke:#c2570c}"
    ".small{font-size:11px}"
    "@media (prefers-color-scheme:dark){svg{background:#16181c;color:#ddd}"
    ".front{stroke:#6db8f5}.dot{fill:#6db8f5}.beaten{stroke:#6db8f5}"
    ".now{fill:#f0a060;stroke:#f0a060}}";

/// Speeds are shown by their logarithm, ratios by themselves.
struct PictureScale {
  double least, most, begin, end;
  double operator()(double value) const {
    return begin + (value - least) / std::max(most - least, 1e-9) * (end - begin);
  }
};

bool is_compared(const AdvisedSettings& advised) {
  return !advised.marks.empty() &&
         (advised.marks.back() == "now" || advised.marks.back() == "usual");
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
    for (std::size_t i = 0; i < all_.size(); i++) draw_dot(i, out);
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
    for (int i = 0; i <= 4; i++) {
      const double ratio = y_.least + (y_.most - y_.least) * i / 4, at = y_(ratio);
      out.add(R"(<line class="grid" x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}"/>)", kPictureLeft, at,
              kPictureWidth - kPictureRight, at);
      out.add("<text class=\"small\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.2f}</text>\n",
              kPictureLeft - 6, at + 4, ratio);
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

  /// Those that no faster ones are as small as.
  void draw_front(Markup& out) const {
    std::vector<const MeasuredSettings*> front;
    for (const AdvisedSettings& one : all_)  // what stores least first
      if (front.empty() || one.measured.*speed_ > front.back()->*speed_)
        front.push_back(&one.measured);
    std::string points;
    for (const MeasuredSettings* one : front)
      points += fmt::format("{:.1f},{:.1f} ", x(*one), y(*one));
    out.add("<polyline class=\"front\" points=\"{}\"/>\n", points);
  }

  void draw_dot(std::size_t i, Markup& out) const {
    const AdvisedSettings& one = all_[i];
    const char* const kind = is_compared(one) ? "now" : (one.measured.on_front ? "dot" : "beaten");
    out.add(R"(<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="5"><title>{}</title></circle>)", kind,
            x(one.measured), y(one.measured), one.options);
    out.add("<text class=\"small\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x(one.measured) + 7,
            y(one.measured) - 5, i + 1);
  }

  const std::vector<AdvisedSettings>& all_;
  double MeasuredSettings::*speed_;
  double top_;
  const char* title_;
  PictureScale x_{}, y_{};
};

Markup picture_legend(const Advice& advice, double top) {
  Markup out;
  for (std::size_t i = 0; i < advice.settings.size(); i++) {
    const AdvisedSettings& one = advice.settings[i];
    const std::string marks = fmt::format("{}", fmt::join(one.marks, ", "));
    out.add("<text class=\"small\" x=\"{}\" y=\"{}\">{} \u2002 {:.2f} \u2002 {}{}{}</text>\n",
            kPictureLeft, top + kLegendLine * static_cast<double>(i), i + 1, one.measured.ratio,
            one.options, marks.empty() ? "" : " \u2190 ", marks);
  }
  return out;
}

}  // namespace

std::string advice_picture(const Advice& advice) {
  const double legend_top = kPictureTop + 2 * kPanelHeight + 10;
  const double height = legend_top + kLegendLine * static_cast<double>(advice.settings.size()) + 10;
  Markup out;
  out.add("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{}\">\n",
          kPictureWidth, height, kPictureWidth);
  out.add("<style>");
  out.add("{}", std::string(kPictureStyle));
  out.add("</style>\n<text x=\"{}\" y=\"24\">{}</text>\n", kPictureLeft, advice.file);
  out.add("{}", SpeedPanel(advice.settings, &MeasuredSettings::decode, kPictureTop,
                           "ratio over MB/s of one thread, decoding")
                    .draw());
  out.add("{}", SpeedPanel(advice.settings, &MeasuredSettings::encode, kPictureTop + kPanelHeight,
                           "ratio over MB/s of one thread, encoding")
                    .draw());
  out.add("{}", picture_legend(advice, legend_top));
  out.add("</svg>\n");
  return out.text();
}

}  // namespace bloscfs::tools
