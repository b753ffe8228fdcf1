#include "tools/report/metalayer_trees.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "codec/error.hpp"
#include "frame/header/msgpack_json.hpp"
#include "fs/view/thread_decoder.hpp"
#include "tools/metalayer_json.hpp"
#include "tools/report/words.hpp"

namespace bloscfs::tools {
namespace {

using nlohmann::ordered_json;

/// Limits: variable-length layers of a frame, decoded bytes of one layer, values of all layers,
/// depth, and bytes of a text.
constexpr std::size_t kMostLayers = 100, kMostBytes = std::size_t{1} << 20;
constexpr int kMostValues = 2000, kMostDepth = 12;
constexpr std::size_t kMostText = 500;
/// Most values of a list that are shown in one line.
constexpr std::size_t kInLine = 16;

std::string scalar_text(const ordered_json& value) {
  if (value.is_string())
    return "\u201c" + shortened(value.get_ref<const std::string&>(), kMostText) + "\u201d";
  return value.is_null() ? "nothing (nil)" : frame::to_line(value);
}

bool is_short_list(const ordered_json& value) {
  return value.is_array() && value.size() <= kInLine &&
         std::none_of(value.begin(), value.end(), [](const ordered_json& each) {
           return each.is_structured() ||
                  (each.is_string() && each.get_ref<const std::string&>().size() > 40);
         });
}

std::string short_list_text(const ordered_json& value) {
  std::string text;
  for (const ordered_json& each : value) text += (text.empty() ? "" : ", ") + scalar_text(each);
  return "[" + text + "]";
}

class Tree {
 public:
  Markup show(const ordered_json& value, int depth) {
    shown_++;
    if (is_short_list(value)) return markup("<code>{}</code>", short_list_text(value));
    if (!value.is_structured()) return markup("<code>{}</code>", scalar_text(value));
    const auto count = static_cast<std::int64_t>(value.size());
    const std::string summary =
        value.is_object() ? counted(count, "entry", "entries") : counted(count, "value", "values");
    if (depth == kMostDepth)
      return markup("<span class=\"left-out\">{}, nested too deeply for this page</span>", summary);
    Markup items;
    std::int64_t done = 0;
    for (const auto& [name, each] : value.items()) {
      if (shown_ >= kMostValues) break;
      items.add("<li><b>{}</b> {}</li>\n", shortened(name, kMostText), show(each, depth + 1));
      done++;
    }
    if (done < count) items.add("<li class=\"left-out\">{} more</li>\n", grouped(count - done));
    return markup("<details{}><summary>{}</summary><ul class=\"tree\">\n{}</ul></details>",
                  depth == 0 ? markup(" open=\"open\"") : Markup(), summary, items);
  }

 private:
  int shown_ = 0;
};

class Layers {
 public:
  void add(const std::string& name, const char* kind, const Markup& content) {
    rows_.add("<dt><code>{}</code> <span class=\"kind\">{}</span></dt>\n<dd>{}</dd>\n",
              shortened(name, kMostText), kind, content);
  }
  Markup shown(const ordered_json& value) { return tree_.show(value, 0); }
  void leave_out(std::int64_t count) { left_out_ += count; }

  Markup finish() const {
    Markup out;
    if (rows_.empty()) return out;
    out.add("<h3>Metalayers</h3>\n<dl class=\"layers\">\n{}</dl>\n", rows_);
    if (left_out_ > 0)
      out.add("<p class=\"left-out\">{}.</p>\n",
              counted(left_out_, "metalayer more", "metalayers more"));
    return out;
  }

 private:
  Markup rows_;
  Tree tree_;
  std::int64_t left_out_ = 0;
};

Markup too_large(std::int64_t size) {
  return markup("<span class=\"left-out\">{}, too large for this page</span>", size_in_words(size));
}

}  // namespace

Markup metalayer_trees(const frame::Snapshot& snapshot) {
  Layers layers;
  for (const auto& entry : snapshot.metalayers())
    layers.add(entry.name, "fixed",
               entry.stored_size > kMostBytes ? too_large(entry.stored_size)
                                              : layers.shown(fixed_metalayer_to_json(
                                                    entry.name, snapshot.read_metalayer(entry))));
  std::size_t shown = 0;
  const auto others = snapshot.vlmetalayers();
  for (const auto& entry : others) {
    if (shown++ == kMostLayers) {
      layers.leave_out(std::ssize(others) - static_cast<std::int64_t>(kMostLayers));
      break;
    }
    try {
      const std::int64_t size = snapshot.vlmetalayer_size(entry);
      layers.add(entry.name, "variable",
                 size > static_cast<std::int64_t>(kMostBytes)
                     ? too_large(size)
                     : layers.shown(frame::metalayer_to_json(
                           snapshot.read_vlmetalayer(entry, kMostBytes, fs::thread_decoder()))));
    } catch (const codec::Error& error) {
      layers.add(entry.name, "variable", markup("<span class=\"bad\">{}</span>", error.what()));
    }
  }
  return layers.finish();
}

Markup metalayer_trees(const std::vector<frame::Metalayer>& layers) {
  Layers shown;
  for (const auto& layer : layers)
    shown.add(layer.name, "fixed",
              layer.content.size() > kMostBytes
                  ? too_large(std::ssize(layer.content))
                  : shown.shown(fixed_metalayer_to_json(layer.name, layer.content)));
  return shown.finish();
}

}  // namespace bloscfs::tools
