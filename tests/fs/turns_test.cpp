#include "fs/support/turns.hpp"

#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace bloscfs::fs {
namespace {

constexpr uid_t kA = 1, kB = 2, kC = 3;

/// Turns, and what was done in those that somebody has waited for.
struct Log {
  explicit Log(unsigned most_of_one) : turns(most_of_one) {}

  Turns::Answer ask(uid_t user, const std::string& name, bool is_over = false) {
    return ask_for_file_of(user, user, name, is_over);
  }
  Turns::Answer ask_for_file_of(uid_t owner, uid_t user, const std::string& name,
                                bool is_over = false) {
    Turns::Waiting waiting{&names.emplace_back(name), [this, name] { done += name; }};
    return turns.begin_or_wait(user, owner, waiting, [is_over] { return is_over; });
  }
  /// Ends a turn of that user; who has the next one.
  uid_t end(uid_t user) {
    const auto next = turns.end(user);
    if (!next) return 0;
    next->work();
    return next->user;
  }

  Turns turns;
  std::deque<std::string> names;
  std::string done;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(turns)

BOOST_AUTO_TEST_CASE(last_turn_is_for_who_has_none) {
  Turns turns(2);
  BOOST_TEST(turns.most() == 3u);
  BOOST_TEST(turns.begin(kA));
  BOOST_TEST(turns.begin(kA));
  BOOST_TEST(!turns.begin(kA));
  BOOST_TEST(turns.begin(kB));
  BOOST_TEST(!turns.begin(kC));
  BOOST_TEST(!turns.end(kA));
  BOOST_TEST(!turns.begin(kA));
  BOOST_TEST(!turns.begin(kB));
  BOOST_TEST(turns.begin(kC));
}

BOOST_AUTO_TEST_CASE(users_who_wait_take_turns) {
  Log log(1);
  BOOST_TEST(log.turns.begin(kA));
  BOOST_TEST(log.turns.begin(kB));
  for (const char* const name : {"a1 ", "a2 ", "a3 "})
    BOOST_TEST((log.ask(kA, name) == Turns::Answer::waits));
  BOOST_TEST((log.ask(kC, "c1 ") == Turns::Answer::waits));
  BOOST_TEST((log.ask(kB, "b1 ") == Turns::Answer::waits));
  BOOST_TEST((log.ask(kC, "c2 ") == Turns::Answer::waits));
  BOOST_TEST(log.end(kA) == kC);
  BOOST_TEST(log.end(kB) == kA);
  BOOST_TEST(log.end(kC) == kB);
  BOOST_TEST(log.end(kA) == kC);
  BOOST_TEST(log.end(kB) == kA);
  BOOST_TEST(log.end(kC) == 0u);  // whoever has a turn already leaves the last one free
  BOOST_TEST(log.end(kA) == kA);
  BOOST_TEST(log.end(kA) == 0u);
  BOOST_TEST(log.done == "c1 a1 b1 c2 a2 a3 ");
}

BOOST_AUTO_TEST_CASE(requests_for_files_of_different_owners_take_turns) {
  Log log(1);
  BOOST_TEST(log.turns.begin(kA));
  for (const char* const name : {"a1 ", "a2 ", "a3 "})
    BOOST_TEST((log.ask(kA, name) == Turns::Answer::waits));
  for (const char* const name : {"b1 ", "b2 "})
    BOOST_TEST((log.ask_for_file_of(kB, kA, name) == Turns::Answer::waits));
  BOOST_TEST((log.ask_for_file_of(kC, kA, "c1 ") == Turns::Answer::waits));
  for (int i = 0; i < 6; i++) BOOST_TEST(log.end(kA) == kA);
  BOOST_TEST(log.end(kA) == 0u);
  BOOST_TEST(log.done == "a1 b1 c1 a2 b2 a3 ");
}

BOOST_AUTO_TEST_CASE(last_one_who_leaves_a_queue_ends_it) {
  Log log(1);
  BOOST_TEST(log.turns.begin(kA));
  BOOST_TEST((log.ask_for_file_of(kB, kA, "left") == Turns::Answer::waits));
  BOOST_TEST((log.ask(kA, "a1 ") == Turns::Answer::waits));
  BOOST_TEST(log.turns.leave(&log.names.front()).has_value());
  BOOST_TEST(log.end(kA) == kA);
  BOOST_TEST(log.end(kA) == 0u);
  BOOST_TEST(log.done == "a1 ");
}

BOOST_AUTO_TEST_CASE(what_is_over_does_not_wait) {
  Log log(1);
  BOOST_TEST(log.turns.begin(kA));
  BOOST_TEST((log.ask(kA, "over", true) == Turns::Answer::is_over));
  BOOST_TEST((log.ask(kA, "left") == Turns::Answer::waits));
  BOOST_TEST(log.turns.leave(&log.names.back()).has_value());
  BOOST_TEST(!log.turns.leave(&log.names.back()).has_value());
  BOOST_TEST(log.end(kA) == 0u);
  BOOST_TEST((log.ask(kA, "begins") == Turns::Answer::has_begun));
  BOOST_TEST(log.done.empty());
}

BOOST_AUTO_TEST_CASE(request_begins_one_turn_when_it_needs_it) {
  Turns turns(1);
  TurnAtNeed::need();  // of no request
  {
    const TurnAtNeed first(turns, kA);
    BOOST_TEST(!first.has_begun());
    TurnAtNeed::need();
    TurnAtNeed::need();
    BOOST_TEST(first.has_begun());
  }
  const TurnAtNeed second(turns, kA);
  BOOST_CHECK_THROW(TurnAtNeed::need(), NoTurn);
  BOOST_TEST(!second.has_begun());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::fs
