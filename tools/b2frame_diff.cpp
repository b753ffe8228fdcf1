// b2frame diff: finds where two frames differ, however they are stored.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frame/header/msgpack_json.hpp"
#include "frame/remote/url.hpp"
#include "fs/numpy/npy.hpp"
#include "fs/support/printable.hpp"
#include "fs/view/attributes.hpp"
#include "fs/view/thread_decoder.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/content_comparison.hpp"
#include "tools/difference_report.hpp"
#include "tools/interrupt.hpp"
#include "tools/item_text.hpp"
#include "tools/progress.hpp"
#include "tools/record_fields.hpp"
#include "tools/remote_files.hpp"
#include "tools/tables/table_difference.hpp"

namespace bloscfs::tools {
namespace {

constexpr const char* kNone = "none";
/// Maximum size in bytes of a vlmetalayer that diff compares.
constexpr std::size_t kMaxLayer = std::size_t{32} << 20;
/// Bytes at the start of a flat frame in which a NPY header is looked for.
constexpr std::int64_t kMaxNpyHeader = std::int64_t{64} << 10;
/// Maximum number of characters of a value in a line.
constexpr std::size_t kMaxShown = DifferenceReport::kMaxShown;

struct Side {
  Side(const std::string& path, RemoteFiles& remote, RunLimits& limits)
      : name(frame::shown_url(path)), input(path, false, remote, limits), elements(input) {}

  std::string name;
  Input input;
  Elements elements;
};

std::string hex_text(codec::Bytes bytes) {
  return fmt::format("0x{:02x}", fmt::join(bytes.first(std::min(bytes.size(), kMaxShown / 2)), ""));
}

ItemText text_of(const std::string& dtype) {
  const auto fields = record_fields(dtype);
  return fields ? record_text(*fields, TextStyle::columns) : item_text(dtype, TextStyle::columns);
}

std::string value_text(const std::string& dtype, codec::Bytes item) {
  std::string text;
  if (const auto append = text_of(dtype)) {
    try {
      append(item, text);
      return DifferenceReport::shortened(text);
    } catch (const std::exception&) {
      // A value that has no valid text is shown as hexadecimal bytes.
    }
  }
  return hex_text(item);
}

/// Returns a text such as "[3, 17]" for an item of an array, else the item's number.
std::string place_text(const std::optional<std::vector<std::int64_t>>& shape, std::int64_t item) {
  if (!shape) return std::to_string(item);
  std::vector<std::int64_t> coordinates(shape->size());
  for (std::size_t i = shape->size(); i-- > 0; item /= (*shape)[i])
    coordinates[i] = item % (*shape)[i];
  return fmt::format("[{}]", fmt::join(coordinates, ", "));
}

class Difference {
 public:
  Difference(const DiffOptions& options, Side& a, Side& b)
      : options_(options), a_(a), b_(b), report_(a.name, b.name, options.brief) {}

  int run() {
    if (!tell_of_npy_bytes()) compare_kinds();
    if (options_.meta && goes_on()) compare_metadata();
    if (goes_on() && are_comparable()) compare_contents();
    return report_.has_any() ? kExitBadData : 0;
  }

 private:
  bool goes_on() const { return report_.goes_on(); }

  template <typename... Parts>
  void tell(fmt::format_string<Parts...> what, Parts&&... parts) {
    report_.tell(fmt::format(what, std::forward<Parts>(parts)...));
  }

  void compare_values(const char* name, const std::string& a, const std::string& b) {
    if (a != b) tell("{} {} and {}", name, fs::printable(a), fs::printable(b));
  }

  static std::string shape_text(const Elements& elements) {
    if (!elements.shape()) return kNone;
    return elements.shape()->empty() ? "()" : fmt::format("{}", fmt::join(*elements.shape(), ","));
  }

  /// True for a flat frame whose bytes are a NPY file, such as the conflict file of an array.
  static bool holds_npy_file(Elements& elements) {
    if (elements.shape()) return false;
    std::vector<std::uint8_t> start(
        static_cast<std::size_t>(std::min(elements.nbytes(), kMaxNpyHeader)));
    elements.read(0, start);
    return fs::npy_header_size(start).has_value();
  }

  /// Says so if one side is an array, and the other one holds the bytes of a NPY file.
  bool tell_of_npy_bytes() {
    const bool is_a = b_.elements.shape() && holds_npy_file(a_.elements);
    if (!is_a && !(a_.elements.shape() && holds_npy_file(b_.elements))) return false;
    tell(
        "{} holds the bytes of a NPY file; write both to .npy files with b2frame extract, and "
        "compare these with cmp",
        fs::printable(is_a ? a_.name : b_.name));
    return true;
  }

  void compare_kinds() {
    const Elements& a = a_.elements;
    const Elements& b = b_.elements;
    compare_values("shape", shape_text(a), shape_text(b));
    compare_values("dtype", a.dtype().value_or(kNone), b.dtype().value_or(kNone));
    // The item size of flat frames is a setting of their compression.
    const bool are_flat = !a.shape() && !b.shape();
    if ((!a.dtype() || !b.dtype()) && (options_.meta || !are_flat))
      compare_values("typesize", std::to_string(a.itemsize()), std::to_string(b.itemsize()));
  }

  /// False for arrays of different shapes or item sizes, whose items do not correspond.
  bool are_comparable() const {
    const Elements& a = a_.elements;
    const Elements& b = b_.elements;
    return a.shape() == b.shape() && (!a.shape() || a.itemsize() == b.itemsize());
  }

  /// Compares items, or single bytes if the item sizes differ.
  void compare_contents() {
    const Elements& a = a_.elements;
    const Elements& b = b_.elements;
    const bool same_size = a.itemsize() == b.itemsize();
    const std::int64_t itemsize = same_size ? a.itemsize() : 1;
    Progress progress("diff", std::min(a.nbytes(), b.nbytes()));
    const auto found = ContentComparison(a_.input, a_.elements, b_.input, b_.elements, itemsize)
                           .run(options_.all, [&](std::int64_t done) { progress.update(done); });
    progress.clear();
    const char* const unit = same_size ? "item" : "byte";
    if (found) {
      const std::string untyped = fmt::format("<u{}", itemsize);
      tell("{} {}: {} and {}", unit, place_text(a.shape(), found->first_item),
           value_text(a.dtype().value_or(untyped), found->first_value),
           value_text(b.dtype().value_or(untyped), found->other_value));
      if (options_.all && goes_on())
        tell("{} of {} {}s", found->items, std::min(a.nbytes(), b.nbytes()) / itemsize, unit);
    }
    if (a.nbytes() != b.nbytes() && goes_on()) {
      const bool a_ends = a.nbytes() < b.nbytes();
      tell("{} ends after {} bytes, {} has {}", fs::printable(a_ends ? a_.name : b_.name),
           std::min(a.nbytes(), b.nbytes()), a_ends ? "the other" : "the first",
           std::max(a.nbytes(), b.nbytes()));
    }
  }

  // Compares how the frames are stored, and their metalayers. Only for --meta.

  void compare_metadata() {
    const frame::FrameInfo& a = a_.input.info();
    const frame::FrameInfo& b = b_.input.info();
    compare_values("container", a.kind_name(), b.kind_name());
    for (const char* name :
         {"codec", "clevel", "filters", "chunksize", "blocksize", "chunkshape", "blockshape"}) {
      const std::string attribute = std::string(fs::kAttributePrefix) + name;
      const auto value = [&](const frame::FrameInfo& info) {
        const auto text = fs::computed_value(info, attribute);
        return text && !text->empty() ? *text : kNone;
      };
      compare_values(name, value(a), value(b));
    }
    compare_layers("metalayer", fixed_layers(a_), fixed_layers(b_));
    compare_layers("vlmetalayer", variable_layers(a_), variable_layers(b_));
  }

  using Layers = std::map<std::string, frame::MetalayerEntry>;

  /// Returns the metalayers, except those that describe shapes. compare_kinds() and
  /// compare_metadata() compare the shapes.
  static Layers fixed_layers(const Side& side) {
    Layers layers;
    for (const auto& entry : side.input.snapshot().metalayers())
      if (entry.name != "b2nd" && entry.name != "caterva") layers.emplace(entry.name, entry);
    return layers;
  }

  /// Returns the vlmetalayers, except checksums, which depend on how chunks are stored.
  static Layers variable_layers(const Side& side) {
    Layers layers;
    for (const auto& entry : side.input.snapshot().vlmetalayers())
      if (entry.name != "bloscfs.xxh3") layers.emplace(entry.name, entry);
    return layers;
  }

  static std::vector<std::uint8_t> content(const Side& side, const frame::MetalayerEntry& entry,
                                           bool is_fixed) {
    const frame::Snapshot& snapshot = side.input.snapshot();
    return is_fixed ? snapshot.read_metalayer(entry)
                    : snapshot.read_vlmetalayer(entry, kMaxLayer, fs::thread_decoder());
  }

  void compare_layers(const char* what, const Layers& a, const Layers& b) {
    const bool is_fixed = std::string(what) == "metalayer";
    for (const auto& [name, entry] : a) {
      const auto other = b.find(name);
      if (other == b.end()) {
        tell("{} {} only in {}", what, DifferenceReport::shortened(name), fs::printable(a_.name));
        continue;
      }
      const auto content_a = content(a_, entry, is_fixed);
      const auto content_b = content(b_, other->second, is_fixed);
      if (content_a != content_b)
        tell("{} {}: {} and {}", what, DifferenceReport::shortened(name), layer_text(content_a),
             layer_text(content_b));
    }
    for (const auto& [name, entry] : b)
      if (!a.contains(name))
        tell("{} {} only in {}", what, DifferenceReport::shortened(name), fs::printable(b_.name));
  }

  static std::string layer_text(codec::Bytes bytes) {
    const std::string text = frame::to_line(frame::metalayer_to_json(bytes));
    return text.size() <= kMaxShown ? text : fmt::format("{} bytes", bytes.size());
  }

  const DiffOptions& options_;
  Side& a_;
  Side& b_;
  DifferenceReport report_;
};

int diff(const DiffOptions& options) {
  RemoteFiles remote(options.remote);
  RunLimits limits;
  if (const auto status = diff_tables(options, remote, limits)) return *status;
  std::optional<Side> a, b;
  const auto opened = [&](const std::string& path, std::optional<Side>& side) {
    return guarded(path, [&] {
             side.emplace(path, remote, limits);
             return 0;
           }) == 0;
  };
  // Opens both files in any case, so that errors of both are reported.
  const bool has_a = opened(options.first, a);
  const bool has_b = opened(options.other, b);
  if (!has_a || !has_b) return kExitTrouble;
  try {
    return Difference(options, *a, *b).run();
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    complain(options.first + " " + options.other, reason(error));
    return kExitTrouble;
  }
}

}  // namespace

int run_diff(const DiffOptions& options) {
  Progress total("diff", 0);
  const int status = diff(options);
  if (status != kExitTrouble) total.finish({2});
  return status;
}

}  // namespace bloscfs::tools
