#include "frame/store/lru_map.hpp"

#include <memory>
#include <string>

#include <boost/test/unit_test.hpp>

namespace bloscfs::test {
namespace {

using Map = frame::LruMap<std::string, int>;

bool is_any(int) { return true; }

}  // namespace

BOOST_AUTO_TEST_SUITE(lru_map)

BOOST_AUTO_TEST_CASE(the_entry_that_was_not_used_for_longest_leaves) {
  Map map(2);
  BOOST_TEST(!map.put("a", 1));
  BOOST_TEST(!map.put("b", 2));
  BOOST_TEST(*map.find("a") == 1);
  const auto left = map.put("c", 3);
  BOOST_REQUIRE(left.has_value());
  BOOST_TEST(*left == 2);
  BOOST_TEST(map.find("b") == nullptr);
  BOOST_TEST(*map.find("a") == 1);
  BOOST_TEST(map.size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_look_is_no_use) {
  Map map(2);
  BOOST_TEST(!map.put("a", 1));
  BOOST_TEST(!map.put("b", 2));
  BOOST_TEST(*map.peek("a") == 1);
  BOOST_TEST(map.put("c", 3).value() == 1);
}

BOOST_AUTO_TEST_CASE(a_new_value_of_a_key_pushes_nobody_out) {
  Map map(2);
  BOOST_TEST(!map.put("a", 1));
  BOOST_TEST(!map.put("b", 2));
  BOOST_TEST(map.put("a", 4).value() == 1);
  BOOST_TEST(map.size() == 2U);
  BOOST_TEST(map.put("c", 3).value() == 2);
  BOOST_TEST(*map.peek("a") == 4);
}

BOOST_AUTO_TEST_CASE(takes_the_oldest_of_those_that_may_go) {
  Map map;
  for (int i = 0; i < 5; i++) BOOST_TEST(!map.put(std::to_string(i), i));
  BOOST_TEST(map.take_oldest([](int value) { return value % 2 == 1; }).value() == 1);
  BOOST_TEST(!map.take_oldest([](int value) { return value > 4; }));
  BOOST_TEST(map.take_oldest(is_any).value() == 0);
  BOOST_TEST(map.take("3").value() == 3);
  BOOST_TEST(!map.take("3"));
  BOOST_TEST(map.take_oldest().value() == 2);
  BOOST_TEST(map.take_oldest().value() == 4);
  BOOST_TEST(!map.take_oldest());
}

BOOST_AUTO_TEST_CASE(holds_what_can_only_be_moved) {
  frame::LruMap<int, std::unique_ptr<int>> map(1);
  BOOST_TEST(!map.put(1, std::make_unique<int>(1)));
  BOOST_TEST(*map.put(2, std::make_unique<int>(2)).value() == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
