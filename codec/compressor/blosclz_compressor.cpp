// Encodes BloscLZ streams. The encoder keeps its positions in local variables, because the compiler
// must assume that each byte it writes may change a member.
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
constexpr std::size_t kLiteralGroup = 32;
constexpr std::size_t kLongStoredMatch = 7;    // longer matches take more bytes
constexpr std::size_t kLengthBase = 2;         // subtracted from a stored length
constexpr std::uint32_t kNearDistance = 8191;  // larger distances take two more bytes
constexpr std::uint32_t kFarMark = 0x1FFF;     // stored in place of a near distance
constexpr std::uint32_t kMaxDistance = 73727;
constexpr std::ptrdiff_t kMinNear = 4;  // shorter matches save nothing
constexpr std::ptrdiff_t kMinFar = 6;
constexpr std::ptrdiff_t kSequence = 4;  // number of hashed bytes
constexpr std::ptrdiff_t kTail = 12;     // not searched, so that wide loads stay inside the input

struct Effort {
  int hash_bits;
  int skip_shift;              ///< after 2^skip_shift misses the search skips one more byte
  std::ptrdiff_t min_ratio;    ///< in percent; below it, parts are stored without a search
  std::size_t probes;          ///< parts that are tried before a stream is given up; 0: no trial
  std::ptrdiff_t probe_ratio;  ///< in percent; one of these parts must reach it
};

/// By level. The higher levels try no parts first, because a small part does not show repetitions
/// at a large distance.
constexpr Effort kEfforts[] = {{},
                               {12, 4, 250, 2, 200},
                               {12, 4, 180, 4, 130},
                               {12, 4, 120, 8, 105},
                               {13, 5, 115, 8, 105},
                               {13, 5, 115, 8, 105},
                               {13, 5, 112, 0, 0},
                               {13, 6, 110, 0, 0},
                               {14, 6, 105, 0, 0},
                               {14, 7, 100, 0, 0}};

// Compression ratios in percent, of the best part. With kStrong or more, the whole stream is
// encoded. With less, encoding starts as a trial. If the trial's ratio is below kWeak, encoding
// stops.
constexpr std::ptrdiff_t kStrong = 125;
/// 100 %, as the product of two percentages.
constexpr std::ptrdiff_t kWhole = 10'000;
constexpr std::ptrdiff_t kWeak = 103;

std::uint32_t load32(const std::uint8_t* from) { return boost::endian::load_little_u32(from); }
std::uint64_t load64(const std::uint8_t* from) { return boost::endian::load_little_u64(from); }

/// The last position of each sequence in a stream, whose bytes are borrowed.
struct Positions {
  std::uint32_t* slots;
  int shift;
  std::uint32_t base;  ///< position of `begin`
  const std::uint8_t* begin;

  std::uint32_t of(const std::uint8_t* at) const {
    return base + static_cast<std::uint32_t>(at - begin);
  }
  std::uint32_t& slot(const std::uint8_t* at) const {
    return slots[load32(at) * 2654435761U >> shift];
  }
};

/// Memory for positions. They count on from stream to stream. Entries of earlier streams thus lie
/// before the present stream, and are ignored without clearing the table.
class PositionTable {
 public:
  explicit PositionTable(int bits) : shift_(32 - bits), slots_(std::size_t{1} << bits) {}

  Positions begin(Bytes in) {
    if (in.size() > std::numeric_limits<std::uint32_t>::max() - next_) {
      std::fill(slots_.begin(), slots_.end(), 0);
      next_ = 1;
    }
    const std::uint32_t base = next_;
    next_ += static_cast<std::uint32_t>(in.size());
    return {slots_.data(), shift_, base, in.data()};
  }

 private:
  int shift_;
  std::uint32_t next_ = 1;
  std::vector<std::uint32_t> slots_;
};

/// Returns the next sequence from `at` on that has occurred before, and its `distance`. Returns
/// null if there is none before `limit`.
const std::uint8_t* find(const Positions& positions, const std::uint8_t* at,
                         const std::uint8_t* limit, int skip_shift, std::uint32_t& distance) {
  std::size_t misses = std::size_t{1} << skip_shift;
  const std::uint8_t* next = at;
  std::uint32_t* next_slot = &positions.slot(at);
  for (;;) {
    const auto step = static_cast<std::ptrdiff_t>(misses++ >> skip_shift);
    if (limit - next < step) return nullptr;
    at = next;
    next += step;
    std::uint32_t* const slot = next_slot;
    next_slot = &positions.slot(next);  // early, since the access is slow
    const std::uint32_t position = positions.of(at);
    distance = position - *slot;
    *slot = position;
    if (distance <= std::min(position - positions.base, kMaxDistance) &&
        load32(at - distance) == load32(at)) {
      return at;
    }
  }
}

/// Returns the start of the match at `at`, extended to the front up to `anchor`.
const std::uint8_t* match_begin(const std::uint8_t* at, std::ptrdiff_t distance,
                                const std::uint8_t* begin, const std::uint8_t* anchor) {
  while (at > anchor && at - begin > distance && at[-1] == at[-1 - distance]) --at;
  return at;
}

/// Returns the end of the match at `at`, extended to the back up to `end`.
const std::uint8_t* match_end(const std::uint8_t* at, std::ptrdiff_t distance,
                              const std::uint8_t* end) {
  at += kSequence;
  while (end - at >= 8) {
    const std::uint64_t difference = load64(at) ^ load64(at - distance);
    if (difference != 0) return at + std::countr_zero(difference) / 8;
    at += 8;
  }
  while (at < end && *at == at[-distance]) ++at;
  return at;
}

/// The place where the stream is written.
struct Output {
  std::uint8_t* at;
  std::uint8_t* end;

  std::size_t room() const { return static_cast<std::size_t>(end - at); }
};

/// Writes the literals from..to of an input that ends at `in_end`. Returns false if they do not
/// fit.
bool put_literals(Output& out, const std::uint8_t* from, const std::uint8_t* to,
                  const std::uint8_t* in_end) {
  std::size_t count = static_cast<std::size_t>(to - from);
  if (count == 0) return true;
  if (count <= kLiteralGroup && static_cast<std::size_t>(in_end - from) >= kLiteralGroup &&
      out.room() > kLiteralGroup) {
    *out.at++ = static_cast<std::uint8_t>(count - 1);
    // A fixed size copies faster. Later output overwrites the excess.
    std::memcpy(out.at, from, kLiteralGroup);
    out.at += count;
    return true;
  }
  if (out.room() < count + ceil_div(count, kLiteralGroup)) return false;
  while (count > 0) {
    const std::size_t group = std::min(count, kLiteralGroup);
    *out.at++ = static_cast<std::uint8_t>(group - 1);
    std::memcpy(out.at, from, group);
    out.at += group;
    from += group;
    count -= group;
  }
  return true;
}

bool put_match(Output& out, std::uint32_t distance, std::size_t length) {
  std::size_t stored = length - kLengthBase;
  if (out.room() < 5 + stored / 255) return false;
  const bool far = distance > kNearDistance;
  const std::uint32_t near = far ? kFarMark : distance - 1;
  *out.at++ = static_cast<std::uint8_t>(std::min(stored, kLongStoredMatch) << 5 | near >> 8);
  if (stored >= kLongStoredMatch) {
    for (stored -= kLongStoredMatch; stored >= 255; stored -= 255) *out.at++ = 255;
    *out.at++ = static_cast<std::uint8_t>(stored);
  }
  *out.at++ = static_cast<std::uint8_t>(near);
  if (far) {
    boost::endian::store_big_u16(out.at, static_cast<std::uint16_t>(distance - kNearDistance - 1));
    out.at += 2;
  }
  return true;
}

/// Measures how much compression saves in each window of the input. If it saves little, skips parts
/// of growing size without a search.
class Gauge {
 public:
  Gauge(const std::uint8_t* in, std::ptrdiff_t min_ratio) : in_(in), min_ratio_(min_ratio) {}

  /// Returns where the search continues, after everything before `in` has been written in `written`
  /// bytes.
  const std::uint8_t* next(const std::uint8_t* in, std::ptrdiff_t written,
                           const std::uint8_t* limit) {
    if (in - in_ < kWindow) return in;
    const bool little = (written - written_) * min_ratio_ > (in - in_) * 100;
    const std::ptrdiff_t skipped = little ? std::min(skip_, limit - in) : 0;
    skip_ = little ? std::min(2 * skip_, kMaxSkip) : kWindow;
    in_ = in + skipped;
    written_ = written + skipped;
    return in_;
  }

 private:
  static constexpr std::ptrdiff_t kWindow = 1024;
  static constexpr std::ptrdiff_t kMaxSkip = 4096;

  const std::uint8_t* in_;
  std::ptrdiff_t written_ = 0;
  std::ptrdiff_t min_ratio_;
  std::ptrdiff_t skip_ = kWindow;
};

/// Encodes a stream. If `trial` is not 0, gives up after that many input bytes unless enough was
/// saved. Returns the bytes written; 0 if it gave up, or `out` is too small.
std::size_t encode(Bytes in, MutableBytes out, PositionTable& table, const Effort& effort,
                   std::ptrdiff_t trial) {
  const Positions positions = table.begin(in);
  const std::uint8_t* const end = in.data() + in.size();
  const std::uint8_t* const limit = end - kTail;
  Output output{out.data(), out.data() + out.size()};
  Gauge gauge(in.data(), effort.min_ratio);
  const std::uint8_t* anchor = in.data();  // everything before it is written
  positions.slot(anchor) = positions.base;
  std::uint32_t distance = 0;
  const std::uint8_t* at = anchor + 1;  // a stream starts with a literal
  while (at <= limit && (at = find(positions, at, limit, effort.skip_shift, distance)) != nullptr) {
    const std::uint8_t* const from = match_begin(at, distance, in.data(), anchor);
    const std::uint8_t* const to = match_end(at, distance, end - 1);  // it ends with a literal
    if (to - from < (distance > kNearDistance ? kMinFar : kMinNear)) {
      ++at;
      continue;
    }
    if (!put_literals(output, anchor, from, end) ||
        !put_match(output, distance, static_cast<std::size_t>(to - from))) {
      return 0;
    }
    anchor = to;
    if (to > limit) break;
    if (trial != 0 && to - in.data() >= trial) {
      if ((output.at - out.data()) * kWeak > (to - in.data()) * 100) return 0;
      trial = 0;
    }
    positions.slot(to - 2) = positions.of(to - 2);
    at = gauge.next(to, output.at - out.data(), limit);
  }
  if (!put_literals(output, anchor, end, end)) return 0;
  out[0] |= 0x20;  // all writers set this bit in the first literal
  return static_cast<std::size_t>(output.at - out.data());
}

/// Encodes small parts from all over the stream. Returns the size of the smallest one, in percent;
/// 0 if the stream is too short to tell. Overwrites `out`.
std::ptrdiff_t best_part(Bytes in, MutableBytes out, PositionTable& table, const Effort& effort) {
  constexpr std::size_t kPart = 1024;
  const std::size_t parts = std::min(effort.probes, in.size() / (4 * kPart));
  if (parts == 0 || out.size() < kPart) return 0;
  std::size_t best = kPart;
  for (std::size_t i = 0; i < parts && best * std::size_t{kStrong} > kPart * 100; ++i) {
    const std::size_t size =
        encode(in.subspan(i * (in.size() / parts), kPart), out, table, effort, 0);
    if (size > 0) best = std::min(best, size);
  }
  return static_cast<std::ptrdiff_t>(best * 100 / kPart);
}

class BloscLzCompressor final : public Compressor {
 public:
  explicit BloscLzCompressor(const Effort& effort) : effort_(effort), table_(effort.hash_bits) {}

  std::size_t compress(Bytes in, const CodecUse&, MutableBytes out) override {
    if (in.size() < kMinInput || in.size() > std::numeric_limits<std::uint32_t>::max() / 2) {
      return 0;
    }
    const std::ptrdiff_t best = best_part(in, out, table_, effort_);
    if (best * effort_.probe_ratio > kWhole) return 0;
    const bool weak = best * kStrong > kWhole;
    return encode(in, out, table_, effort_, weak ? static_cast<std::ptrdiff_t>(in.size() / 4) : 0);
  }

 private:
  Effort effort_;
  PositionTable table_;
};

}  // namespace

std::unique_ptr<Compressor> make_blosclz_compressor(int clevel) {
  return std::make_unique<BloscLzCompressor>(kEfforts[clevel]);
}

}  // namespace bloscfs::codec
