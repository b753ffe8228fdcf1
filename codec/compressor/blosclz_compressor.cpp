#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include <boost/endian/conversion.hpp>

#include "codec/compressor/blosclz.hpp"

namespace bloscfs::codec {
namespace {

constexpr std::size_t kMinInput = 32;
constexpr std::size_t kMaxLiteral = 32;
constexpr std::size_t kLongMatch = 7;        // stored lengths from here on take more bytes
constexpr std::size_t kLengthBase = 2;       // what is not stored of a length
constexpr std::size_t kNearDistance = 8191;  // distances beyond take two more bytes
constexpr std::size_t kMaxDistance = 73727;
constexpr std::size_t kMinNear = 4;  // shorter matches win nothing
constexpr std::size_t kMinFar = 6;
constexpr std::size_t kSequence = 4;  // bytes that are hashed
constexpr std::size_t kTail = 12;     // no search there: wide loads stay inside

struct Effort {
  int hash_bits;
  int skip_shift;  ///< after 2^skip_shift misses the search steps over one byte more
};

constexpr Effort effort_of(int clevel) {
  if (clevel <= 3) return {12, 4};
  if (clevel <= 6) return {13, 5};
  return {14, 7};
}

std::uint32_t load32(const std::uint8_t* from) { return boost::endian::load_little_u32(from); }
std::uint64_t load64(const std::uint8_t* from) { return boost::endian::load_little_u64(from); }

/// Where sequences stood last. Positions count on from stream to stream, so that what earlier ones
/// left behind lies before the present one, as if the table had been cleared.
class PositionTable {
 public:
  explicit PositionTable(int bits) : shift_(32 - bits), positions_(std::size_t{1} << bits) {}

  void begin(std::size_t stream_size) {
    base_ += last_size_;
    if (base_ > std::numeric_limits<std::uint32_t>::max() - stream_size) {
      std::fill(positions_.begin(), positions_.end(), 0);
      base_ = 1;
    }
    last_size_ = static_cast<std::uint32_t>(stream_size);
  }

  /// How far back the sequence stood before `at`, where it now stands; more than `at` if nowhere.
  std::size_t exchange(std::uint32_t sequence, std::size_t at) {
    const std::uint32_t position = base_ + static_cast<std::uint32_t>(at);
    std::uint32_t& slot = positions_[sequence * 2654435761U >> shift_];
    const std::uint32_t distance = position - slot;
    slot = position;
    return distance;
  }

 private:
  int shift_;
  std::uint32_t base_ = 1;
  std::uint32_t last_size_ = 0;
  std::vector<std::uint32_t> positions_;
};

/// One stream's way from `in` to `out`.
class BloscLzEncoder {
 public:
  BloscLzEncoder(Bytes in, MutableBytes out, PositionTable& table, int skip_shift)
      : in_(in), out_(out), table_(table), skip_shift_(skip_shift) {}

  std::size_t run() {
    table_.begin(in_.size());
    table_.exchange(load32(in_.data()), 0);
    std::size_t at = 1;  // a stream begins with a literal
    while (find(at)) {
      const std::size_t begin = match_begin(at);
      const std::size_t end = match_end(at);
      if (end - begin < (distance_ > kNearDistance ? kMinFar : kMinNear)) {
        ++at;
        continue;
      }
      if (!put_literals(begin) || !put_match(end - begin)) return 0;
      at = anchor_ = end;
      if (at < search_end()) table_.exchange(load32(in_.data() + at - 2), at - 2);
    }
    if (!put_literals(in_.size())) return 0;
    out_[0] |= 0x20;  // as all writers mark the first literal
    return written_;
  }

 private:
  std::size_t search_end() const { return in_.size() - kTail; }

  /// Moves `at` on to the next place with a sequence that was seen before, at distance_.
  bool find(std::size_t& at) {
    const std::size_t end = search_end();
    std::size_t misses = std::size_t{1} << skip_shift_;
    while (at < end) {
      const std::uint32_t sequence = load32(in_.data() + at);
      distance_ = table_.exchange(sequence, at);
      if (distance_ <= std::min(at, kMaxDistance) &&
          load32(in_.data() + at - distance_) == sequence) {
        return true;
      }
      at += misses++ >> skip_shift_;
    }
    return false;
  }

  /// The match at `at`, grown to the front as far as nothing is written.
  std::size_t match_begin(std::size_t at) const {
    const std::uint8_t* const data = in_.data();
    while (at > anchor_ && at > distance_ && data[at - 1] == data[at - 1 - distance_]) --at;
    return at;
  }

  /// The same match, grown to the back; the last byte stays a literal.
  std::size_t match_end(std::size_t at) const {
    const std::uint8_t* const data = in_.data();
    const std::size_t limit = in_.size() - 1;
    std::size_t end = at + kSequence;
    while (end + 8 <= limit) {
      const std::uint64_t difference = load64(data + end) ^ load64(data + end - distance_);
      if (difference != 0) return end + static_cast<std::size_t>(std::countr_zero(difference)) / 8;
      end += 8;
    }
    while (end < limit && data[end] == data[end - distance_]) ++end;
    return end;
  }

  /// Everything from anchor_ to `end`, in groups.
  bool put_literals(std::size_t end) {
    std::size_t count = end - anchor_;
    if (count + ceil_div(count, kMaxLiteral) > out_.size() - written_) return false;
    for (; count > 0; count = end - anchor_) {
      const std::size_t group = std::min(count, kMaxLiteral);
      out_[written_++] = static_cast<std::uint8_t>(group - 1);
      copy_literal(group);
      anchor_ += group;
      written_ += group;
    }
    return true;
  }

  void copy_literal(std::size_t size) {
    if (in_.size() - anchor_ >= kMaxLiteral && out_.size() - written_ >= kMaxLiteral) {
      size = kMaxLiteral;  // what is too much is written over: a fixed size copies faster
    }
    std::memcpy(out_.data() + written_, in_.data() + anchor_, size);
  }

  bool put_match(std::size_t length) {
    const std::size_t stored = length - kLengthBase;
    const bool far = distance_ > kNearDistance;
    if (out_.size() - written_ < 5 + stored / 255) return false;
    const std::size_t near = far ? 0x1FFF : distance_ - 1;
    put(std::min(stored, kLongMatch) << 5 | near >> 8);
    if (stored >= kLongMatch) {
      std::size_t rest = stored - kLongMatch;
      for (; rest >= 255; rest -= 255) put(255);
      put(rest);
    }
    put(near & 0xFF);
    if (far) {
      put((distance_ - kNearDistance - 1) >> 8);
      put((distance_ - kNearDistance - 1) & 0xFF);
    }
    return true;
  }

  void put(std::size_t byte) { out_[written_++] = static_cast<std::uint8_t>(byte); }

  Bytes in_;
  MutableBytes out_;
  PositionTable& table_;
  int skip_shift_;
  std::size_t anchor_ = 0;  ///< what lies before is written
  std::size_t written_ = 0;
  std::size_t distance_ = 0;
};

class BloscLzCompressor final : public Compressor {
 public:
  explicit BloscLzCompressor(Effort effort) : effort_(effort), table_(effort.hash_bits) {}

  std::size_t compress(Bytes in, Bytes, MutableBytes out) override {
    if (in.size() < kMinInput || in.size() > std::numeric_limits<std::uint32_t>::max() / 2) {
      return 0;
    }
    return BloscLzEncoder(in, out, table_, effort_.skip_shift).run();
  }

 private:
  Effort effort_;
  PositionTable table_;
};

}  // namespace

std::unique_ptr<Compressor> make_blosclz_compressor(int clevel) {
  return std::make_unique<BloscLzCompressor>(effort_of(clevel));
}

}  // namespace bloscfs::codec
