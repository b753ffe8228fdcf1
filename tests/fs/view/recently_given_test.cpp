#include "fs/view/recently_given.hpp"

#include <boost/test/unit_test.hpp>

using namespace bloscfs::fs;

namespace {

constexpr std::size_t kGivenSize = 1 << 20;

struct GivenFixture {
  RecentlyGiven given;

  void add(std::size_t first, std::size_t last) {
    for (std::size_t hash = first; hash < last; hash++) given.add(hash, kGivenSize);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(recently_given, GivenFixture)

BOOST_AUTO_TEST_CASE(knows_the_last_64_mib) {
  add(0, 64);
  BOOST_TEST(given.contains(0));
  add(64, 65);
  BOOST_TEST(!given.contains(0));
  for (std::size_t hash = 1; hash < 65; hash++) BOOST_TEST(given.contains(hash));
}

BOOST_AUTO_TEST_CASE(a_read_shows_that_the_kernel_keeps_nothing) {
  add(0, 64);
  given.read(1000);  // a value that is not remembered
  BOOST_TEST(given.contains(1));
  given.read(0);
  BOOST_TEST(!given.contains(1));
}

BOOST_AUTO_TEST_SUITE_END()
