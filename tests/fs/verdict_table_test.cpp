#include "fs/source/local/tree/verdict_table.hpp"

#include <boost/test/unit_test.hpp>

using namespace bloscfs::fs;

namespace {

static_assert(sizeof(KnownVerdict) <= 80, "100,000 of them are kept");

void remember(VerdictTable& table, std::uint64_t inode, std::int64_t shown_size,
              Role role = Role::file) {
  KnownVerdict verdict;
  verdict.state.device = 7;
  verdict.state.inode = inode;
  verdict.role = role;
  verdict.verdict.shown_size = shown_size;
  table.remember(verdict);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(verdict_table)

BOOST_AUTO_TEST_CASE(every_verdict_is_found_while_there_is_room) {
  VerdictTable table(1000);
  for (std::uint64_t i = 0; i < 1000; i++) remember(table, i, static_cast<std::int64_t>(i));
  for (std::uint64_t i = 0; i < 1000; i++) {
    const KnownVerdict* const found = table.find(7, i, Role::file);
    BOOST_REQUIRE(found != nullptr);
    BOOST_TEST(found->verdict.shown_size == static_cast<std::int64_t>(i));
  }
  BOOST_TEST(table.find(8, 1, Role::file) == nullptr);
}

BOOST_AUTO_TEST_CASE(sparse_frame_and_its_index_are_two_subjects) {
  VerdictTable table(10);
  remember(table, 1, 5);
  BOOST_TEST(table.find(7, 1, Role::index) == nullptr);
  remember(table, 1, 6, Role::index);
  BOOST_TEST(table.find(7, 1, Role::file)->verdict.shown_size == 5);
  BOOST_TEST(table.find(7, 1, Role::index)->verdict.shown_size == 6);
}

BOOST_AUTO_TEST_CASE(newer_verdict_replaces_the_one_on_the_same_file) {
  VerdictTable table(10);
  for (std::uint64_t i = 0; i < 10; i++) remember(table, i, 1);
  remember(table, 3, 2);
  for (std::uint64_t i = 0; i < 10; i++)
    BOOST_TEST(table.find(7, i, Role::file)->verdict.shown_size == (i == 3 ? 2 : 1));
}

BOOST_AUTO_TEST_CASE(full_table_keeps_its_size_and_what_came_last) {
  VerdictTable table(100);
  for (std::uint64_t i = 0; i < 5000; i++) {
    remember(table, i, 1);
    BOOST_REQUIRE(table.find(7, i, Role::file) != nullptr);
  }
  int kept = 0;
  for (std::uint64_t i = 0; i < 5000; i++) kept += table.find(7, i, Role::file) != nullptr ? 1 : 0;
  BOOST_TEST(kept == 100);
}

BOOST_AUTO_TEST_SUITE_END()
