#include "frame/choosing/settings_search.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace bloscfs::frame {
namespace {

using codec::Bytes;
using codec::CodecId;
using codec::EncodeSettings;
using codec::FilterId;

constexpr std::size_t kPartSize = 64 << 10;
constexpr std::size_t kMostParts = 8;
constexpr std::size_t kMostPieces = 2;
constexpr std::int32_t kLargeBlock = kPieceSize;
/// What everything stores in a smaller part says nothing of what follows.
constexpr double kSaysNothing = 0.001;

/// Zstandard 5, with shuffle where items can be shuffled.
bool is_usual(const EncodeSettings& settings) {
  const FilterId filter = settings.typesize > 1 && settings.typesize <= kMaxFilteredItem
                              ? FilterId::shuffle
                              : FilterId::none;
  return settings.codec == CodecId::zstd && settings.clevel == 5 && settings.blocksize == 0 &&
         settings.filters.back().id == filter &&
         settings.filters[settings.filters.size() - 2].id == FilterId::none;
}

/// `count` of `all`, evenly spread.
std::vector<Bytes> spread(std::span<const Bytes> all, std::size_t count) {
  count = std::min(count, all.size());
  std::vector<Bytes> chosen;
  for (std::size_t i = 0; i < count; i++)
    chosen.push_back(all[(2 * i + 1) * all.size() / (2 * count)]);
  return chosen;
}

/// Since beginnings are often unlike the rest.
std::vector<Bytes> middles(std::vector<Bytes> pieces) {
  for (Bytes& piece : pieces)
    if (piece.size() > kPartSize)
      piece = piece.subspan((piece.size() - kPartSize) / 2 / 64 * 64, kPartSize);
  return pieces;
}

}  // namespace

SettingsSearch::SettingsSearch(std::span<const Bytes> pieces, std::int32_t typesize)
    : pieces_(spread(pieces, kMostPieces)), parts_(middles(spread(pieces, kMostParts))) {
  if (typesize > 0) typesizes_ = {typesize};
}

void SettingsSearch::choose_typesizes() {
  if (!typesizes_.empty()) return;
  typesizes_.assign(std::begin(kUsualTypesizes), std::end(kUsualTypesizes));
  for (const Bytes part : spread(parts_.pieces(), 1))
    if (const auto record = find_record_size(part, 1, [this] { return may_go_on(); }))
      typesizes_.push_back(*record);
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
    if (!sizes.empty() && !may_go_on()) break;
    EncodeSettings settings;
    settings.codec = codec;
    settings.clevel = codec == CodecId::zstd ? 1 : 5;
    settings.typesize = layout.typesize;
    settings.filters = layout.filters;
    sizes.emplace_back(parts_.stored_size(settings), layout);
  }
  std::ranges::stable_sort(sizes, {}, [](const auto& entry) { return entry.first; });
  std::vector<Layout> best;
  best.reserve(sizes.size());
  for (const auto& [size, layout] : sizes) best.push_back(layout);
  return best;
}

void SettingsSearch::add(CodecId codec, int clevel, const Layout& layout, std::int32_t blocksize) {
  EncodeSettings settings;
  settings.codec = codec;
  settings.clevel = clevel;
  settings.typesize = layout.typesize;
  settings.filters = layout.filters;
  settings.blocksize = blocksize;
  const auto same = [&](const Candidate& other) { return other.settings == settings; };
  if (std::ranges::any_of(candidates_, same) || (!candidates_.empty() && !may_go_on())) return;
  candidates_.push_back(pieces_.candidate(settings));
}

void SettingsSearch::add_for_speed(const Layout& fast) {
  for (const Layout& layout : {all_layouts().front(), fast}) {
    add(CodecId::lz4, 1, layout);
    add(CodecId::lz4, 5, layout);
    add(CodecId::lz4, 9, layout);
    add(CodecId::zstd, 1, layout);
  }
}

void SettingsSearch::add_for_balance(const Layout& fast) {
  const std::vector<Layout> best = best_layouts(CodecId::zstd);
  std::vector<Layout> layouts(best.begin(),
                              best.begin() + std::min<std::ptrdiff_t>(2, std::ssize(best)));
  layouts.push_back(all_layouts().front());
  // The usual settings: shuffle, with the item size that suits it best.
  const auto usual = std::ranges::find_if(
      best, [](const Layout& layout) { return layout.filters.back().id == FilterId::shuffle; });
  if (usual != best.end()) layouts.push_back(*usual);
  for (const Layout& layout : layouts)
    for (const int clevel : {1, 3, 5}) add(CodecId::zstd, clevel, layout);
  add(CodecId::lz4hc, 9, fast);
}

/// Levels that take long are tried on what is best at lower ones.
void SettingsSearch::add_for_ratio() {
  std::vector<Candidate> at_five;
  for (const Candidate& candidate : candidates_)
    if (candidate.settings.codec == CodecId::zstd && candidate.settings.clevel == 5)
      at_five.push_back(candidate);
  for (const Candidate& candidate : at_five)
    add(CodecId::zstd, 5, {candidate.settings.typesize, candidate.settings.filters}, kLargeBlock);
  const auto best_at = [&](int clevel, std::size_t count) {
    std::vector<Candidate> found;
    for (const Candidate& candidate : candidates_)
      if (candidate.settings.codec == CodecId::zstd && candidate.settings.clevel == clevel)
        found.push_back(candidate);
    std::ranges::stable_sort(found, {}, &Candidate::stored);
    found.resize(std::min(found.size(), count));
    return found;
  };
  const auto raise = [&](const std::vector<Candidate>& found, int clevel) {
    for (const Candidate& candidate : found)
      add(CodecId::zstd, clevel, {candidate.settings.typesize, candidate.settings.filters},
          candidate.settings.blocksize);
  };
  raise(best_at(5, 3), 8);
  raise(best_at(8, 1), 7);
  raise(best_at(8, 1), 9);
}

const std::vector<Candidate>& SettingsSearch::find(Goal goal) {
  candidates_.clear();
  choose_typesizes();
  const Layout fast = best_layouts(CodecId::lz4).front();
  add_for_speed(fast);
  if (goal != Goal::speed) add_for_balance(fast);
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

bool says_nothing(std::span<const Candidate> candidates) {
  return std::ranges::all_of(
      candidates, [](const Candidate& candidate) { return candidate.stored < kSaysNothing; });
}

}  // namespace bloscfs::frame
