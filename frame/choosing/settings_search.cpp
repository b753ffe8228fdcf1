#include "frame/choosing/settings_search.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace bloscfs::frame::inline choosing {
namespace {

using codec::Bytes;
using codec::CodecId;
using codec::EncodeSettings;
using codec::FilterId;

constexpr std::size_t kMostPieces = 4;
constexpr std::int32_t kLargeBlock = kPieceSize;
constexpr int kFastLevel = 5;  ///< of LZ4, for layouts
constexpr std::size_t kBestLayouts = 2;

constexpr int kSmallLz4Levels[] = {5}, kSmallZstdLevels[] = {1, 3}, kSmallRatioLevels[] = {5};
constexpr RaisedLevel kSmallRaised[] = {{5, 1, 7}};
constexpr int kLz4Levels[] = {1, 5, 9}, kZstdLevels[] = {1, 3, 5};
constexpr RaisedLevel kRaised[] = {{5, 3, 8}, {8, 1, 7}, {8, 1, 9}};

/// If all settings store less than this fraction, the sample says nothing about the rest of the
/// contents.
constexpr double kTrivialRatio = 0.001;

/// True for Zstandard 5, with shuffle if items can be shuffled.
bool is_usual(const EncodeSettings& settings) {
  const FilterId filter = settings.typesize > 1 && settings.typesize <= kMaxFilteredItem
                              ? FilterId::shuffle
                              : FilterId::none;
  return settings.codec == CodecId::zstd && settings.clevel == 5 && settings.blocksize == 0 &&
         settings.filters.back().id == filter &&
         settings.filters[settings.filters.size() - 2].id == FilterId::none;
}

/// Returns `count` of `all`, evenly spread.
std::vector<Bytes> spread(std::span<const Bytes> all, std::size_t count) {
  count = std::min(count, all.size());
  std::vector<Bytes> chosen;
  for (std::size_t i = 0; i < count; i++)
    chosen.push_back(all[(2 * i + 1) * all.size() / (2 * count)]);
  return chosen;
}

/// Takes the middle of each piece, because beginnings are often unlike the rest.
std::vector<Bytes> middles(std::vector<Bytes> pieces, std::size_t size) {
  for (Bytes& piece : pieces)
    if (piece.size() > size) piece = piece.subspan((piece.size() - size) / 2 / 64 * 64, size);
  return pieces;
}

}  // namespace

const SearchBudget kSmallBudget{
    .layout_pieces = 4,
    .layout_bytes = 32 << 10,
    .record_bytes = 8 << 10,
    .record_step = 4,
    .tries_all_typesizes = false,
    .tries_fast_layouts = false,
    .lz4_levels = kSmallLz4Levels,
    .zstd_levels = kSmallZstdLevels,
    .zstd_ratio_levels = kSmallRatioLevels,
    .raised = kSmallRaised,
    .tries_large_blocks = false,
    .split_of_zstd = codec::SplitMode::never,
};

const SearchBudget kLargeBudget{
    .layout_pieces = 8,
    .layout_bytes = 64 << 10,
    .record_bytes = 64 << 10,
    .record_step = 1,
    .tries_all_typesizes = true,
    .tries_fast_layouts = true,
    .lz4_levels = kLz4Levels,
    .zstd_levels = kZstdLevels,
    .zstd_ratio_levels = kZstdLevels,
    .raised = kRaised,
    .tries_large_blocks = true,
    .split_of_zstd = codec::SplitMode::forward_compatible,
};

SettingsSearch::SettingsSearch(std::span<const Bytes> pieces, std::int32_t typesize,
                               const SearchBudget& budget)
    : budget_(budget),
      pieces_(spread(pieces, budget.tries_large_blocks ? kMostPieces / 2 : kMostPieces)),
      parts_(middles(spread(pieces, budget.layout_pieces), budget.layout_bytes)) {
  if (typesize > 0) typesizes_ = {typesize};
}

void SettingsSearch::choose_typesizes(Goal goal) {
  if (!typesizes_.empty()) return;
  const auto add_best = [&](CodecId codec) {
    const auto stored = [&](std::int32_t typesize) {
      Layout layout{typesize, {}};
      if (typesize > 1) layout.filters.back() = {FilterId::shuffle, 0};
      return parts_.stored_size(
          settings_of(codec, codec == CodecId::zstd ? 1 : kFastLevel, layout));
    };
    const std::int32_t best = *std::ranges::min_element(kUsualTypesizes, {}, stored);
    if (std::ranges::count(typesizes_, best) == 0) typesizes_.push_back(best);
  };
  if (budget_.tries_all_typesizes) {
    typesizes_.assign(std::begin(kUsualTypesizes), std::end(kUsualTypesizes));
  } else {
    add_best(CodecId::lz4);
    if (goal != Goal::speed) add_best(CodecId::zstd);
  }
  for (const Bytes part : spread(parts_.pieces(), 1))
    if (const auto record =
            find_record_size(part.first(std::min(part.size(), budget_.record_bytes)),
                             budget_.record_step, [this] { return should_continue(); }))
      typesizes_.push_back(*record);
}

EncodeSettings SettingsSearch::settings_of(CodecId codec, int clevel, const Layout& layout) const {
  EncodeSettings settings;
  settings.codec = codec;
  settings.clevel = clevel;
  settings.typesize = layout.typesize;
  settings.filters = layout.filters;
  if (codec == CodecId::zstd) settings.split = budget_.split_of_zstd;
  return settings;
}

std::vector<SettingsSearch::Layout> SettingsSearch::all_layouts() const {
  std::vector<Layout> layouts;
  const auto add = [&](std::int32_t typesize, std::initializer_list<FilterId> filters) {
    Layout layout{typesize, {}};
    std::size_t slot = layout.filters.size() - filters.size();
    for (const FilterId id : filters) layout.filters[slot++] = {id, 0};
    layouts.push_back(layout);
  };
  add(typesizes_.front(), {});
  for (const std::int32_t typesize : typesizes_) {
    if (typesize > kMaxFilteredItem) continue;
    if (typesize > 1) add(typesize, {FilterId::shuffle});
    add(typesize, {FilterId::bitshuffle});
    if (typesize > 1)
      add(typesize, {FilterId::shuffle, FilterId::bytedelta});
    else
      add(typesize, {FilterId::bytedelta});
  }
  return layouts;
}

std::vector<SettingsSearch::Layout> SettingsSearch::best_layouts(CodecId codec) {
  std::vector<std::pair<std::size_t, Layout>> sizes;
  for (const Layout& layout : all_layouts()) {
    if (!sizes.empty() && !should_continue()) break;
    const int clevel = codec == CodecId::zstd ? 1 : kFastLevel;
    sizes.emplace_back(parts_.stored_size(settings_of(codec, clevel, layout)), layout);
  }
  std::ranges::stable_sort(sizes, {}, [](const auto& entry) { return entry.first; });
  std::vector<Layout> best;
  best.reserve(sizes.size());
  for (const auto& [size, layout] : sizes) best.push_back(layout);
  return best;
}

void SettingsSearch::add(CodecId codec, int clevel, const Layout& layout, std::int32_t blocksize) {
  EncodeSettings settings = settings_of(codec, clevel, layout);
  settings.blocksize = blocksize;
  const auto same = [&](const Candidate& other) { return other.settings == settings; };
  if (std::ranges::any_of(candidates_, same) || (!candidates_.empty() && !should_continue()))
    return;
  candidates_.push_back(pieces_.candidate(settings));
}

void SettingsSearch::add_for_speed(const Layout& fast) {
  for (const Layout& layout : {all_layouts().front(), fast}) {
    for (const int clevel : budget_.lz4_levels) add(CodecId::lz4, clevel, layout);
    add(CodecId::zstd, 1, layout);
  }
}

/// Also tries each level without a filter. Strong codecs find repeated values by themselves, and
/// filters tear those apart.
void SettingsSearch::add_for_balance(const std::vector<Layout>& best, std::span<const int> levels) {
  std::vector<Layout> layouts(
      best.begin(), best.begin() + std::min(std::ssize(best), std::ptrdiff_t{kBestLayouts}));
  layouts.push_back(all_layouts().front());
  // The usual settings: shuffle, with its best item size.
  const auto usual = std::ranges::find_if(
      best, [](const Layout& layout) { return layout.filters.back().id == FilterId::shuffle; });
  if (usual != best.end()) layouts.push_back(*usual);
  for (const Layout& layout : layouts)
    for (const int clevel : levels) add(CodecId::zstd, clevel, layout);
}

/// Returns the `count` smallest candidates of a level of Zstandard.
std::vector<Candidate> SettingsSearch::best_at(int clevel, std::size_t count) const {
  std::vector<Candidate> found;
  for (const Candidate& candidate : candidates_)
    if (candidate.settings.codec == CodecId::zstd && candidate.settings.clevel == clevel)
      found.push_back(candidate);
  std::ranges::stable_sort(found, {}, &Candidate::stored);
  found.resize(std::min(found.size(), count));
  return found;
}

/// Tries slow levels only on what is best at lower levels.
void SettingsSearch::add_for_ratio() {
  const auto layout_of = [](const Candidate& candidate) {
    return Layout{candidate.settings.typesize, candidate.settings.filters};
  };
  if (budget_.tries_large_blocks)
    for (const Candidate& candidate : best_at(5, candidates_.size()))
      add(CodecId::zstd, 5, layout_of(candidate), kLargeBlock);
  for (const RaisedLevel& raised : budget_.raised)
    for (const Candidate& candidate : best_at(raised.from, raised.best))
      add(CodecId::zstd, raised.to, layout_of(candidate), candidate.settings.blocksize);
}

const std::vector<Candidate>& SettingsSearch::find(Goal goal) {
  candidates_.clear();
  choose_typesizes(goal);
  std::vector<Layout> fast;
  if (goal == Goal::speed || budget_.tries_fast_layouts) {
    fast = best_layouts(CodecId::lz4);
    add_for_speed(fast.front());
  }
  if (goal != Goal::speed) {
    const std::vector<Layout> best = best_layouts(CodecId::zstd);
    if (fast.empty()) add_for_speed(best.front());
    add_for_balance(best, goal == Goal::ratio ? budget_.zstd_ratio_levels : budget_.zstd_levels);
    if (!fast.empty()) add(CodecId::lz4hc, 9, fast.front());
  }
  if (goal == Goal::ratio) add_for_ratio();
  std::ranges::stable_sort(
      candidates_, {}, [](const Candidate& candidate) { return time_cost(candidate.settings); });
  return candidates_;
}

const Candidate& best_of(std::span<const Candidate> candidates, Goal goal) {
  double limit = std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : candidates)
    if (goal == Goal::ratio && is_usual(candidate.settings))
      limit = std::min(limit, candidate.stored);
  return *std::ranges::min_element(candidates, {}, [&](const Candidate& candidate) {
    const bool is_too_large = candidate.stored > limit;
    return std::pair(is_too_large, penalty(goal, candidate.settings, candidate.stored));
  });
}

bool are_indistinguishable(std::span<const Candidate> candidates) {
  return std::ranges::all_of(
      candidates, [](const Candidate& candidate) { return candidate.stored < kTrivialRatio; });
}

}  // namespace bloscfs::frame::inline choosing
