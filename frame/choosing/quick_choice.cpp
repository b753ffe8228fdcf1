#include "frame/choosing/quick_choice.hpp"

#include <algorithm>
#include <vector>

#include "frame/choosing/settings_search.hpp"
#include "frame/choosing/trial.hpp"

namespace bloscfs::frame {
namespace {

using codec::CodecId;
using codec::EncodeSettings;
using codec::FilterId;

constexpr std::size_t kTrialSize = 32 << 10;  ///< a block
constexpr std::size_t kRecordTrialSize = 8 << 10;
constexpr std::int64_t kMostSamples = 4;
constexpr int kFastLevel = 5;  ///< of LZ4
constexpr std::size_t kLayoutsForRatio = 2;
/// Of sizes that records are looked for among, since each try takes as long as another.
constexpr std::int32_t kRecordStep = 4;

/// Bytes of contents for which there is one sample: to write them takes ten times what is tried on
/// it, and longer.
std::int64_t bytes_for_sample(Goal goal) { return std::int64_t{goal == Goal::speed ? 4 : 8} << 20; }

EncodeSettings with(CodecId codec, int clevel, std::int32_t typesize,
                    std::initializer_list<FilterId> filters) {
  EncodeSettings settings;
  settings.codec = codec;
  settings.clevel = clevel;
  settings.typesize = typesize;
  if (codec == CodecId::zstd) settings.split = codec::SplitMode::never;
  std::size_t slot = settings.filters.size() - filters.size();
  for (const FilterId id : filters) settings.filters[slot++] = {id, 0};
  return settings;
}

EncodeSettings shuffled(CodecId codec, int clevel, std::int32_t typesize) {
  if (typesize == 1 || typesize > kMaxFilteredItem) return with(codec, clevel, typesize, {});
  return with(codec, clevel, typesize, {FilterId::shuffle});
}

class QuickSearch {
 public:
  /// `typesize`: 0 where nobody knows.
  QuickSearch(std::vector<codec::Bytes> samples, std::int32_t typesize, Goal goal)
      : trial_(std::move(samples)), goal_(goal) {
    if (typesize != 0)
      typesizes_ = {typesize};
    else
      choose_typesizes();
  }

  const std::vector<Candidate>& find() {
    for (const std::int32_t typesize : typesizes_)
      if (goal_ == Goal::speed)
        try_layouts(CodecId::lz4, kFastLevel, typesize);
      else
        try_layouts(CodecId::zstd, 1, typesize);
    const std::vector<EncodeSettings> best = best_layouts();
    if (goal_ == Goal::ratio) {
      // Strong codecs find by themselves what filters take apart: repeated values.
      raise(with(CodecId::zstd, 1, best.front().typesize, {}), CodecId::zstd, 5);
      for (std::size_t i = 0; i < std::min(best.size(), kLayoutsForRatio); i++)
        raise(best[i], CodecId::zstd, 5);
      for (const std::int32_t typesize : typesizes_) add(shuffled(CodecId::zstd, 5, typesize));
      raise(smallest(), CodecId::zstd, 7);
    } else {
      raise(best.front(), CodecId::lz4, kFastLevel);
      raise(best.front(), CodecId::zstd, 1);
      if (goal_ == Goal::balanced) raise(best.front(), CodecId::zstd, 3);
    }
    return candidates_;
  }

 private:
  /// The one that shuffled bytes compress best with, by each codec, and that of records.
  void choose_typesizes() {
    add_best_typesize(CodecId::lz4, kFastLevel);
    if (goal_ != Goal::speed) add_best_typesize(CodecId::zstd, 1);
    const codec::Bytes sample = trial_.pieces().front();
    const codec::Bytes part = sample.first(std::min(sample.size(), kRecordTrialSize));
    if (const auto record = find_record_size(part, kRecordStep)) typesizes_.push_back(*record);
  }

  void add_best_typesize(CodecId codec, int clevel) {
    const auto stored = [&](std::int32_t typesize) {
      return add(shuffled(codec, clevel, typesize));
    };
    const std::int32_t best = *std::ranges::min_element(kUsualTypesizes, {}, stored);
    if (std::ranges::count(typesizes_, best) == 0) typesizes_.push_back(best);
  }

  /// How much of the samples it stores, tried once.
  double add(const EncodeSettings& settings) {
    const auto known = std::ranges::find(candidates_, settings, &Candidate::settings);
    if (known != candidates_.end()) return known->stored;
    return candidates_.emplace_back(trial_.candidate(settings)).stored;
  }

  void try_layouts(CodecId codec, int clevel, std::int32_t typesize) {
    add(with(codec, clevel, typesize, {}));
    if (typesize > kMaxFilteredItem) return;
    add(shuffled(codec, clevel, typesize));
    add(with(codec, clevel, typesize, {FilterId::bitshuffle}));
    if (typesize > 1) add(with(codec, clevel, typesize, {FilterId::shuffle, FilterId::bytedelta}));
  }

  /// Those that were tried, the best first.
  std::vector<EncodeSettings> best_layouts() const {
    std::vector<Candidate> sorted = candidates_;
    std::ranges::stable_sort(sorted, {}, &Candidate::stored);
    std::vector<EncodeSettings> best;
    best.reserve(sorted.size());
    for (const Candidate& candidate : sorted) best.push_back(candidate.settings);
    return best;
  }

  const EncodeSettings& smallest() const {
    return std::ranges::min_element(candidates_, {}, &Candidate::stored)->settings;
  }

  /// A layout with another codec.
  void raise(const EncodeSettings& layout, CodecId codec, int clevel) {
    EncodeSettings settings = with(codec, clevel, layout.typesize, {});
    settings.filters = layout.filters;
    add(settings);
  }

  Trial trial_;
  const Goal goal_;
  std::vector<std::int32_t> typesizes_;
  std::vector<Candidate> candidates_;
};

}  // namespace

bool is_worth_choosing(std::int64_t size, Goal goal) { return size >= bytes_for_sample(goal); }

std::optional<EncodeSettings> choose_quickly(const ReadContents& read, std::int64_t size,
                                             std::int32_t typesize, Goal goal) {
  if (size == 0) return std::nullopt;
  const std::int64_t looked_at = std::min(size, static_cast<std::int64_t>(kChoiceSample));
  const std::int64_t count =
      std::clamp<std::int64_t>(size / bytes_for_sample(goal), 1, kMostSamples);
  std::vector<std::vector<std::uint8_t>> bytes;
  for (std::int64_t i = 0; i < count; i++) {
    // Around the middle of each part.
    const std::int64_t begin = std::max<std::int64_t>(
        looked_at * (2 * i + 1) / (2 * count) - static_cast<std::int64_t>(kTrialSize) / 2, 0);
    bytes.emplace_back(std::min(kTrialSize, static_cast<std::size_t>(looked_at)));
    read(begin - begin % std::max(typesize, kUsualTypesizes[3]), bytes.back());
  }
  QuickSearch search({bytes.begin(), bytes.end()}, typesize, goal);
  const std::vector<Candidate>& found = search.find();
  if (says_nothing(found)) return std::nullopt;
  return best_of(found, goal).settings;
}

EncodeSettings usual_settings(Goal goal, std::int32_t typesize) {
  if (goal == Goal::speed) return shuffled(CodecId::lz4, kFastLevel, typesize);
  return shuffled(CodecId::zstd, goal == Goal::ratio ? 5 : 1, typesize);
}

}  // namespace bloscfs::frame
