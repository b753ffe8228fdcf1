#include "fs/support/caller.hpp"

#include <thread>

#include <boost/test/unit_test.hpp>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/support/needs.hpp"

namespace bloscfs::fs {
namespace {

/// Returns the groups that Caller::groups() reads of a thread with these groups; nullopt if the
/// test may not set groups.
std::optional<std::vector<gid_t>> seen_of(const std::vector<gid_t>& groups) {
  std::optional<std::vector<gid_t>> seen;
  std::jthread thread([&] {
    if (::syscall(SYS_setgroups, groups.size(), groups.data()) != 0) return;
    seen = Caller{1, 1, 0, static_cast<pid_t>(::syscall(SYS_gettid))}.groups();
  });
  thread.join();
  return seen;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(caller)

BOOST_AUTO_TEST_CASE(groups_are_those_of_the_thread,
                     *boost::unit_test::precondition(test::needs_root)) {
  std::vector<gid_t> many;
  for (gid_t group = 1; group <= 2000; group++) many.push_back(100000 + group);
  for (const std::vector<gid_t>& groups :
       std::vector<std::vector<gid_t>>{{}, {70001}, {1, 70002, 4000000000}, many}) {
    const auto seen = seen_of(groups);
    BOOST_REQUIRE(seen.has_value());
    BOOST_CHECK(*seen == groups);
  }
}

BOOST_AUTO_TEST_CASE(groups_of_nobody_are_unknown) {
  BOOST_TEST(!Caller().groups().has_value());
  BOOST_TEST(!(Caller{1, 1, 0, 2000000000}.groups().has_value()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::fs
