#include "codec/noise.hpp"

#include <array>

namespace bloscfs::codec {
namespace {

constexpr std::uint32_t kValues = 256;
constexpr std::uint32_t kPieces = 16;
constexpr std::uint32_t kPieceSize = kValues;  // on average, each value occurs once
constexpr std::uint32_t kSample = kPieces * kPieceSize;

// Limits for chi-squared of how often each value occurs. For noise, it has a mean of 255 and a
// standard deviation of 22.6, and stays within about six deviations. Most data that a Huffman code
// would shorten by 1 % exceeds that. The sum over the pieces detects data that is uneven in each
// place, but even on the whole.
constexpr std::uint32_t kMostInSample = 255 + 6 * 23;
constexpr std::uint32_t kMostInPiece = 255 + 8 * 23;
constexpr std::uint32_t kMostInPieces = kPieces * 255 + 6 * 4 * 23;

/// Counts how often each value occurs, and sums the squares of the counts.
class Counts {
 public:
  void add(std::uint8_t value) { squares_ += 2U * counts_[value]++ + 1U; }
  /// Returns chi-squared. `expected` is the mean count of a value: the total number of bytes is 256
  /// times that.
  std::uint32_t chi_squared(std::uint32_t expected) const {
    return (squares_ - kValues * expected * expected) / expected;
  }

 private:
  std::array<std::uint16_t, kValues> counts_{};
  std::uint32_t squares_ = 0;
};

}  // namespace

bool looks_random(Bytes stream) {
  if (stream.size() < kSample) return false;
  Counts all;
  std::uint32_t in_pieces = 0;
  const std::size_t step = (stream.size() - kPieceSize) / (kPieces - 1);
  for (std::size_t i = 0; i < kPieces; ++i) {
    Counts piece;
    for (const std::uint8_t byte : stream.subspan(i * step, kPieceSize)) {
      piece.add(byte);
      all.add(byte);
    }
    if (piece.chi_squared(1) > kMostInPiece) return false;
    in_pieces += piece.chi_squared(1);
  }
  return in_pieces <= kMostInPieces && all.chi_squared(kPieces) <= kMostInSample;
}

}  // namespace bloscfs::codec
