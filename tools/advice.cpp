#include "tools/advice.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codec/error.hpp"
#include "codec/loss.hpp"
#include "codec/names.hpp"
#include "frame/choosing/choice.hpp"
#include "frame/choosing/settings_search.hpp"
#include "frame/open/open.hpp"
#include "fs/encoding/new_frame.hpp"
#include "fs/numpy/npy.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/elements.hpp"
#include "tools/input.hpp"
#include "tools/raw_input.hpp"
#include "tools/store_address.hpp"

namespace bloscfs::tools {
namespace {

using AdviceClock = std::chrono::steady_clock;

constexpr std::int64_t kMostSamplePieces = 8;
/// Bytes that are searched for the header of a NPY file.
constexpr std::size_t kAdvisedNpyStart = 256 << 10;
/// Mark of the settings that create chooses.
constexpr std::string_view kAutomatic = "auto";

/// The contents of a frame, an array file or any other regular file.
struct AdvisedContents {
  std::int64_t size = 0;      ///< bytes
  std::int32_t typesize = 0;  ///< 0: not known
  std::function<void(std::int64_t offset, codec::MutableBytes out)> read;
  std::optional<std::int64_t> stored;
  std::optional<double> stored_ratio;
  std::optional<codec::EncodeSettings> now;  ///< the frame's settings
};

/// Returns the settings of a frame, or nullopt if samples cannot be encoded and decoded with them.
/// That is the case for lossy settings, and for codecs that need the shape of blocks.
std::optional<codec::EncodeSettings> frame_settings(const frame::FrameInfo& info) {
  if (!info.codec) return std::nullopt;
  codec::EncodeSettings settings;
  settings.codec = *info.codec;
  settings.codec_meta = info.codec_meta;
  settings.clevel = info.clevel;
  std::copy_n(info.filters.begin(), settings.filters.size(), settings.filters.begin());
  settings.typesize = info.typesize;
  settings.blocksize = info.blocksize;
  settings.split = static_cast<codec::SplitMode>(info.splitmode);
  settings.use_dictionary = info.use_dict;
  if (codec::loss_of(settings.codec, settings.filters) != codec::Loss::none) return std::nullopt;
  try {
    codec::check_settings(settings);
  } catch (const codec::Error&) {
    return std::nullopt;
  }
  return settings;
}

AdvisedContents advised_contents(std::shared_ptr<const frame::Snapshot> snapshot,
                                 RunLimits& limits) {
  // `contents.read` owns this object. `elements` refers to `input`.
  struct Opened {
    Opened(std::shared_ptr<const frame::Snapshot> snapshot, RunLimits& limits)
        : input(std::move(snapshot), limits), elements(input) {}
    Input input;
    Elements elements;
  };
  const auto opened = std::make_shared<Opened>(std::move(snapshot), limits);
  const frame::FrameInfo& info = opened->input.info();
  AdvisedContents contents;
  contents.size = opened->elements.nbytes();
  contents.typesize = info.typesize;
  contents.now = frame_settings(info);
  contents.stored = info.cbytes;
  if (info.cbytes > 0)
    contents.stored_ratio = static_cast<double>(contents.size) / static_cast<double>(info.cbytes);
  contents.read = [opened](std::int64_t offset, codec::MutableBytes out) {
    opened->elements.read(offset, out);
  };
  return contents;
}

AdvisedContents advised_file_contents(const std::string& path,
                                      std::optional<std::int32_t> typesize) {
  if (!std::filesystem::is_regular_file(path))
    throw std::runtime_error("neither a frame nor a regular file");
  const auto file = std::make_shared<RawInput>(path);
  AdvisedContents contents;
  contents.size = file->file_size().value_or(0);
  contents.typesize = typesize.value_or(0);
  std::int64_t begin = 0;
  std::vector<std::uint8_t> start(
      static_cast<std::size_t>(std::min<std::int64_t>(contents.size, kAdvisedNpyStart)));
  file->read_at(0, start);
  if (const auto header_size = fs::npy_header_size(start);
      header_size && *header_size <= start.size()) {
    const fs::NpyHeader header = fs::parse_npy_header(start);
    const std::int64_t itemsize = header.dtype.itemsize;
    require(!typesize || *typesize == itemsize,
            "--typesize is not the item size of the array; leave it out");
    begin = static_cast<std::int64_t>(*header_size);
    contents.size = std::min(contents.size - begin, header.nbytes);
    if (itemsize > 0 && itemsize <= codec::kMaxBlocksize)
      contents.typesize = static_cast<std::int32_t>(itemsize);
  }
  contents.read = [file, begin](std::int64_t offset, codec::MutableBytes out) {
    file->read_at(begin + offset, out);
  };
  return contents;
}

AdvisedContents open_contents(const std::string& path, std::optional<std::int32_t> typesize,
                              RunLimits& limits) {
  std::shared_ptr<const frame::Snapshot> snapshot;
  if (const auto address = parse_store_address(path))
    snapshot = open_leaf(*open_store(address->store), *address);
  else
    snapshot = frame::open_path(path, {});
  if (!snapshot) {
    require_plain(path);
    return advised_file_contents(path, typesize);
  }
  require(!typesize, "--typesize goes with files that are not frames");
  return advised_contents(std::move(snapshot), limits);
}

using SamplePiece = std::vector<std::uint8_t>;

/// Reads samples until `end`, but at least one. The samples are evenly spread and consist of whole
/// items.
std::vector<SamplePiece> take_pieces(const AdvisedContents& contents, AdviceClock::time_point end) {
  const std::int64_t item = std::max(contents.typesize, 1);
  const std::int64_t items = contents.size / item;
  const std::int64_t items_each = std::max<std::int64_t>(frame::kPieceSize / item, 1);
  if (items == 0) throw std::runtime_error("has no contents to try settings on");
  const std::int64_t count = std::min(kMostSamplePieces, codec::ceil_div(items, items_each));
  std::vector<SamplePiece> pieces;
  for (std::int64_t i = 0; i < count && (i == 0 || AdviceClock::now() < end); i++) {
    const std::int64_t first =
        items <= count * items_each ? i * items_each : (items - items_each) / (count - 1) * i;
    const std::int64_t here = std::min(items_each, items - first);
    pieces.emplace_back(static_cast<std::size_t>(here * item));
    contents.read(first * item, pieces.back());
  }
  return pieces;
}

std::string filter_options_text(const codec::EncodeSettings& settings) {
  std::string text;
  for (const codec::FilterStep& step : settings.filters) {
    if (step.id == codec::FilterId::none) continue;
    text += (text.empty() ? "" : "+") + codec::filter_name(step.id);
    if (step.meta != 0) text += fmt::format(":{}", step.meta);
  }
  return text.empty() ? "none" : text;
}

std::string block_size_text(std::int32_t bytes) {
  constexpr std::int32_t kKi = 1024, kMi = kKi * kKi;
  if (bytes % kMi == 0) return fmt::format("{}M", bytes / kMi);
  return bytes % kKi == 0 ? fmt::format("{}K", bytes / kKi) : std::to_string(bytes);
}

/// Returns the settings that b2frame create uses without options.
codec::EncodeSettings usual_create_settings(codec::Bytes piece, std::int32_t typesize) {
  codec::EncodeSettings settings;
  settings.codec = codec::CodecId::zstd;
  settings.clevel = 3;
  settings.typesize =
      typesize > 0 ? typesize
                   : fs::guess_typesize(piece.first(std::min(piece.size(), fs::kSampleSize)));
  if (settings.typesize > 1) settings.filters.back() = {codec::FilterId::shuffle, 0};
  return settings;
}

/// Returns the settings that b2frame create --codec auto chooses. Returns nullopt if the contents
/// decide nothing.
std::optional<codec::EncodeSettings> automatic_settings(const AdvisedContents& contents) {
  std::vector<std::uint8_t> sample(static_cast<std::size_t>(
      std::min(contents.size, static_cast<std::int64_t>(frame::kChoiceSample))));
  contents.read(0, sample);
  return frame::choose_settings(sample, contents.size, contents.typesize, frame::Goal::balanced);
}

/// Returns the settings that no others beat in both size and time. The time is an estimate from the
/// table of costs, not a measurement.
std::vector<frame::Candidate> worth_measuring(const std::vector<frame::Candidate>& all) {
  std::vector<frame::Candidate> kept;
  for (const frame::Candidate& one : all)  // cheapest settings first
    if (kept.empty() || one.stored < kept.back().stored) kept.push_back(one);
  return kept;
}

struct MarkMeaning {
  std::string_view mark;
  const char* meaning;
};
constexpr std::array<MarkMeaning, 9> kMarks{{
    {"now", "what the frame is stored with"},
    {"usual", "what b2frame create takes without options"},
    {kAutomatic, "what b2frame create --codec auto takes, after a shorter search"},
    {kRecommended, "recommended: a compromise between size and time"},
    {"ratio", "small, if it takes long"},
    {"speed", "fast, if it is large"},
    {"smallest", "the smallest of these"},
    {"fastest-write", "the fastest of these to encode"},
    {"fastest-read", "the fastest of these to decode"},
}};

/// Marks the settings with the highest value of `what`.
void mark_best(std::vector<AdvisedSettings>& all, double MeasuredSettings::*what,
               const char* mark) {
  const auto best = std::ranges::max_element(
      all, {}, [what](const AdvisedSettings& one) { return one.measured.*what; });
  best->marks.emplace_back(mark);
}

/// Returns a name such as "zstd-3", from codec and level. Adds filters, item size and block size as
/// far as other settings without marks would have the same name.
std::string plain_name(const codec::EncodeSettings& settings,
                       const std::vector<AdvisedSettings>& all) {
  using Part = std::string (*)(const codec::EncodeSettings&);
  constexpr std::array<Part, 4> kParts{
      [](const codec::EncodeSettings& one) {
        return fmt::format("{}-{}", codec::codec_name(one.codec), one.clevel);
      },
      filter_options_text,
      [](const codec::EncodeSettings& one) { return std::to_string(one.typesize); },
      [](const codec::EncodeSettings& one) { return block_size_text(one.blocksize); }};
  std::vector<codec::EncodeSettings> same;
  for (const AdvisedSettings& one : all)
    if (one.marks.empty()) same.push_back(one.measured.settings);
  std::string name;
  for (const Part part : kParts) {
    const std::size_t others = std::erase_if(
        same, [&](const codec::EncodeSettings& one) { return part(one) != part(settings); });
    if (name.empty())
      name = part(settings);
    else if (others > 0)
      name += "-" + part(settings);
  }
  return name;
}

void name_settings(std::vector<AdvisedSettings>& all) {
  mark_best(all, &MeasuredSettings::ratio, "smallest");
  mark_best(all, &MeasuredSettings::encode, "fastest-write");
  mark_best(all, &MeasuredSettings::decode, "fastest-read");
  for (AdvisedSettings& one : all)
    one.name = one.marks.empty() ? plain_name(one.measured.settings, all)
                                 : fmt::format("{}", fmt::join(one.marks, ", "));
}

}  // namespace

const char* meaning_of_mark(std::string_view mark) {
  return std::ranges::find(kMarks, mark, &MarkMeaning::mark)->meaning;
}

const AdvisedSettings& find_settings(const Advice& advice, const std::string& name) {
  std::string names;
  for (const AdvisedSettings& one : advice.settings) {
    if (one.name == name || std::ranges::find(one.marks, name) != one.marks.end()) return one;
    names += (names.empty() ? "" : ", ") + one.name;
  }
  throw std::runtime_error(fmt::format("no settings are called {}; there are: {}", name, names));
}

std::string create_options_text(const codec::EncodeSettings& settings,
                                std::int32_t known_typesize) {
  std::string text = "--codec " + codec::codec_name(settings.codec);
  if (settings.codec_meta != 0) text += fmt::format(":{}", settings.codec_meta);
  text += fmt::format(" --clevel {} --filters {}", settings.clevel, filter_options_text(settings));
  if (settings.typesize != known_typesize) text += fmt::format(" --typesize {}", settings.typesize);
  if (settings.blocksize != 0) text += " --block-size " + block_size_text(settings.blocksize);
  if (settings.use_dictionary) text += " --dict";
  return text;
}

Advice advise(const std::string& file, std::optional<std::int32_t> typesize, RunLimits& limits,
              const AdviceTimes& times) {
  const AdviceClock::time_point begin = AdviceClock::now();
  const AdvisedContents contents = open_contents(file, typesize, limits);
  const std::vector<SamplePiece> taken = take_pieces(contents, begin + times.reading);
  const std::vector<codec::Bytes> pieces(taken.begin(), taken.end());
  const auto chosen =
      AdviceClock::now() < begin + times.reading ? automatic_settings(contents) : std::nullopt;
  frame::SettingsSearch search(pieces, contents.typesize, frame::kLargeBudget);
  search.set_limit([&] { return AdviceClock::now() < begin + times.search; });
  const std::vector<frame::Candidate>& found = search.find(frame::Goal::ratio);
  const codec::EncodeSettings compared =
      contents.now.value_or(usual_create_settings(pieces[pieces.size() / 2], contents.typesize));
  std::vector<codec::EncodeSettings> settings{compared};
  const auto add = [&](const codec::EncodeSettings& one) {
    if (std::ranges::find(settings, one) == settings.end()) settings.push_back(one);
  };
  for (const frame::Candidate& candidate : worth_measuring(found)) add(candidate.settings);
  for (const frame::Goal goal : frame::kGoals) add(frame::best_of(found, goal).settings);
  // Compared as options of create, because settings can differ in details without an option.
  const std::string automatic = chosen ? create_options_text(*chosen, contents.typesize) : "";
  if (chosen && std::ranges::none_of(settings, [&](const codec::EncodeSettings& one) {
        return create_options_text(one, contents.typesize) == automatic;
      }))
    settings.push_back(*chosen);
  // The present or default settings stay first, so they are always measured. The slowest settings
  // come last, because the time for measurements may run out.
  std::stable_sort(settings.begin() + 1, settings.end(), [](const auto& a, const auto& b) {
    return frame::time_cost(a) < frame::time_cost(b);
  });

  Advice advice;
  advice.file = file;
  advice.contents = contents.size;
  for (const codec::Bytes piece : pieces) advice.sampled += std::ssize(piece);
  advice.typesize = contents.typesize;
  advice.stored = contents.stored;
  advice.stored_ratio = contents.stored_ratio;
  for (const MeasuredSettings& measured :
       measure_settings(pieces, settings, begin + times.measuring)) {
    AdvisedSettings advised;
    advised.measured = measured;
    advised.options = create_options_text(measured.settings, contents.typesize);
    advised.size = static_cast<double>(contents.size) / measured.ratio;
    advised.is_present = measured.settings == compared;
    if (advised.is_present) advised.marks.emplace_back(contents.now ? "now" : "usual");
    for (const frame::Goal goal : frame::kGoals)
      if (measured.settings == frame::best_of(found, goal).settings)
        advised.marks.emplace_back(frame::goal_name(goal));
    if (advised.options == automatic) advised.marks.emplace_back(kAutomatic);
    advice.settings.push_back(std::move(advised));
  }
  std::ranges::stable_sort(advice.settings, std::ranges::greater{},
                           [](const AdvisedSettings& advised) { return advised.measured.ratio; });
  name_settings(advice.settings);
  return advice;
}

}  // namespace bloscfs::tools
