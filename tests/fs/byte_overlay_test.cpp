#include "fs/content/byte_overlay.hpp"

#include <algorithm>
#include <optional>
#include <random>

#include <boost/test/unit_test.hpp>

namespace bloscfs::fs {
namespace {

using Model = std::vector<std::optional<std::uint8_t>>;  // nullopt: not in the overlay

constexpr std::int64_t kSize = 600;
constexpr std::int64_t kCell = 64;

std::vector<std::uint8_t> shown(const ByteOverlay& overlay, std::int64_t offset,
                                std::int64_t size) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(size), 0xEE);
  overlay.apply(offset, out);
  return out;
}

std::vector<std::uint8_t> shown(const Model& model) {
  std::vector<std::uint8_t> out;
  for (const auto& byte : model) out.push_back(byte.value_or(0xEE));
  return out;
}

/// Applies each random change to an overlay and to a model of it.
class Pair {
 public:
  explicit Pair(std::uint64_t seed) : random_(seed) {}

  void change() {
    const std::int64_t offset = number(0, kSize - 1);
    const std::int64_t size = number(1, kSize - offset);
    switch (number(0, 9)) {
      case 0:
        overlay.truncate(offset);
        std::fill(model.begin() + offset, model.end(), std::nullopt);
        break;
      case 1:
      case 2:
        overlay.zero(offset, size);
        std::fill_n(model.begin() + offset, size, std::uint8_t{0});
        break;
      default: {
        std::vector<std::uint8_t> bytes(static_cast<std::size_t>(std::min<std::int64_t>(size, 40)));
        for (auto& byte : bytes) byte = static_cast<std::uint8_t>(number(1, 200));
        write(offset, bytes);
      }
    }
  }

  PagePool pages;
  ByteOverlay overlay{pages, kCell};
  Model model = Model(kSize);

 private:
  /// Writes bytes that the overlay copies, or a pooled buffer that it may keep.
  void write(std::int64_t offset, std::vector<std::uint8_t>& bytes) {
    if (number(0, 2) > 0) {
      overlay.write(offset, bytes);
    } else {
      offset -= offset % kCell;
      bytes.resize(static_cast<std::size_t>(std::min(kSize - offset, number(1, kCell))), 201);
      if (number(0, 1) == 0)
        bytes.resize(static_cast<std::size_t>(std::min(kCell, kSize - offset)), 202);
      PooledBuffer cell(pages, bytes);
      overlay.write(offset, cell);
    }
    std::copy(bytes.begin(), bytes.end(), model.begin() + offset);
  }

  std::int64_t number(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  std::mt19937_64 random_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(byte_overlay)

BOOST_AUTO_TEST_CASE(agrees_with_a_model_under_random_changes) {
  for (std::uint64_t seed = 1; seed <= 50; seed++) {
    Pair pair(seed);
    for (int step = 0; step < 200; step++) {
      pair.change();
      const auto expected = shown(pair.model);
      const bool same = shown(pair.overlay, 0, kSize) == expected;
      BOOST_REQUIRE_MESSAGE(same, "seed " << seed << " step " << step);
      const std::int64_t from = (step * 37) % kSize;
      const std::int64_t part = std::min<std::int64_t>(100, kSize - from);
      BOOST_REQUIRE(
          (shown(pair.overlay, from, part) ==
           std::vector<std::uint8_t>(expected.begin() + from, expected.begin() + from + part)));
      const bool touched = std::any_of(pair.model.begin() + from, pair.model.begin() + from + part,
                                       [](const auto& byte) { return byte.has_value(); });
      BOOST_REQUIRE(pair.overlay.touches(from, part) == touched);
    }
  }
}

BOOST_AUTO_TEST_CASE(merging_puts_the_upper_one_over_the_lower) {
  for (std::uint64_t seed = 1; seed <= 30; seed++) {
    Pair lower(seed), upper(seed + 1000);
    for (int step = 0; step < 15; step++) {
      lower.change();
      upper.change();
    }
    lower.overlay.merge(upper.overlay);
    for (std::size_t i = 0; i < upper.model.size(); i++)
      if (upper.model[i]) lower.model[i] = upper.model[i];
    BOOST_REQUIRE((shown(lower.overlay, 0, kSize) == shown(lower.model)));
  }
}

BOOST_AUTO_TEST_CASE(what_is_split_off_lies_below_the_rest) {
  for (std::uint64_t seed = 1; seed <= 30; seed++) {
    Pair pair(seed);
    for (int step = 0; step < 15; step++) pair.change();
    const std::size_t memory = pair.overlay.memory();
    ByteOverlay first = pair.overlay.split_off_first(100);
    BOOST_TEST(first.memory() + pair.overlay.memory() == memory);
    // split_off_first() moves all zeros to the lower part.
    const auto zeros_above = [&](const ByteOverlay::Part& part) {
      BOOST_TEST(part.bytes != nullptr);
    };
    pair.overlay.for_each(0, kSize, zeros_above);
    first.merge(pair.overlay);
    BOOST_REQUIRE((shown(first, 0, kSize) == shown(pair.model)));
  }
}

BOOST_AUTO_TEST_CASE(splitting_takes_no_more_than_it_must) {
  PagePool pages;
  ByteOverlay overlay(pages, 64);
  overlay.write(0, std::vector<std::uint8_t>(640, 1));
  const ByteOverlay first = overlay.split_off_first(100);
  BOOST_TEST(first.touches(64, 64));
  BOOST_TEST(!first.touches(128, 512));
  BOOST_TEST(overlay.touches(128, 1));
  BOOST_TEST(overlay.split_off_first(10000).touches(576, 64));
  BOOST_TEST(overlay.empty());
  BOOST_TEST(overlay.memory() == 0U);
}

BOOST_AUTO_TEST_CASE(counts_its_memory_back_to_nothing) {
  Pair pair(7);
  for (int step = 0; step < 500; step++) pair.change();
  BOOST_TEST(pair.overlay.memory() > 0U);
  pair.overlay.truncate(0);
  BOOST_TEST(pair.overlay.empty());
  BOOST_TEST(pair.overlay.memory() == 0U);
}

BOOST_AUTO_TEST_CASE(zeros_of_any_size_cost_an_entry) {
  PagePool pages;
  ByteOverlay overlay(pages, 1 << 20);
  overlay.zero(0, std::int64_t{1} << 62);
  overlay.zero(std::int64_t{1} << 61, std::int64_t{1} << 62);
  BOOST_TEST(overlay.memory() < 1000U);
  std::vector<std::uint8_t> out(16, 1);
  overlay.apply(std::int64_t{1} << 50, out);
  BOOST_TEST((out == std::vector<std::uint8_t>(16, 0)));
}

BOOST_AUTO_TEST_CASE(tells_where_bytes_and_zeros_are) {
  PagePool pages;
  ByteOverlay overlay(pages, 64);
  overlay.write(100, std::vector<std::uint8_t>(50, 1));
  overlay.zero(1000, std::int64_t{1} << 40);
  BOOST_TEST(overlay.next_written(0).value() == 100);
  BOOST_TEST(overlay.next_written(140).value() == 140);
  BOOST_TEST(!overlay.next_written(150));
  BOOST_TEST(overlay.end_of_zeros(999) == 999);
  BOOST_TEST(overlay.end_of_zeros(1000) == 1000 + (std::int64_t{1} << 40));
  BOOST_TEST(overlay.end_of_zeros(120) == 120);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::fs
