#include "frame/choosing/choice.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "frame/choosing/settings_search.hpp"

namespace bloscfs::frame::inline choosing {
namespace {

/// Least contents for a search with kLargeBudget, which takes 0.1 s for speed and 0.4 s for
/// balanced. Writing smaller contents takes less than 20 times as long as that search.
constexpr std::int64_t kWorthwhileForSpeed = std::int64_t{1} << 30;
constexpr std::int64_t kWorthwhileForBalance = std::int64_t{3} << 29;
/// For ratio a search with kLargeBudget is always worth its time, but on shorter pieces if the
/// contents are shorter.
constexpr std::int64_t kPiecesForRatio = 32;
constexpr std::int64_t kShortestPiece = 256 << 10;

constexpr std::size_t kBlockSize = 32 << 10;  ///< of a mount's new files, and of a quick sample
constexpr std::int64_t kMostSamples = 4;

/// One quick sample is searched for each so many bytes of contents. Writing them takes at least ten
/// times as long as the search on the sample.
std::int64_t bytes_per_sample(Goal goal) { return std::int64_t{goal == Goal::speed ? 4 : 8} << 20; }

bool should_search(std::int64_t size, Goal goal) {
  if (goal == Goal::ratio) return true;
  return size >= (goal == Goal::speed ? kWorthwhileForSpeed : kWorthwhileForBalance);
}

std::optional<codec::EncodeSettings> best_settings(std::span<const codec::Bytes> pieces,
                                                   std::int32_t typesize, Goal goal,
                                                   const SearchBudget& budget) {
  SettingsSearch search(pieces, typesize, budget);
  const std::vector<Candidate>& found = search.find(goal);
  if (are_indistinguishable(found)) return std::nullopt;
  return best_of(found, goal).settings;
}

std::vector<codec::Bytes> pieces_of(codec::Bytes sample, std::int64_t size) {
  const auto piece = static_cast<std::size_t>(
      std::clamp<std::int64_t>(size / kPiecesForRatio, kShortestPiece, kPieceSize));
  std::vector<codec::Bytes> pieces;
  for (std::size_t at = 0; at < sample.size(); at += kPieceSize) {
    const codec::Bytes part = sample.subspan(at);
    pieces.push_back(part.first(std::min(piece, part.size())));
  }
  return pieces;
}

}  // namespace

std::optional<codec::EncodeSettings> choose_settings(codec::Bytes sample, std::int64_t size,
                                                     std::int32_t typesize, Goal goal) {
  if (sample.empty()) return std::nullopt;
  // A sample below half of kChoiceSample is all of the contents. A larger one may be a full sample
  // from which the caller has taken off a header.
  if (std::ssize(sample) < static_cast<std::int64_t>(kChoiceSample) / 2) size = std::ssize(sample);
  if (should_search(size, goal))
    return best_settings(pieces_of(sample, size), typesize, goal, kLargeBudget);
  const auto read = [&](std::int64_t offset, codec::MutableBytes out) {
    const auto begin = std::min(static_cast<std::size_t>(offset), sample.size() - out.size());
    std::ranges::copy(sample.subspan(begin, out.size()), out.begin());
  };
  return choose_quickly(read, std::max(size, std::ssize(sample)), typesize, goal);
}

bool is_worth_choosing(std::int64_t size, Goal goal) { return size >= bytes_per_sample(goal); }

std::optional<codec::EncodeSettings> choose_quickly(const ReadContents& read, std::int64_t size,
                                                    std::int32_t typesize, Goal goal) {
  if (size == 0) return std::nullopt;
  const std::int64_t looked_at = std::min(size, static_cast<std::int64_t>(kChoiceSample));
  const std::int64_t count =
      std::clamp<std::int64_t>(size / bytes_per_sample(goal), 1, kMostSamples);
  std::vector<std::vector<std::uint8_t>> bytes;
  for (std::int64_t i = 0; i < count; i++) {
    // Takes the sample from the middle of each part.
    const std::int64_t begin = std::max<std::int64_t>(
        looked_at * (2 * i + 1) / (2 * count) - static_cast<std::int64_t>(kBlockSize) / 2, 0);
    bytes.emplace_back(std::min(kBlockSize, static_cast<std::size_t>(looked_at)));
    // Begins with a whole item.
    read(begin - begin % std::max(typesize, kUsualTypesizes[3]), bytes.back());
  }
  const std::vector<codec::Bytes> pieces(bytes.begin(), bytes.end());
  return best_settings(pieces, typesize, goal, kSmallBudget);
}

codec::EncodeSettings usual_settings(Goal goal, std::int32_t typesize) {
  codec::EncodeSettings settings;
  settings.codec = goal == Goal::speed ? codec::CodecId::lz4 : codec::CodecId::zstd;
  settings.clevel = goal == Goal::balanced ? 1 : 5;
  settings.typesize = typesize;
  if (goal != Goal::speed) settings.split = codec::SplitMode::never;
  if (typesize > 1 && typesize <= kMaxFilteredItem)
    settings.filters.back() = {codec::FilterId::shuffle, 0};
  return settings;
}

}  // namespace bloscfs::frame::inline choosing
