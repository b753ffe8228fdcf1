#include "tools/report/chunk_map.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tools/report/map_layout.hpp"
#include "tools/report/palette.hpp"
#include "tools/report/words.hpp"

namespace bloscfs::tools {
namespace {

using codec::SpecialValue;
using fs::ChunkCounts;
using fs::ChunkSurvey;

/// Maximum pixels of a cell, and of a map. In a narrow window, the browser makes them smaller.
constexpr std::int64_t kCellSize = 30, kMapWidth = 960, kMapHeight = 460;
/// Maximum width of a map that leaves room for a histogram next to it, in pixels.
constexpr std::int64_t kNarrow = 480;
/// Bars of a histogram.
constexpr std::size_t kBars = 24;
/// Ratios that differ by a smaller factor are shown as one number.
constexpr double kEqual = 1.001;

struct SpecialWords {
  SpecialValue value;
  const char *shape, *text;
};
constexpr std::array<SpecialWords, 4> kSpecials{{
    {SpecialValue::zero, "zero", "zeros"},
    {SpecialValue::nan, "nan", "NaNs"},
    {SpecialValue::value, "value", "one repeated value"},
    {SpecialValue::uninit, "uninit", "never written"},
}};

std::int64_t count_of(const ChunkCounts& counts, SpecialValue value) {
  return counts.special.at(static_cast<std::size_t>(value));
}

double ratio_of(const ChunkCounts& counts) {
  return static_cast<double>(counts.nbytes) / static_cast<double>(counts.cbytes);
}

/// Maps ratios to colours, by their logarithms.
class Scale {
 public:
  explicit Scale(const ChunkSurvey& survey) {
    for (const ChunkCounts& cell : survey.cells) {
      if (cell.cbytes <= 0) continue;
      low_ = std::min(low_, ratio_of(cell));
      high_ = std::max(high_, ratio_of(cell));
    }
  }
  bool is_empty() const { return low_ > high_; }
  double low() const { return low_; }
  double high() const { return high_; }
  double middle() const { return std::sqrt(low_ * high_); }
  Colour colour(double ratio) const {
    return ramp_colour(high_ > low_ ? std::log(ratio / low_) / std::log(high_ / low_) : 0.5);
  }

 private:
  double low_ = std::numeric_limits<double>::infinity(), high_ = 0;
};

/// The words about a cell, for the picture and for the table.
struct CellWords {
  std::string chunks, place, contents, stored, ratio, what;

  std::string sentence() const {
    std::string text = chunks + (place.empty() ? "" : " at " + place) + ": ";
    if (!ratio.empty()) text += fmt::format("{}, {} in {}", ratio, contents, stored);
    if (!ratio.empty() && !what.empty()) text += "; ";
    return text + what;
  }
};

CellWords words_of(const ChunkSurvey& survey, std::int64_t cell) {
  const ChunkCounts& counts = survey.cells[static_cast<std::size_t>(cell)];
  const std::int64_t first = survey.grid.first_chunk_of(cell), count = survey.grid.chunks_of(cell);
  CellWords words;
  words.chunks = count == 1 ? fmt::format("Chunk {}", grouped(first))
                            : fmt::format("{} chunks from {}", grouped(count), grouped(first));
  if (survey.grid.is_of_array() && survey.grid.dimensions().size() > 1)
    words.place = place_text(survey.grid.place_of(first));
  if (counts.cbytes > 0) {
    words.contents = size_in_words(counts.nbytes);
    words.stored = size_in_words(counts.cbytes);
    words.ratio = ratio_text(ratio_of(counts));
  }
  const auto add = [&](const std::string& text) {
    words.what += (words.what.empty() ? "" : ", ") + text;
  };
  if (counts.damaged > 0) add(count == 1 ? "damaged" : grouped(counts.damaged) + " damaged");
  for (const SpecialWords& special : kSpecials)
    if (const std::int64_t found = count_of(counts, special.value); found > 0)
      add(count == 1 ? special.text : grouped(found) + " of " + special.text);
  if (counts.seen == 0)
    add("not looked at");
  else if (counts.seen < count)
    add(fmt::format("{} of them were looked at", grouped(counts.seen)));
  return words;
}

/// Returns the name of the shape for a cell without stored chunks: that of its most frequent
/// special value.
const char* shape_of(const ChunkCounts& counts) {
  const auto most = std::max_element(kSpecials.begin(), kSpecials.end(),
                                     [&](const SpecialWords& a, const SpecialWords& b) {
                                       return count_of(counts, a.value) < count_of(counts, b.value);
                                     });
  return count_of(counts, most->value) > 0 ? most->shape : "unseen";
}

Markup draw_cell(const ChunkSurvey& survey, std::int64_t cell, const MapLayout& layout,
                 const Scale& scale) {
  const ChunkCounts& counts = survey.cells[static_cast<std::size_t>(cell)];
  const auto [x, y] = layout.position(cell);
  Markup out;
  if (counts.cbytes > 0)
    out.add(R"(<rect class="c" x="{}" y="{}" width=".9" height=".9" fill="{}">)", x, y,
            colour_text(scale.colour(ratio_of(counts))));
  else
    out.add(R"(<rect class="c {}" x="{}" y="{}" width=".9" height=".9">)",
            counts.damaged > 0 ? "bad" : "bare", x, y);
  out.add("<title>{}</title></rect>", words_of(survey, cell).sentence());
  if (counts.cbytes <= 0 && counts.damaged == 0)
    out.add(R"(<use href="#shape-{}" x="{}" y="{}"/>)", shape_of(counts), x, y);
  if (counts.damaged > 0) out.add(R"(<use href="#shape-damage" x="{}" y="{}"/>)", x, y);
  return out;
}

Markup key(const char* shape, const std::string& text) {
  return markup(
      "<li><svg class=\"key\" viewBox=\"0 0 .9 .9\" aria-hidden=\"true\">"
      "<rect class=\"c bare\" width=\".9\" height=\".9\"/><use href=\"#shape-{}\"/></svg> "
      "{}</li>\n",
      shape, text);
}

Markup legend(const ChunkSurvey& survey, const Scale& scale) {
  Markup out;
  out.add("<div class=\"legend\">\n");
  if (!scale.is_empty()) {
    const bool is_one = scale.low() == scale.high();
    out.add(
        "<div class=\"scale\"><svg viewBox=\"0 0 1 1\" preserveAspectRatio=\"none\" "
        "aria-hidden=\"true\"><rect width=\"1\" height=\"1\" fill=\"{}\"/></svg>"
        "<span>{}</span><span>{}</span><span>{}</span></div>\n",
        is_one ? colour_text(scale.colour(scale.low())) : "url(#ramp)", ratio_text(scale.low()),
        is_one ? "" : ratio_text(scale.middle()), is_one ? "" : ratio_text(scale.high()));
  }
  out.add("<ul>\n");
  for (const SpecialWords& special : kSpecials)
    if (const std::int64_t count = count_of(survey.all, special.value); count > 0)
      out.add(key(special.shape,
                  fmt::format("{}: {}", special.text, counted(count, "chunk", "chunks"))));
  if (survey.all.damaged > 0)
    out.add(key("damage", "damaged: " + counted(survey.all.damaged, "chunk", "chunks")));
  out.add("</ul></div>\n");
  return out;
}

Markup table(const ChunkSurvey& survey) {
  const bool has_places = survey.grid.is_of_array() && survey.grid.dimensions().size() > 1;
  Markup out;
  out.add(
      "<details><summary>The same as a table</summary>\n"
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table of chunks\">"
      "<table><thead><tr><th scope=\"col\">Chunks</th>");
  if (has_places) out.add("<th scope=\"col\">Place</th>");
  out.add(
      "<th scope=\"col\">Contents</th><th scope=\"col\">Stored</th>"
      "<th scope=\"col\">Ratio</th><th scope=\"col\">Remarks</th></tr></thead><tbody>\n");
  for (std::int64_t cell = 0; cell < std::ssize(survey.cells); cell++) {
    const CellWords words = words_of(survey, cell);
    out.add("<tr><th scope=\"row\">{}</th>", words.chunks);
    if (has_places) out.add("<td>{}</td>", words.place);
    out.add("<td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", words.contents, words.stored,
            words.ratio, words.what);
  }
  out.add("</tbody></table></div></details>\n");
  return out;
}

std::string summary_of(const ChunkSurvey& survey, const MapLayout& layout) {
  std::int64_t chunks = 1, widths = 1;
  for (const auto& dimension : survey.grid.dimensions()) {
    chunks *= dimension.chunks;
    widths *= dimension.width;
  }
  std::string text = layout.explanation();
  if (widths > 1) text += fmt::format(" Each cell stands for {} chunks.", grouped(widths));
  if (survey.is_sample)
    text += fmt::format(" Of {} chunks the headers of {} were read, evenly spread.",
                        grouped(chunks), grouped(survey.all.seen));
  return text;
}

}  // namespace

Markup chunk_map(const ChunkSurvey& survey, const std::string& id) {
  const MapLayout layout(survey.grid);
  const Scale scale(survey);
  const std::int64_t width =
      std::min({layout.columns() * kCellSize, kMapWidth,
                std::max<std::int64_t>(1, layout.columns() * kMapHeight / layout.rows())});
  Markup out;
  out.add(
      "<figure class=\"chunks {}\"><figcaption id=\"{}-map\"><b>Compression of each chunk.</b> {}"
      "</figcaption>\n",
      width > kNarrow ? "wide" : "narrow", id, summary_of(survey, layout));
  out.add(
      "<svg class=\"map\" tabindex=\"0\" role=\"img\" aria-labelledby=\"{}-map\" "
      "width=\"{}\" viewBox=\"-.05 -.05 {} {}\">\n",
      id, width, layout.columns(), layout.rows());
  for (std::int64_t cell = 0; cell < std::ssize(survey.cells); cell++)
    out.add(draw_cell(survey, cell, layout, scale));
  out.add(
      "</svg>\n<p class=\"readout\" aria-live=\"polite\">Point at a cell, or go from cell to "
      "cell with the arrow keys.</p>\n");
  out.add(legend(survey, scale));
  out.add(table(survey));
  out.add("</figure>\n");
  return out;
}

Markup chunk_map_shapes() {
  Markup out;
  out.add(R"(<svg class="shapes" aria-hidden="true"><defs><linearGradient id="ramp">)");
  constexpr int kStops = 16;
  for (int i = 0; i <= kStops; i++)
    out.add(R"(<stop offset="{:.4f}" stop-color="{}"/>)", static_cast<double>(i) / kStops,
            colour_text(ramp_colour(static_cast<double>(i) / kStops)));
  out.add(
      "</linearGradient>"
      "<g id=\"shape-zero\"><circle class=\"s\" cx=\".45\" cy=\".45\" r=\".17\"/></g>"
      "<g id=\"shape-nan\"><path class=\"s\" d=\"M.25 .65 L.65 .25\"/></g>"
      "<g id=\"shape-value\"><path class=\"s\" d=\"M.22 .36 H.68 M.22 .54 H.68\"/></g>"
      "<g id=\"shape-uninit\"><path class=\"s\" d=\"M.32 .45 H.58\"/></g>"
      "<g id=\"shape-unseen\"/>"
      "<g id=\"shape-damage\"><rect class=\"d\" width=\".9\" height=\".9\"/>"
      "<path class=\"x\" d=\"M.22 .22 L.68 .68 M.68 .22 L.22 .68\"/></g>"
      "</defs></svg>\n");
  return out;
}

Markup one_chunk(const ChunkSurvey& survey) {
  return markup("<p>{}.</p>\n", words_of(survey, 0).sentence());
}

Markup ratio_histogram(const ChunkSurvey& survey) {
  Markup out;
  if (survey.ratios.empty()) return out;
  std::vector<double> ratios = survey.ratios;
  std::sort(ratios.begin(), ratios.end());
  const double low = ratios.front(), high = ratios.back();
  if (high / low < kEqual)
    return markup("<p><b>Compression.</b> {} stored, {}.</p>\n",
                  counted(std::ssize(ratios), "chunk is", "chunks are"), ratio_text(low));
  const double median = ratios[ratios.size() / 2];
  const double step = std::log(high / low) / static_cast<double>(kBars);
  std::array<std::int64_t, kBars> counts{};
  for (const double ratio : ratios) {
    // For an empty chunk, which only a hostile file has, the logarithm is not finite. max() and
    // min() then yield the first or the last bar.
    const double at = std::max(0.0, std::log(ratio / low) / step);
    counts[std::min(kBars - 1, static_cast<std::size_t>(std::min(at, 1e3)))]++;
  }
  const std::int64_t most = *std::max_element(counts.begin(), counts.end());
  const auto edge = [&](std::size_t bar) {
    return low * std::exp(step * static_cast<double>(bar));
  };
  out.add(
      "<figure class=\"histogram\"><figcaption><b>How many chunks have which ratio.</b> "
      "The median of {} is {}.</figcaption>\n"
      "<div class=\"plot\"><span class=\"top\">{}</span><span class=\"bottom\">0</span>"
      "<svg viewBox=\"0 0 {} 100\" preserveAspectRatio=\"none\" role=\"img\" "
      "aria-label=\"Histogram of ratios; the table has its numbers\">\n",
      counted(std::ssize(ratios), "stored chunk", "stored chunks"), ratio_text(median),
      counted(most, "chunk", "chunks"), kBars);
  Markup rows;
  for (std::size_t bar = 0; bar < kBars; bar++) {
    const double height = 100 * static_cast<double>(counts[bar]) / static_cast<double>(most);
    const std::string range = ratio_text(edge(bar)) + " to " + ratio_text(edge(bar + 1));
    const std::string chunks = counted(counts[bar], "chunk", "chunks");
    out.add(
        "<rect x=\"{:.2f}\" width=\".86\" y=\"{:.2f}\" height=\"{:.2f}\"><title>{}: {}</title>"
        "</rect>\n",
        static_cast<double>(bar) + 0.07, 100 - height, height, range, chunks);
    rows.add("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", range, grouped(counts[bar]));
  }
  out.add("</svg><span class=\"first\">{}</span><span class=\"last\">{}</span></div>\n",
          ratio_text(low), ratio_text(high));
  out.add(
      "<details><summary>The same as a table</summary><div class=\"scroll\" tabindex=\"0\" "
      "role=\"region\" aria-label=\"Table of ratios\"><table><thead><tr>"
      "<th scope=\"col\">Ratio</th><th scope=\"col\">Chunks</th></tr></thead><tbody>\n{}"
      "</tbody></table></div></details></figure>\n",
      rows);
  return out;
}

}  // namespace bloscfs::tools
