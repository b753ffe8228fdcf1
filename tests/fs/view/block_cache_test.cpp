#include "fs/view/block_cache.hpp"

#include <chrono>
#include <thread>

#include <boost/test/unit_test.hpp>

#include "codec/error.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/sanitizers.hpp"

using namespace bloscfs;
using namespace bloscfs::fs;

namespace {

struct Thing {
  int number = 0;
  std::size_t size = 0;
  std::size_t memory() const { return size; }
};

CacheKey key_of(std::int64_t item) { return {7, item, 0, CacheKind::block}; }

struct Fixture {
  Request request;
  Stats stats;
  PagePool pages;
  BlockCache cache{1 << 20, pages, stats};
  int made = 0;

  std::shared_ptr<const Thing> get(std::int64_t item, std::size_t size = 1000,
                                   Purpose purpose = Purpose::read) {
    return cache.get<Thing>(
        request, key_of(item), static_cast<std::int64_t>(size),
        [&] {
          made++;
          return std::make_shared<Thing>(Thing{static_cast<int>(item), size});
        },
        purpose);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(block_cache, Fixture)

BOOST_AUTO_TEST_CASE(makes_each_value_once) {
  BOOST_TEST(get(1)->number == 1);
  BOOST_TEST(get(1)->number == 1);
  BOOST_TEST(made == 1);
  BOOST_TEST(stats.cache_hits.load() == 1);
  BOOST_TEST(stats.cache_misses.load() == 1);
  BOOST_TEST(stats.cache_bytes.load() == 1000 + BlockCache::kEntryCost);
}

BOOST_AUTO_TEST_CASE(stays_within_its_budget) {
  for (int i = 0; i < 5000; i++) {
    get(i, 10'000);
    BOOST_TEST(stats.cache_bytes.load() <= cache.budget().capacity());
  }
  BOOST_TEST(stats.cache_evictions.load() > 4000);
}

BOOST_AUTO_TEST_CASE(gives_way_to_uncommitted_bytes) {
  for (int i = 0; i < 200; i++) get(i, 10'000);
  MemoryBudget::Part dirty(cache.budget(), cache.budget().capacity() - 100'000);
  BOOST_TEST(stats.cache_bytes.load() <= 100'000);
  dirty.resize(0);
  for (int i = 0; i < 200; i++) get(i, 10'000);
  BOOST_TEST(stats.cache_bytes.load() > 500'000);
}

BOOST_AUTO_TEST_CASE(keeps_what_is_used_again_while_a_scan_passes) {
  int scanned = 1000;
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 20; i++) get(i, 10'000);
    for (int i = 0; i < 20; i++) get(scanned++, 10'000);
  }
  for (int i = 0; i < 2000; i++) get(scanned++, 10'000);
  made = 0;
  for (int i = 0; i < 20; i++) get(i, 10'000);
  BOOST_TEST(made == 0);
}

BOOST_AUTO_TEST_CASE(takes_small_steps_through_one_value_for_one_use) {
  for (int i = 0; i < 1000; i++)
    for (int step = 0; step < 10; step++) get(i, 10'000);
  made = 0;
  // If each step counted as a use, the first values would fill the budget, and the last would be
  // evicted.
  for (int i = 950; i < 1000; i++) get(i, 10'000);
  BOOST_TEST(made <= 5);  // shards differ a little in size
}

BOOST_AUTO_TEST_CASE(never_frees_a_value_in_use) {
  const auto held = get(1, 400'000);
  for (int i = 2; i < 100; i++) get(i, 100'000);
  BOOST_TEST(held->number == 1);
  made = 0;
  get(1, 400'000);
  BOOST_TEST(made == 0);
}

BOOST_AUTO_TEST_CASE(keeps_its_budget_beside_many_values_in_use) {
  std::vector<std::shared_ptr<const Thing>> held;
  for (int i = 0; i < 20'000; i++) held.push_back(get(i, 1000));
  held.clear();
  get(200'000);
  BOOST_TEST(stats.cache_bytes.load() <= cache.budget().capacity());
}

BOOST_AUTO_TEST_CASE(counts_what_keeping_tiny_values_takes) {
  for (int i = 0; i < 50'000; i++) get(i, 1);
  BOOST_TEST(stats.cache_evictions.load() > 40'000);
}

BOOST_AUTO_TEST_CASE(refuses_values_above_half_of_the_budget) {
  BOOST_CHECK_EXCEPTION(get(1, (1 << 19) + 1), codec::Error, [](const codec::Error& error) {
    return error.code() == codec::FormatErrc::too_large;
  });
  BOOST_TEST(made == 0);
  BOOST_TEST(get(1, 1 << 19)->number == 1);
}

BOOST_AUTO_TEST_CASE(tells_failures_to_everyone_and_forgets_them) {
  const auto fail = [&]() -> std::shared_ptr<Thing> { throw std::runtime_error("damaged"); };
  BOOST_CHECK_THROW(cache.get<Thing>(request, key_of(1), 10, fail), std::runtime_error);
  BOOST_TEST(cache.lacks(key_of(1)));
  BOOST_TEST(get(1)->number == 1);
}

BOOST_AUTO_TEST_CASE(readers_at_once_share_one_making) {
  std::atomic<int> makings{0}, begun{0};
  std::vector<std::jthread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 8; i++)
    threads.emplace_back([&] {
      begun++;
      Request own;
      const auto value = cache.get<Thing>(own, key_of(5), 10, [&] {
        makings++;
        test::comes_true([&] { return begun == 8; });
        return std::make_shared<Thing>(Thing{55, 10});
      });
      if (value->number == 55) right++;
    });
  for (std::jthread& thread : threads) thread.join();
  BOOST_TEST(makings.load() == 1);
  BOOST_TEST(right.load() == 8);
}

BOOST_AUTO_TEST_CASE(many_threads_keep_the_budget_and_the_values_right) {
  std::atomic<int> wrong{0};
  std::vector<std::jthread> threads;
  for (unsigned seed = 0; seed < 4; seed++)
    threads.emplace_back([&, seed] {
      Request own;
      unsigned state = seed * 7919 + 1;
      for (int i = 0; i < 20'000; i++) {
        state = state * 1664525u + 1013904223u;
        const std::int64_t item = state >> 24;
        const auto value = cache.get<Thing>(own, key_of(item), 20'000, [&] {
          return std::make_shared<Thing>(Thing{static_cast<int>(item), 20'000});
        });
        if (value->number != item) wrong++;
      }
    });
  for (std::jthread& thread : threads) thread.join();
  BOOST_TEST(wrong.load() == 0);
  BOOST_TEST(stats.cache_bytes.load() <= cache.budget().capacity());
}

BOOST_AUTO_TEST_CASE(what_the_kernel_has_is_the_first_to_go) {
  for (int i = 0; i < 20; i++) get(i, 10'000);
  for (int i = 100; i < 200; i++) {
    get(i, 10'000);
    cache.given_to_kernel(key_of(i));
  }
  BOOST_TEST(stats.cache_bytes.load() < 500'000);
  made = 0;
  for (int i = 0; i < 20; i++) get(i, 10'000);
  BOOST_TEST(made == 0);
  get(100, 10'000);
  BOOST_TEST(made == 1);
  cache.given_to_kernel(key_of(12345));  // the cache has no such value
}

BOOST_AUTO_TEST_CASE(what_comes_back_after_the_kernel_had_it_stays) {
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < 60; i++) {
      get(i, 10'000);
      cache.given_to_kernel(key_of(i));
    }
  made = 0;
  for (int i = 0; i < 50; i++) get(i, 10'000);
  BOOST_TEST(made == 0);
}

BOOST_AUTO_TEST_CASE(what_went_to_the_kernel_is_not_read_ahead_again) {
  BOOST_TEST(cache.lacks(key_of(0)));
  for (int i = 0; i < 60; i++) {
    get(i, 10'000);
    cache.given_to_kernel(key_of(i));
    BOOST_TEST(!cache.lacks(key_of(i)));
  }
  BOOST_TEST(stats.cache_evictions.load() > 20);
  for (int i = 0; i < 60; i++) BOOST_TEST(!cache.lacks(key_of(i)));
  // A read of a value that the kernel had shows that the kernel does not keep its pages.
  get(1, 10'000);
  BOOST_TEST(cache.lacks(key_of(2)));
  // The cache forgets that the kernel has a value after much more was given to the kernel.
  get(100, 10'000);
  cache.given_to_kernel(key_of(100));
  for (int i = 1000; i < 8000; i++) {
    get(i, 10'000);
    cache.given_to_kernel(key_of(i));
  }
  BOOST_TEST(cache.lacks(key_of(100)));
}

BOOST_AUTO_TEST_CASE(what_small_reads_wanted_holds_little_until_it_comes_back) {
  get(1000, 10'000);
  for (int i = 0; i < 60; i++)
    for (int step = 0; step < 3; step++) get(i, 10'000, Purpose::small_read);
  BOOST_TEST(made == 61);
  BOOST_TEST(stats.cache_bytes.load() < 150'000);
  for (int round = 0; round < 2; round++) {
    made = 0;
    for (int i = 0; i < 60; i++) get(i, 10'000, Purpose::small_read);
    BOOST_TEST((made > 40) == (round == 0), made << " made in round " << round);
  }
  get(1000, 10'000);
  BOOST_TEST(made == 0);
}

BOOST_AUTO_TEST_CASE(values_go_without_a_lock) {
  struct Asking {
    BlockCache& cache;
    int& gone;
    std::size_t memory() const { return 10'000; }
    ~Asking() {
      for (int i = 0; i < 200; i++) cache.lacks(key_of(i));
      cache.forget(key_of(12345));
      gone++;
    }
  };
  int gone = 0;
  const auto make = [&] { return std::shared_ptr<Asking>(new Asking{cache, gone}); };
  for (int i = 0; i < 150; i++) cache.get<Asking>(request, key_of(i), 0, make);
  cache.forget(key_of(149));
  cache.get<Asking>(request, key_of(200), 0, make, Purpose::small_read);
  cache.shrink(0);
  BOOST_TEST(gone >= 151);
}

BOOST_AUTO_TEST_CASE(shrinks_on_request) {
  for (int i = 0; i < 50; i++) get(i, 10'000);
  cache.shrink(0);
  BOOST_TEST(stats.cache_bytes.load() == 0);
}

BOOST_AUTO_TEST_SUITE_END()
