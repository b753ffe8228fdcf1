#include "fs/support/lru_cache.hpp"

#include <memory>
#include <string>

#include <boost/test/unit_test.hpp>

namespace bloscfs::test {
namespace {

using Cache = fs::LruCache<std::string, int>;

Cache::Pointer value(int number) { return std::make_shared<const int>(number); }

}  // namespace

BOOST_AUTO_TEST_SUITE(lru_cache)

BOOST_AUTO_TEST_CASE(values_that_were_not_used_for_longest_make_room_by_their_costs) {
  Cache cache(10);
  cache.put("a", value(1), 4);
  cache.put("b", value(2), 4);
  BOOST_TEST((cache.find("a") != nullptr));
  cache.put("c", value(3), 6);
  BOOST_TEST((cache.find("a") != nullptr));
  BOOST_TEST((cache.find("b") == nullptr));
  cache.put("d", value(4), 11);
  BOOST_TEST((cache.find("d") == nullptr));
  BOOST_TEST((cache.find("c") != nullptr));
  cache.put("c", nullptr);
  cache.put("e", value(5), 6);
  BOOST_TEST((cache.find("a") != nullptr));
}

BOOST_AUTO_TEST_CASE(the_first_of_two_values_for_a_key_is_kept) {
  Cache cache(2);
  const auto first = value(1);
  BOOST_TEST((cache.keep("a", first) == first));
  BOOST_TEST((cache.keep("a", value(2)) == first));
}

BOOST_AUTO_TEST_CASE(a_value_that_is_used_is_not_dropped) {
  Cache cache(2);
  const auto used = value(1);
  cache.put("a", used);
  cache.put("b", value(2));
  BOOST_TEST(cache.drop_unused());
  BOOST_TEST(!cache.drop_unused());
  BOOST_TEST((cache.find("a") == used));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
