// What one user may have of what there is for all.

#include <chrono>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "fs/content/dirty_budget.hpp"
#include "fs/mount/descriptor_shares.hpp"
#include "fs/support/fair_share.hpp"
#include "fs/support/log_allowance.hpp"
#include "fs/support/request_user.hpp"

namespace bloscfs::fs {
namespace {

/// How often somebody can take so much in a row.
std::size_t taken_by(uid_t user, FairShare& share, std::size_t amount,
                     std::vector<FairShare::Part>& parts) {
  const RequestUser request(user);
  for (std::size_t count = 0;; count++) {
    FairShare::Part part = share.take(amount);
    if (!part) return count;
    parts.push_back(std::move(part));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(shares)

BOOST_AUTO_TEST_CASE(are_half_of_what_others_leave) {
  FairShare share(100);
  std::vector<FairShare::Part> first, second, third;
  BOOST_TEST(taken_by(1, share, 10, first) == 5u);
  BOOST_TEST(taken_by(2, share, 5, second) == 5u);
  BOOST_TEST(taken_by(3, share, 1, third) == 12u);
  first.clear();
  BOOST_TEST(taken_by(3, share, 1, third) == 25u);
  BOOST_TEST(taken_by(2, share, 5, second) == 1u);
  second.clear();
  third.clear();
  BOOST_TEST(taken_by(2, share, 50, second) == 1u);
}

BOOST_AUTO_TEST_CASE(have_room_for_one_that_is_too_large) {
  FairShare share(100);
  const FairShare::Part nothing = share.take(0), nothing_more = share.take(0);
  BOOST_TEST(static_cast<bool>(nothing));
  const RequestUser request(1);
  BOOST_TEST(!share.take(60));
  const FairShare::Part one = share.take_one(1000);
  BOOST_TEST(static_cast<bool>(one));
  BOOST_TEST(!share.take_one(1));
}

BOOST_AUTO_TEST_CASE(of_requests_are_their_users) {
  BOOST_TEST(!RequestUser::current());
  const RequestUser outer(1);
  {
    const RequestUser inner(2);
    BOOST_TEST(*RequestUser::current() == 2u);
    std::jthread([] { BOOST_TEST(!RequestUser::current()); }).join();
  }
  BOOST_TEST(*RequestUser::current() == 1u);
}

BOOST_AUTO_TEST_CASE(of_the_log_come_back) {
  LogAllowance allowance;
  LogAllowance::Clock::time_point now{};
  for (int i = 0; i < LogAllowance::kBurst; i++) {
    const auto verdict = allowance.ask(1, now);
    BOOST_TEST(verdict.may_be_told);
    BOOST_TEST(verdict.is_last == (i == LogAllowance::kBurst - 1));
  }
  for (int i = 0; i < 7; i++) BOOST_TEST(!allowance.ask(1, now).may_be_told);
  BOOST_TEST(allowance.ask(2, now).may_be_told);
  now += LogAllowance::kInterval;
  const auto verdict = allowance.ask(1, now);
  BOOST_TEST(verdict.may_be_told);
  BOOST_TEST(verdict.left_out == 7u);
  BOOST_TEST(!allowance.ask(1, now).may_be_told);
}

BOOST_AUTO_TEST_CASE(of_the_log_are_remembered_of_so_many_users) {
  LogAllowance allowance;
  const LogAllowance::Clock::time_point now{};
  std::size_t told = 0;
  for (uid_t user = 0; user < 5000; user++) told += allowance.ask(user, now).may_be_told;
  BOOST_TEST(told == LogAllowance::kMaxUsers + LogAllowance::kBurst);
}

BOOST_AUTO_TEST_CASE(of_what_is_uncommitted_are_no_trouble_of_others) {
  Stats stats;
  DirtyBudget budget(1000, stats, [](bool) {});
  budget.change(1, 0, 760);
  const auto failing = std::make_error_code(std::errc::no_space_on_device);
  // Another one's files go on being committed, and his errors are not theirs.
  for (int i = 0; i < 3; i++) {
    BOOST_CHECK_NO_THROW(budget.wait_for_room(2));
    budget.change(2, 0, 100);
    budget.commit_ended(1, failing);
    budget.change(2, 100, 0);
  }
  std::jthread committer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    budget.commit_ended(1, failing);
  });
  BOOST_CHECK_THROW(budget.wait_for_room(1), std::system_error);
  committer.join();
  budget.change(1, 760, 0);
  BOOST_CHECK_NO_THROW(budget.wait_for_room(1));
}

BOOST_AUTO_TEST_CASE(of_descriptors_leave_some_for_commits) {
  for (const std::size_t limit : {8u, 64u, 256u, 1024u, 4096u, 1u << 20}) {
    const DescriptorLimits limits(limit);
    BOOST_TEST(limits.for_files >= limit / 2);
    BOOST_TEST(limits.batch >= 1u);
    BOOST_TEST(
        (limits.batch == 1 || limits.batch * 4 + limits.watched <= limit - limits.for_files));
  }
  BOOST_TEST(DescriptorLimits(1 << 20).batch == 256u);
}

BOOST_AUTO_TEST_CASE(are_waited_for_until_they_are_given_back) {
  FairShare share(10);
  std::optional<FairShare::Part> all(share.take(5));
  BOOST_TEST(!share.take(1, std::chrono::milliseconds(1)));
  std::jthread other([&] { all.reset(); });
  BOOST_TEST(!!share.take(5, std::chrono::seconds(20)));
  other.join();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::fs
