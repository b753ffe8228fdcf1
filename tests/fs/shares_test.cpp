// The share that one user may have of something limited.

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "fs/content/dirty_budget.hpp"
#include "fs/source/local/descriptor_shares.hpp"
#include "fs/support/fair_share.hpp"
#include "fs/support/log_allowance.hpp"
#include "fs/support/request.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/set_clock.hpp"

namespace bloscfs::fs {
namespace {

using test::comes_true;
using test::JumpingClock;
using test::SetClock;

/// Returns how often the user can take that amount in a row.
std::size_t taken_by(uid_t user, FairShare& share, std::size_t amount,
                     std::vector<FairShare::Part>& parts) {
  for (std::size_t count = 0;; count++) {
    FairShare::Part part = share.take(user, amount);
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
  const FairShare::Part nothing = share.take(0, 0), nothing_more = share.take(0, 0);
  BOOST_TEST(static_cast<bool>(nothing));
  BOOST_TEST(!share.take(1, 60));
  const FairShare::Part one = share.take_one(1, 1000);
  BOOST_TEST(static_cast<bool>(one));
  BOOST_TEST(!share.take_one(1, 1));
}

BOOST_AUTO_TEST_CASE(of_the_log_come_back) {
  LogAllowance allowance;
  LogAllowance::Clock::time_point now{};
  for (int i = 0; i < LogAllowance::kBurst; i++) {
    const auto verdict = allowance.ask(1, now);
    BOOST_TEST(verdict.may_be_logged);
    BOOST_TEST(verdict.is_last == (i == LogAllowance::kBurst - 1));
  }
  for (int i = 0; i < 7; i++) BOOST_TEST(!allowance.ask(1, now).may_be_logged);
  BOOST_TEST(allowance.ask(2, now).may_be_logged);
  now += LogAllowance::kInterval;
  const auto verdict = allowance.ask(1, now);
  BOOST_TEST(verdict.may_be_logged);
  BOOST_TEST(verdict.left_out == 7u);
  BOOST_TEST(!allowance.ask(1, now).may_be_logged);
}

BOOST_AUTO_TEST_CASE(of_the_log_are_remembered_of_so_many_users) {
  LogAllowance allowance;
  const LogAllowance::Clock::time_point now{};
  std::size_t told = 0;
  for (uid_t user = 0; user < 5000; user++) told += allowance.ask(user, now).may_be_logged;
  BOOST_TEST(told == LogAllowance::kMaxUsers + LogAllowance::kBurst);
}

BOOST_AUTO_TEST_CASE(of_dirty_bytes_leave_room_for_users_whose_commits_work) {
  Stats stats;
  // The commits that are asked for do not run. The clock makes the waits for them end at once.
  JumpingClock clock;
  DirtyBudget budget(
      1000, stats, [](bool) {}, clock);
  budget.change(1, {}, {760});
  const auto failing = std::make_error_code(std::errc::no_space_on_device);
  for (int i = 0; i < 3; i++) {
    BOOST_CHECK_NO_THROW(budget.require_room(2));
    BOOST_TEST(budget.has_room(2));
    budget.change(2, {}, {100});
    budget.commit_ended(1, failing);
    budget.change(2, {100}, {});
    budget.commit_ended(2, {});
  }
  BOOST_TEST(!budget.has_room(1));
  BOOST_CHECK_THROW(budget.require_room(1), std::system_error);
  budget.change(1, {760}, {});
  BOOST_TEST(budget.has_room(1));
  BOOST_CHECK_NO_THROW(budget.require_room(1));
}

BOOST_AUTO_TEST_CASE(of_dirty_bytes_count_what_a_failing_commit_may_bring_back) {
  Stats stats;
  JumpingClock clock;
  DirtyBudget budget(
      1000, stats, [](bool) {}, clock);
  budget.change(1, {}, {900});
  budget.commit_ended(1, std::make_error_code(std::errc::no_space_on_device));
  // A retry has stored most of the bytes, but has not ended yet.
  budget.change(1, {900}, {100, 800});
  BOOST_CHECK_THROW(budget.require_room(1), std::system_error);
  budget.change(1, {100, 800}, {900});
  BOOST_CHECK_THROW(budget.require_room(1), std::system_error);
  budget.change(1, {900}, {100, 800});
  budget.commit_ended(1, {});
  BOOST_CHECK_NO_THROW(budget.require_room(1));
}

BOOST_AUTO_TEST_CASE(of_dirty_bytes_are_refused_only_after_another_try) {
  Stats stats;
  std::atomic<int> tries = 0;
  const auto failing = std::make_error_code(std::errc::no_space_on_device);
  DirtyBudget* tried = nullptr;
  std::error_code outcome = failing;
  DirtyBudget budget(1000, stats, [&](bool all) {
    tries += all;
    if (!outcome) tried->change(1, {900}, {});
    tried->commit_ended(1, outcome);
  });
  tried = &budget;
  budget.change(1, {}, {900});
  BOOST_CHECK_NO_THROW(budget.require_room(1));
  BOOST_TEST(tries == 0);
  budget.commit_ended(1, failing);
  BOOST_CHECK_THROW(budget.require_room(1), std::system_error);
  BOOST_TEST(tries == 1);
  outcome.clear();
  BOOST_CHECK_NO_THROW(budget.require_room(1));
  BOOST_TEST(tries == 2);
}

struct WaitingWrites {
  Stats stats;
  SetClock clock;
  std::atomic<int> pressed{0};
  DirtyBudget budget{1000, stats, [this](bool) { pressed++; }, clock};
  std::atomic<int> answered{0};
  std::array<char, 8> names{};

  bool wait(std::size_t number, std::size_t written) {
    return budget.reply_later(1, {&names.at(number), written, [this] { answered++; }},
                              [] { return false; });
  }
  bool is_answered(int count) {
    comes_true([&] { return answered >= count; });
    return answered == count;
  }
  /// Returns true if a look at the waiting writes finds no room for them. Each such look asks for
  /// commits.
  bool looks_again() {
    const int before = pressed;
    return comes_true([&] {
      clock.move(std::chrono::seconds(1));
      return pressed > before;
    });
  }
};

BOOST_FIXTURE_TEST_CASE(of_dirty_bytes_answer_as_many_waiting_writes_as_have_room, WaitingWrites) {
  budget.change(1, {}, {900});
  for (std::size_t i = 0; i < 3; i++) BOOST_TEST(wait(i, 300));
  BOOST_TEST(looks_again());
  BOOST_TEST(answered == 0);
  // 400 bytes are taken. A second write of 300 bytes has room after the first one, and a third has
  // not.
  budget.change(1, {900}, {400});
  BOOST_TEST(is_answered(2));
  budget.change(1, {400}, {});
  BOOST_TEST(is_answered(3));
}

BOOST_FIXTURE_TEST_CASE(of_dirty_bytes_press_for_commits_while_a_write_waits, WaitingWrites) {
  budget.change(1, {}, {900});
  BOOST_TEST(wait(0, 1));
  BOOST_TEST(looks_again());
  BOOST_TEST(looks_again());
  budget.release_all();
  BOOST_TEST(answered == 1);
}

BOOST_FIXTURE_TEST_CASE(of_dirty_bytes_answer_waiting_writes_when_a_commit_fails, WaitingWrites) {
  budget.change(1, {}, {900});
  BOOST_TEST(wait(0, 1));
  budget.commit_ended(1, std::make_error_code(std::errc::io_error));
  BOOST_TEST(is_answered(1));
}

BOOST_FIXTURE_TEST_CASE(of_dirty_bytes_let_an_interrupted_write_leave, WaitingWrites) {
  budget.change(1, {}, {900});
  BOOST_TEST(wait(0, 1));
  BOOST_TEST(
      !budget.reply_later(1, {&names.at(1), 1, [this] { answered++; }}, [] { return true; }));
  const auto left = budget.leave(&names.at(0));
  BOOST_REQUIRE(left);
  BOOST_TEST(!budget.leave(&names.at(0)));
  budget.release_all();
  BOOST_TEST(answered == 0);
  left->reply();
  BOOST_TEST(answered == 1);
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
  const SetClock clock;  // stands still, so the wait cannot time out
  FairShare share(10);
  std::optional<FairShare::Part> all(share.take(0, 5));
  BOOST_TEST(!share.take(0, 1, std::chrono::milliseconds(0), clock));
  std::jthread other([&] { all.reset(); });
  BOOST_TEST(!!share.take(0, 5, std::chrono::seconds(20), clock));
  other.join();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::fs
