#include "codec/compressor/blosclz.hpp"

#include <cstring>

namespace bloscfs::codec {
namespace {

constexpr std::size_t kMaxLiteral = 32;
constexpr unsigned kLongMatch = 7;          // extension bytes follow with the rest of the length
constexpr std::size_t kMinMatch = 2;        // added to the stored length
constexpr std::size_t kFarDistance = 8192;  // larger distances take two more bytes

/// Copies `size` bytes in pieces of `Step` bytes, so up to Step-1 bytes too many. A piece may read
/// what an earlier piece wrote.
template <std::size_t Step>
void copy_pieces(const std::uint8_t* from, std::uint8_t* to, std::size_t size) {
  for (std::size_t i = 0; i < size; i += Step) {
    std::uint8_t piece[Step];
    std::memcpy(piece, from + i, Step);
    std::memcpy(to + i, piece, Step);
  }
}

/// Copies within the output. Source and target overlap if `distance` < `size`. `room` is the size
/// of the output from `to` on, at least `size`.
void copy_match(std::uint8_t* to, std::size_t distance, std::size_t size, std::size_t room) {
  const std::uint8_t* const from = to - distance;
  if (distance >= 16 && room >= size + 16) return copy_pieces<16>(from, to, size);
  if (distance == 1) {
    std::memset(to, *from, size);
    return;
  }
  if (distance >= size) {
    std::memcpy(to, from, size);
    return;
  }
  if (distance >= 8 && room >= size + 8) return copy_pieces<8>(from, to, size);
  if (room >= size + 8) {  // spreads a short period over 8 bytes, then copies whole periods
    for (std::size_t i = 0; i < 8; ++i) to[i] = from[i];
    const std::size_t period = (7 + distance) / distance * distance;
    if (size > 8) copy_pieces<8>(to + 8 - period, to + 8, size - 8);
    return;
  }
  for (std::size_t i = 0; i < size; ++i) to[i] = from[i];
}

/// The state of one decompression. Uses offsets, so that no pointer leaves a buffer.
class BloscLz {
 public:
  BloscLz(Bytes in, MutableBytes out) : in_(in), out_(out) {}

  bool run() {
    if (in_.empty()) return false;
    unsigned op = next() & 31U;  // the first one is a literal, whatever its top bits
    for (;;) {
      const bool good = op < 32 ? literal(op + 1) : match(op);
      if (!good) return false;
      if (read_ == in_.size()) return op < 32 && written_ == out_.size();  // a literal comes last
      op = next();
    }
  }

 private:
  /// Callers have checked that there is a byte. The check in std::span would take 2.5 % of the
  /// decompression time.
  std::uint8_t next() { return in_.data()[read_++]; }

  bool literal(std::size_t size) {
    const std::size_t left = in_.size() - read_;
    const std::size_t room = out_.size() - written_;
    if (size > left || size > room) return false;
    if (left >= kMaxLiteral && room >= kMaxLiteral) {
      // A fixed size copies faster. Later output overwrites the excess.
      std::memcpy(out_.data() + written_, in_.data() + read_, kMaxLiteral);
    } else {
      std::memcpy(out_.data() + written_, in_.data() + read_, size);
    }
    read_ += size;
    written_ += size;
    return true;
  }

  bool match(unsigned op) {
    const std::size_t room = out_.size() - written_;
    std::size_t size = op >> 5;
    if (size == kLongMatch && !extend(size, room)) return false;
    size += kMinMatch;
    if (read_ == in_.size()) return false;
    const std::size_t high = op & 31U;
    const std::size_t low = next();
    std::size_t distance = (high << 8 | low) + 1;
    if (high == 31 && low == 255) {
      if (in_.size() - read_ < 2) return false;
      const std::size_t far_high = next();
      distance = kFarDistance + (far_high << 8 | next());
    }
    if (distance > written_ || size > room) return false;
    copy_match(out_.data() + written_, distance, size, room);
    written_ += size;
    return true;
  }

  /// Adds the extension bytes of a long match to `size`.
  bool extend(std::size_t& size, std::size_t room) {
    std::uint8_t more = 255;
    while (more == 255) {
      if (read_ == in_.size() || size > room) return false;
      more = next();
      size += more;
    }
    return true;
  }

  Bytes in_;
  MutableBytes out_;
  std::size_t read_ = 0;
  std::size_t written_ = 0;
};

class BloscLzDecompressor final : public Decompressor {
 public:
  bool decompress(Bytes in, const CodecUse&, MutableBytes out) override {
    return BloscLz(in, out).run();
  }
};

}  // namespace

std::unique_ptr<Decompressor> make_blosclz_decompressor() {
  return std::make_unique<BloscLzDecompressor>();
}

}  // namespace bloscfs::codec
