#include "frame/choosing/choice.hpp"

#include <algorithm>
#include <vector>

#include "frame/choosing/quick_choice.hpp"
#include "frame/choosing/settings_search.hpp"

namespace bloscfs::frame {
namespace {

/// Contents of fewer bytes are written in less than 20 times what a search takes: 0.1 s and 0.4 s.
constexpr std::int64_t kWorthwhileForSpeed = std::int64_t{1} << 30;
constexpr std::int64_t kWorthwhileForBalance = std::int64_t{3} << 29;
/// For ratio a search is worth it, with shorter pieces of shorter contents.
constexpr std::int64_t kPiecesForRatio = 32;
constexpr std::int64_t kShortestPiece = 256 << 10;

bool is_searched(std::int64_t size, Goal goal) {
  if (goal == Goal::ratio) return true;
  return size >= (goal == Goal::speed ? kWorthwhileForSpeed : kWorthwhileForBalance);
}

std::optional<codec::EncodeSettings> search(codec::Bytes sample, std::int64_t size,
                                            std::int32_t typesize, Goal goal) {
  const auto piece = static_cast<std::size_t>(
      std::clamp<std::int64_t>(size / kPiecesForRatio, kShortestPiece, kPieceSize));
  std::vector<codec::Bytes> pieces;
  for (std::size_t at = 0; at < sample.size(); at += kPieceSize) {
    const codec::Bytes part = sample.subspan(at);
    pieces.push_back(part.first(std::min(piece, part.size())));
  }
  SettingsSearch search(pieces, typesize);
  const std::vector<Candidate>& found = search.find(goal);
  if (says_nothing(found)) return std::nullopt;
  return best_of(found, goal).settings;
}

}  // namespace

std::optional<codec::EncodeSettings> choose_settings(codec::Bytes sample, std::int64_t size,
                                                     std::int32_t typesize, Goal goal) {
  if (sample.empty()) return std::nullopt;
  // All of what is short; else a header may be what is missing of a full sample.
  if (std::ssize(sample) < static_cast<std::int64_t>(kChoiceSample) / 2) size = std::ssize(sample);
  if (is_searched(size, goal)) return search(sample, size, typesize, goal);
  const auto read = [&](std::int64_t offset, codec::MutableBytes out) {
    const auto begin = std::min(static_cast<std::size_t>(offset), sample.size() - out.size());
    std::ranges::copy(sample.subspan(begin, out.size()), out.begin());
  };
  return choose_quickly(read, std::max(size, std::ssize(sample)), typesize, goal);
}

}  // namespace bloscfs::frame
