#include "tests/bench/bench_data.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <string>

namespace bloscfs::test {
namespace {

constexpr std::uint64_t kSeed = 20240229;

using Random = std::mt19937_64;

/// Returns a number from -1 to 1, most often near 0. Avoids the distributions of the standard
/// library, which differ between implementations.
double noise(Random& random) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += static_cast<double>(random() >> 11) * 0x1p-53;
  return sum / 2 - 1;
}

template <typename Float>
Float field(std::size_t i, double roughness, Random& random) {
  const double x = static_cast<double>(i);
  const double smooth = 280 + 20 * std::sin(x / 40000) + 5 * std::sin(x / 700) + std::cos(x / 9000);
  return static_cast<Float>(smooth + roughness * noise(random));
}

std::uint32_t ramp(std::size_t i, Random& random) {
  const double x = static_cast<double>(i);
  return static_cast<std::uint32_t>(20000 + x / 16 + 40 * noise(random));
}

template <typename Item>
void put_items(std::vector<std::uint8_t>& out, std::size_t width, const Item& item) {
  for (std::size_t i = 0; i * width < out.size(); ++i) {
    const auto value = item(i);
    std::memcpy(out.data() + i * width, &value, std::min(width, out.size() - i * width));
  }
}

/// Fills `out` with words of a small vocabulary, of which the first ones are the most frequent.
void put_text(std::vector<std::uint8_t>& out, Random& random) {
  std::array<std::string, 2000> words;
  for (std::string& word : words) {
    const std::size_t length = 2 + random() % 8;
    while (word.size() < length) word += static_cast<char>('a' + random() % 13 + random() % 14);
    word += random() % 8 == 0 ? ",\n" : " ";
  }
  for (std::size_t at = 0; at < out.size();) {
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    const std::string& word = words[static_cast<std::size_t>(u * u * u * 2000)];
    const std::size_t count = std::min(word.size(), out.size() - at);
    std::memcpy(out.data() + at, word.data(), count);
    at += count;
  }
}

}  // namespace

std::vector<std::uint8_t> make_contents(std::size_t typesize, std::size_t size) {
  Random random(kSeed);
  std::vector<std::uint8_t> out(size);
  if (typesize == 1) {
    put_text(out, random);
  } else if (typesize <= 3) {
    put_items(out, typesize, [&](std::size_t i) { return ramp(i, random); });
  } else if (typesize % 8 == 0) {
    put_items(out, 8, [&](std::size_t i) { return field<double>(i, 1e-6, random); });
  } else {
    put_items(out, 4, [&](std::size_t i) { return field<float>(i, 4e-4, random); });
  }
  return out;
}

}  // namespace bloscfs::test
