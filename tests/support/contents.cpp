#include "tests/support/contents.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <stdexcept>

namespace bloscfs::test {

namespace {

using Random = std::mt19937_64;

void fill_constant(ByteVector& out, Random& random, std::size_t typesize) {
  ByteVector item(typesize);
  for (auto& byte : item) byte = static_cast<std::uint8_t>(random());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = item[i % typesize];
}

void fill_ramp(ByteVector& out, Random& random, std::size_t typesize) {
  std::uint64_t value = random() % 1000;
  const std::uint64_t step = 1 + random() % 7;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t at = i % typesize;
    out[i] = at < 8 ? static_cast<std::uint8_t>(value >> (8 * at)) : 0;
    if (at + 1 == typesize) value += step;
  }
}

void fill_noise(ByteVector& out, Random& random, std::size_t) {
  // Uses all eight bytes of each random number, since drawing takes most of the time.
  for (std::size_t at = 0; at < out.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t drawn = random();
    std::memcpy(out.data() + at, &drawn, std::min(sizeof drawn, out.size() - at));
  }
}

template <typename Float>
void fill_with(ByteVector& out, const std::function<Float(std::size_t)>& value) {
  for (std::size_t i = 0; i * sizeof(Float) < out.size(); ++i) {
    const Float number = value(i);
    const std::size_t at = i * sizeof(Float);
    std::memcpy(out.data() + at, &number, std::min(sizeof(Float), out.size() - at));
  }
}

void fill_floats(ByteVector& out, Random& random, std::size_t typesize) {
  const double phase = static_cast<double>(random() % 100);
  const auto wave = [phase](std::size_t i) {
    return std::sin(phase + 0.01 * static_cast<double>(i)) * 1000;
  };
  if (typesize == 4)
    fill_with<float>(out, [&](std::size_t i) { return static_cast<float>(wave(i)); });
  else
    fill_with<double>(out, wave);
}

void fill_text(ByteVector& out, Random& random, std::size_t) {
  static const char* const kWords[] = {"frame ", "chunk ", "block ", "stream ", "header ", "\n"};
  for (std::size_t at = 0; at < out.size();) {
    const std::string word = kWords[random() % std::size(kWords)];
    const std::size_t size = std::min(word.size(), out.size() - at);
    std::memcpy(out.data() + at, word.data(), size);
    at += size;
  }
}

void fill_nan(ByteVector& out, Random&, std::size_t typesize) {
  if (typesize == 4)
    fill_with<float>(out, [](std::size_t) { return std::numeric_limits<float>::quiet_NaN(); });
  else
    fill_with<double>(out, [](std::size_t) { return std::numeric_limits<double>::quiet_NaN(); });
}

void fill_islands(ByteVector& out, Random& random, std::size_t) {
  for (std::size_t at = 0; at < out.size();) {
    at += random() % 20000;
    for (std::size_t end = std::min(out.size(), at + random() % 3000); at < end; ++at)
      out[at] = static_cast<std::uint8_t>(random());
  }
}

using Fill = void (*)(ByteVector&, Random&, std::size_t);
const std::map<std::string, Fill>& fills() {
  static const std::map<std::string, Fill> table{
      {"zeros", [](ByteVector&, Random&, std::size_t) {}},
      {"constant", fill_constant},
      {"ramp", fill_ramp},
      {"noise", fill_noise},
      {"floats", fill_floats},
      {"text", fill_text},
      {"nan", fill_nan},
      {"islands", fill_islands},
  };
  return table;
}

}  // namespace

const std::vector<std::string>& content_kinds() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& entry : fills()) all.push_back(entry.first);
    return all;
  }();
  return names;
}

ByteVector make_contents(const std::string& kind, std::uint64_t seed, std::size_t size,
                         std::size_t typesize) {
  ByteVector out(size);
  Random random(seed);
  fills().at(kind)(out, random, typesize);
  return out;
}

}  // namespace bloscfs::test
