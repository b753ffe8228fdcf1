#include "fs/support/page_pool.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/needs.hpp"
#include "tests/support/sanitizers.hpp"

using namespace bloscfs::fs;

BOOST_AUTO_TEST_SUITE(page_pool)

BOOST_AUTO_TEST_CASE(pieces_of_one_size_are_used_again,
                     *boost::unit_test::precondition(bloscfs::test::needs_plain_build)) {
  PagePool pages;
  const std::uint8_t* first = nullptr;
  {
    PooledBytes bytes(pages, 100'000);
    first = bytes.span().data();
  }
  BOOST_TEST(PooledBytes(pages, 100'001).view().data() == first);  // both sizes need the same pages
  BOOST_TEST(PagePool::piece_size(100'000) == PagePool::piece_size(100'001));
}

BOOST_AUTO_TEST_CASE(pieces_of_a_size_in_use_stay_beside_many_of_another,
                     *boost::unit_test::precondition(bloscfs::test::needs_plain_build)) {
  PagePool pages;
  std::vector<PooledBytes> many;  // more than the pool keeps
  for (int i = 0; i < 32; i++) many.emplace_back(pages, 1 << 20);
  {
    PooledBytes bytes(pages, 64 << 10);
    bytes.span().back() = 7;
  }
  many.clear();
  // Memory that the pool had given back to the system would be zero.
  BOOST_TEST(PooledBytes(pages, 64 << 10).view().back() == 7);
}

BOOST_AUTO_TEST_CASE(owner_gives_its_piece_to_another) {
  PagePool pages, others;
  PooledBytes one(pages, 50'000), other(others, 60'000);
  const std::uint8_t* const data = one.view().data();
  other = std::move(one);
  BOOST_TEST(other.view().data() == data);
  BOOST_TEST(other.size() == 50'000u);
  const PooledBytes third(std::move(other));
  BOOST_TEST(third.view().data() == data);
}

BOOST_AUTO_TEST_CASE(any_size_can_be_had) {
  PagePool pages;
  for (const std::size_t size : {0u, 1u, 4095u, 32u << 10, 600u << 10, 40u << 20}) {
    PooledBytes bytes(pages, size);
    BOOST_TEST(bytes.size() == size);
    std::fill(bytes.span().begin(), bytes.span().end(), std::uint8_t{1});
  }
  pages.trim();
  PooledBytes again(pages, 32 << 10);
  if (!bloscfs::test::kAddressSanitizer)
    BOOST_TEST(again.view().front() == 0);  // the system had its memory
}

BOOST_AUTO_TEST_CASE(many_threads_take_and_give_pieces) {
  PagePool pages;
  std::atomic<int> wrong{0};
  std::vector<std::jthread> threads;
  for (std::uint8_t number = 1; number <= 4; number++)
    threads.emplace_back([&, number] {
      for (std::size_t i = 0; i < 60; i++) {
        PooledBytes bytes(pages, (i % 3 + 1) * (64 << 10));
        std::fill(bytes.span().begin(), bytes.span().end(), number);
        if (i % 10 == 0) pages.trim();
        for (const std::uint8_t byte : bytes.view()) wrong += byte != number;
      }
    });
  threads.clear();
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_SUITE_END()
