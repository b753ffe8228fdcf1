// Sets of byte ranges, compared with a set of single bytes.

#include "frame/editing/extent_set.hpp"

#include <random>
#include <vector>

#include <boost/test/unit_test.hpp>

using namespace bloscfs::frame;

namespace {

constexpr std::uint64_t kBytes = 300;

std::uint64_t lowest_fit(const std::vector<bool>& bytes, std::uint64_t size, std::uint64_t from) {
  // A fit begins where a run of the set begins.
  for (std::uint64_t at = from; at < kBytes; ++at) {
    if (!bytes[at] || (at > 0 && bytes[at - 1])) continue;
    std::uint64_t end = at;
    while (end < kBytes && bytes[end]) ++end;
    if (end - at >= size) return at;
  }
  return kBytes;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(extent_set)

BOOST_AUTO_TEST_CASE(joins_neighbours) {
  ExtentSet set;
  set.add({10, 5});
  set.add({20, 5});
  set.add({15, 5});
  BOOST_TEST(set.count() == 1u);
  BOOST_TEST(set.total() == 15u);
  BOOST_TEST(set.run_start(25) == 10u);
  BOOST_TEST(set.run_start(24) == 24u);
  BOOST_TEST(set.run_end(12) == 25u);
  BOOST_TEST(set.run_end(25) == 25u);
}

BOOST_AUTO_TEST_CASE(agrees_with_single_bytes) {
  std::mt19937 random(3);
  ExtentSet set;
  std::vector<bool> bytes(kBytes);
  for (int step = 0; step < 5000; ++step) {
    const std::uint64_t start = random() % kBytes;
    const std::uint64_t size = random() % std::min<std::uint64_t>(30, kBytes - start + 1);
    const bool add = random() % 2 == 0;
    add ? set.add({start, size}) : set.remove({start, size});
    for (std::uint64_t i = start; i < start + size; ++i) bytes[i] = add;
    std::uint64_t total = 0;
    for (const bool byte : bytes) total += byte ? 1 : 0;
    BOOST_REQUIRE(set.total() == total);
    const std::uint64_t from = random() % kBytes, wanted = 1 + random() % 40;
    const auto fit = set.first_fit(wanted, step % 3 == 0 ? from : 0);
    const std::uint64_t expected = lowest_fit(bytes, wanted, step % 3 == 0 ? from : 0);
    BOOST_REQUIRE((fit ? fit->start : kBytes) == expected);
    BOOST_REQUIRE(set.contains({from, 1}) == bytes[from]);
  }
}

BOOST_AUTO_TEST_SUITE_END()
