// Which values the policy evicts after traces of reads.

#include "fs/view/eviction_policy.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/fs/view/simulated_cache.hpp"

using namespace bloscfs;
using namespace bloscfs::fs;

namespace {

constexpr std::size_t kTraceCapacity = 1 << 20, kValueSize = 10'000;

struct PolicyFixture {
  test::SimulatedCache cache{kTraceCapacity};

  bool read(std::size_t key, Purpose purpose = Purpose::read) {
    return cache.read(key, kValueSize, purpose);
  }
  int count_kept(std::size_t first, std::size_t last) const {
    int kept = 0;
    for (std::size_t key = first; key < last; key++) kept += cache.has(key) ? 1 : 0;
    return kept;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(eviction_policy, PolicyFixture)

BOOST_AUTO_TEST_CASE(fills_what_there_is) {
  for (std::size_t key = 0; key < 104; key++) read(key);
  BOOST_TEST(count_kept(0, 104) == 104);
  read(104);
  BOOST_TEST(count_kept(0, 105) == 104);
  BOOST_TEST(!cache.has(0));
}

BOOST_AUTO_TEST_CASE(a_scan_does_not_push_out_what_is_used_again) {
  std::size_t scanned = 1000;
  for (int round = 0; round < 3; round++) {
    for (std::size_t key = 0; key < 20; key++) read(key);
    for (int i = 0; i < 20; i++) read(scanned++);
  }
  for (int i = 0; i < 2000; i++) read(scanned++);
  BOOST_TEST(count_kept(0, 20) == 20);
}

BOOST_AUTO_TEST_CASE(small_steps_through_one_value_are_one_use) {
  for (std::size_t key = 0; key < 1000; key++)
    for (int step = 0; step < 10; step++) read(key);
  // If each step counted as a use, the first values would fill the cache.
  BOOST_TEST(count_kept(900, 1000) == 100);
}

BOOST_AUTO_TEST_CASE(what_was_read_ahead_is_used_once_by_its_reader) {
  for (std::size_t key = 0; key < 60; key++) read(key, Purpose::readahead);
  for (std::size_t key = 0; key < 60; key++)
    for (int step = 0; step < 2; step++) read(key);
  for (std::size_t key = 100; key < 300; key++) read(key);
  BOOST_TEST(count_kept(0, 60) == 0);
}

BOOST_AUTO_TEST_CASE(a_ghost_that_comes_back_stays) {
  read(1);
  for (std::size_t key = 100; key < 300; key++) read(key);
  BOOST_TEST(!cache.has(1));
  read(1);
  for (std::size_t key = 300; key < 1000; key++) read(key);
  BOOST_TEST(cache.has(1));
}

BOOST_AUTO_TEST_CASE(what_the_kernel_has_goes_first) {
  for (std::size_t key = 0; key < 20; key++) read(key);
  for (std::size_t key = 100; key < 200; key++) {
    read(key);
    cache.give_to_kernel(key);
  }
  BOOST_TEST(cache.held() < 500'000);
  for (std::size_t key = 200; key < 284; key++) read(key);
  BOOST_TEST(count_kept(0, 20) == 20);
  BOOST_TEST(count_kept(100, 200) == 0);
}

BOOST_AUTO_TEST_CASE(small_reads_keep_a_small_part) {
  read(1000);
  for (std::size_t key = 0; key < 60; key++)
    for (int step = 0; step < 3; step++) read(key, Purpose::small_read);
  BOOST_TEST(cache.held() < 150'000);
  BOOST_TEST(cache.has(1000));
  // A value that comes back to the cache stays in it.
  for (std::size_t key = 0; key < 60; key++) read(key, Purpose::small_read);
  BOOST_TEST(count_kept(0, 60) == 60);
}

BOOST_AUTO_TEST_CASE(what_is_in_use_is_passed_over) {
  const EvictionRules rules(kTraceCapacity);
  UseCounter uses(rules);
  EvictionPolicy policy(rules, uses);
  std::array<EvictionItem, 3> items;
  for (std::size_t i = 0; i < items.size(); i++) {
    items[i].hash = i;
    items[i].size = kValueSize;
    policy.add(items[i], Purpose::read);
  }
  EvictionItem* const first = policy.next(EvictionQueue::fresh);
  BOOST_TEST(first == &items[0]);
  policy.put_back(*first);
  BOOST_TEST(policy.next(EvictionQueue::fresh) == &items[1]);
  BOOST_TEST(policy.next(EvictionQueue::fresh) == &items[2]);
  BOOST_TEST(policy.next(EvictionQueue::fresh) == &items[0]);
  BOOST_TEST(policy.next(EvictionQueue::fresh) == nullptr);
  BOOST_TEST(policy.bytes(EvictionQueue::fresh) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
