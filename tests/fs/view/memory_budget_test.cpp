#include "fs/view/memory_budget.hpp"

#include <cstdint>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "codec/error.hpp"
#include "fs/encoding/chunk_recoder.hpp"

using namespace bloscfs;
using namespace bloscfs::fs;

namespace {

constexpr std::size_t kMiB = 1 << 20;

/// A budget of 8 MiB, and cached values of 1 MiB that can be evicted.
struct BudgetFixture {
  Request request;
  MemoryBudget budget{8 * kMiB, [this] {
                        if (values == 0) return false;
                        values--;
                        budget.give_back(kMiB);
                        return true;
                      }};
  int values = 0;

  void add_values(int count) {
    for (; count > 0; count--) {
      budget.take(kMiB);
      values++;
    }
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(memory_budget, BudgetFixture)

BOOST_AUTO_TEST_CASE(values_give_way_to_what_is_taken_beside_them) {
  add_values(10);
  BOOST_TEST(values == 8);
  MemoryBudget::Part dirty(budget, 3 * kMiB);
  BOOST_TEST(values == 5);
  dirty.resize(kMiB);
  BOOST_TEST(budget.used() == 6 * kMiB);
  dirty.resize(10 * kMiB);  // more than the budget, without a wait
  BOOST_TEST(values == 0);
  BOOST_TEST(budget.used() == 10 * kMiB);
}

BOOST_AUTO_TEST_CASE(encoding_takes_three_times_the_chunks_at_hand) {
  add_values(8);
  PagePool pages;
  WorkerPool workers(1);
  {
    int puts = 0;
    ChunkRecoder recoder(request, {}, pages, workers, &budget,
                         {.runs = 2, .run_size = 0, .bytes = kMiB},
                         [&](std::span<const RecodedChunk>) {
                           puts++;
                           BOOST_TEST(budget.used() >= 3 * kMiB);
                         });
    const std::vector<std::uint8_t> contents(kMiB, 7);
    for (int chunk = 0; chunk < 3; chunk++)
      recoder.add(chunk, kMiB,
                  [&](Request&, codec::ChunkEncoder& encoder, codec::MutableBytes out) {
                    return encoder.encode_into(contents, out);
                  });
    recoder.finish();
    BOOST_TEST(puts == 3);
    BOOST_TEST(values == 5);
  }
  BOOST_TEST(budget.used() == 5 * kMiB);
}

BOOST_AUTO_TEST_CASE(parts_are_given_back_once) {
  {
    MemoryBudget::Part part(budget, kMiB);
    const MemoryBudget::Part moved(std::move(part));
    BOOST_TEST(budget.used() == kMiB);
    BOOST_TEST(moved.size() == kMiB);
  }
  BOOST_TEST(budget.used() == 0);
  MemoryBudget::Part(budget, kMiB).release();
  BOOST_TEST(budget.used() == kMiB);
}

BOOST_AUTO_TEST_CASE(half_is_too_much_to_work_with) {
  BOOST_CHECK_NO_THROW(budget.require_affordable(4 * kMiB));
  const auto is_too_large = [](const codec::Error& error) {
    return error.code() == codec::FormatErrc::too_large;
  };
  BOOST_CHECK_EXCEPTION(budget.require_affordable(4 * kMiB + 1), codec::Error, is_too_large);
  BOOST_CHECK_EXCEPTION(MemoryBudget::LargeWork(request, budget, 4 * kMiB + 1), codec::Error,
                        is_too_large);
}

BOOST_AUTO_TEST_CASE(permits_have_half_of_it_together) {
  std::atomic<std::size_t> now{0}, most{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([&] {
      Request own;
      for (int round = 0; round < 20; round++) {
        const MemoryBudget::LargeWork permit(own, budget, 2 * kMiB + 1);
        const std::size_t together = ++now;
        if (together > most) most = together;
        std::this_thread::yield();
        now--;
      }
    });
  for (std::jthread& thread : threads) thread.join();
  BOOST_TEST(most == 1u);
  const MemoryBudget::LargeWork first(request, budget, 2 * kMiB + 1);
  const MemoryBudget::LargeWork small(request, budget, 2 * kMiB);  // needs no permit
}

BOOST_AUTO_TEST_CASE(open_files_of_one_user_hold_no_more_than_their_share) {
  std::vector<MemoryBudget::Held> held;
  BOOST_CHECK_THROW(for (int i = 0; i < 100; i++) held.emplace_back(request, budget, kMiB),
                    std::system_error);
  BOOST_TEST(held.size() == 10u);  // half of what others leave of (8 / 2 + 16) MiB
  BOOST_TEST(budget.used() == held.size() * kMiB);
  // The message says which of the two limits it is, and what to do.
  const auto refusal = [&](std::size_t bytes) -> std::string {
    try {
      const MemoryBudget::Held more(request, budget, bytes);
    } catch (const std::system_error& error) {
      BOOST_TEST(error.code().value() == ENOMEM);
      return error.what();
    }
    return "";
  };
  BOOST_TEST(refusal(kMiB).starts_with(
      "open files take all the memory that one user may have: close files, or mount with a larger "
      "cache_size"));
  held.clear();
  BOOST_TEST(budget.used() == 0);
  BOOST_TEST(refusal(11 * kMiB).starts_with(
      "the file takes 11534336 bytes of memory while it is open, and one user may have 10485760: "
      "mount with a larger cache_size"));
}

BOOST_AUTO_TEST_SUITE_END()
