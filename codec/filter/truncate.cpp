#include "codec/filter/truncate.hpp"

#include <cstring>

#include <boost/endian/conversion.hpp>

namespace bloscfs::codec {
namespace {

constexpr int kFloatMantissa = 23;
constexpr int kDoubleMantissa = 52;
constexpr std::size_t kWord = 8;  // bytes handled at once, a multiple of each element size

/// `kept` >= 0 is the number of bits to keep of `all`; below 0, the number of bits to clear.
int bits_to_clear(int kept, int all) { return kept >= 0 ? all - kept : -kept; }

}  // namespace

std::optional<int> truncated_bits(const FilterStep& step, std::size_t typesize) {
  const int kept = step.meta < 128 ? step.meta : step.meta - 256;
  int all = 0;
  if (step.id == FilterId::trunc_prec) {
    if (typesize != 4 && typesize != 8) return std::nullopt;
    all = typesize == 4 ? kFloatMantissa : kDoubleMantissa;
  } else {
    if (typesize != 1 && typesize != 2 && typesize != 4 && typesize != 8) return std::nullopt;
    all = static_cast<int>(8 * typesize);
  }
  const int bits = bits_to_clear(kept, all);
  if (bits < 0 || bits >= all) return std::nullopt;
  return bits;
}

void truncate(Bytes in, MutableBytes out, std::size_t typesize, int bits) {
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < kWord; i += typesize) {
    mask |= ((std::uint64_t{1} << bits) - 1) << (8 * i);
  }
  boost::endian::native_to_little_inplace(mask);
  const std::size_t end = in.size() - in.size() % typesize;
  std::size_t i = 0;
  for (; i + kWord <= end; i += kWord) {
    std::uint64_t word = 0;
    std::memcpy(&word, in.data() + i, kWord);
    word &= ~mask;
    std::memcpy(out.data() + i, &word, kWord);
  }
  std::uint8_t low_bits[kWord];
  std::memcpy(low_bits, &mask, kWord);
  for (; i < in.size(); ++i) {
    out[i] = i < end ? static_cast<std::uint8_t>(in[i] & ~low_bits[i % kWord]) : in[i];
  }
}

}  // namespace bloscfs::codec
