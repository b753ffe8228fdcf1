#include "codec/special_value.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "codec/error.hpp"

namespace bloscfs::codec {
namespace {

constexpr std::uint8_t kZero[] = {0};
constexpr std::uint8_t kFloatNan[] = {0, 0, 0xC0, 0x7F};
constexpr std::uint8_t kDoubleNan[] = {0, 0, 0, 0, 0, 0, 0xF8, 0x7F};

/// True if `bytes` repeat with that period. Comparing them with themselves, shifted, is one call
/// and stops at the first difference.
bool repeats(Bytes bytes, std::size_t period) {
  return std::memcmp(bytes.data(), bytes.data() + period, bytes.size() - period) == 0;
}

}  // namespace

Bytes special_pattern(SpecialValue value, std::int32_t typesize) {
  if (reads_as_zeros(value)) return kZero;
  if (value == SpecialValue::nan && typesize == 4) return kFloatNan;
  if (value == SpecialValue::nan && typesize == 8) return kDoubleNan;
  throw_malformed("special value " + std::to_string(static_cast<int>(value)) + " of " +
                  std::to_string(typesize) + " bytes");
}

void fill_pattern(Bytes pattern, std::int64_t content_offset, MutableBytes out) {
  if (out.empty()) return;
  const std::size_t period = pattern.size();
  if (period == 1) {
    std::memset(out.data(), pattern[0], out.size());
    return;
  }
  const std::size_t phase = static_cast<std::size_t>(content_offset) % period;
  const std::size_t first = std::min(period, out.size());
  for (std::size_t i = 0; i < first; ++i) out[i] = pattern[(phase + i) % period];
  for (std::size_t done = first; done < out.size();) {  // whole periods, doubled each time
    const std::size_t count = std::min(done, out.size() - done);
    std::memcpy(out.data() + done, out.data(), count);
    done += count;
  }
}

bool is_run(Bytes bytes) { return repeats(bytes, 1); }

SpecialValue find_special(Bytes contents, std::int32_t typesize) {
  const std::size_t period = static_cast<std::size_t>(typesize);
  if (contents.empty() || contents.size() % period != 0 || !repeats(contents, period)) {
    return SpecialValue::none;
  }
  const Bytes item = contents.first(period);
  if (item[0] == 0 && is_run(item)) return SpecialValue::zero;
  if (typesize == 4 || typesize == 8) {
    const Bytes nan = special_pattern(SpecialValue::nan, typesize);
    if (std::equal(item.begin(), item.end(), nan.begin())) return SpecialValue::nan;
  }
  return contents.size() > period ? SpecialValue::value : SpecialValue::none;
}

}  // namespace bloscfs::codec
