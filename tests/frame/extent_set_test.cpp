// Sets of byte ranges, compared with sets of single bytes; and the space of frames where holes are
// punched.

#include "frame/editing/extent_set.hpp"

#include <ctime>
#include <random>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "frame/editing/frame_space.hpp"
#include "tests/frame/memory_store.hpp"

using namespace bloscfs::frame;
using bloscfs::frame::test::MemoryDisk;
using bloscfs::frame::test::StoreOperation;

namespace {

constexpr std::uint64_t kBytes = 300;

std::uint64_t lowest_fit(const std::vector<bool>& bytes, std::uint64_t size, std::uint64_t from) {
  // A fit begins at the start of a range.
  for (std::uint64_t at = from; at < kBytes; ++at) {
    if (!bytes[at] || (at > 0 && bytes[at - 1])) continue;
    std::uint64_t end = at;
    while (end < kBytes && bytes[end]) ++end;
    if (end - at >= size) return at;
  }
  return kBytes;
}

/// Makes a space in which every second piece of `size` bytes is free.
FrameSpace checkered(std::uint64_t pieces, std::uint64_t size) {
  FrameSpace space(2 * pieces * size, 0, {});
  for (std::uint64_t i = 0; i < pieces; ++i) space.give_back({2 * i * size, size});
  return space;
}

std::vector<Extent> punched(const MemoryDisk& disk) {
  std::vector<Extent> extents;
  for (const StoreOperation& operation : disk.log)
    if (operation.kind == StoreOperation::Kind::punch)
      extents.push_back({operation.offset, operation.size});
  return extents;
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

BOOST_AUTO_TEST_CASE(punches_whole_pages_of_large_extents_once) {
  const auto disk = MemoryDisk::make();
  const auto file = disk->root()->create("f", 0600);
  FrameSpace space = checkered(4, 100000);
  space.punch(*file);
  const std::vector<Extent> expected{{0, 98304}, {200704, 98304}, {401408, 98304}, {602112, 94208}};
  BOOST_TEST((punched(*disk) == expected));
  BOOST_TEST(space.unpunched() == 0u);
  disk->log.clear();
  space.punch(*file);
  BOOST_TEST(punched(*disk).empty());
}

BOOST_AUTO_TEST_CASE(pieces_too_small_to_punch_cost_nothing_at_each_commit) {
  const auto disk = MemoryDisk::make();
  const auto file = disk->root()->create("f", 0600);
  FrameSpace space = checkered(60000, 50000);
  const std::clock_t before = std::clock();
  for (int commit = 0; commit < 1000; ++commit) space.punch(*file);
  // A look at each single piece would take half a minute.
  BOOST_TEST(std::clock() - before < 2 * CLOCKS_PER_SEC);
  BOOST_TEST(punched(*disk).empty());
  BOOST_TEST(space.unpunched() == 60000u * 50000u);
}

BOOST_AUTO_TEST_SUITE_END()
