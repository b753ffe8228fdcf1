#include "fs/support/request_slots.hpp"

#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "fs/support/request.hpp"

namespace bloscfs::fs {
namespace {

constexpr uid_t kA = 1, kB = 2, kC = 3;

/// Slots, and in `done` the names of the waiting requests that got one.
struct Log {
  explicit Log(unsigned max_per_user) : slots(max_per_user) {}

  RequestSlots::Answer ask(uid_t user, const std::string& name, bool is_over = false) {
    return ask_for_file_of(user, user, name, is_over);
  }
  RequestSlots::Answer ask_for_file_of(uid_t owner, uid_t user, const std::string& name,
                                       bool is_over = false) {
    RequestSlots::Waiting waiting{&names.emplace_back(name), [this, name] { done += name; }};
    return slots.take_or_wait(user, owner, waiting, [is_over] { return is_over; });
  }
  /// Gives back a slot of that user. Returns the user who gets it, or 0.
  uid_t end(uid_t user) {
    const auto next = slots.give_back(user);
    if (!next) return 0;
    next->work();
    return next->user;
  }

  RequestSlots slots;
  std::deque<std::string> names;
  std::string done;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(request_slots)

BOOST_AUTO_TEST_CASE(last_slot_is_for_who_has_none) {
  RequestSlots slots(2);
  BOOST_TEST(slots.most() == 3u);
  BOOST_TEST(slots.take(kA));
  BOOST_TEST(slots.take(kA));
  BOOST_TEST(!slots.take(kA));
  BOOST_TEST(slots.take(kB));
  BOOST_TEST(!slots.take(kC));
  BOOST_TEST(!slots.give_back(kA));
  BOOST_TEST(!slots.take(kA));
  BOOST_TEST(!slots.take(kB));
  BOOST_TEST(slots.take(kC));
}

BOOST_AUTO_TEST_CASE(users_who_wait_take_turns) {
  Log log(1);
  BOOST_TEST(log.slots.take(kA));
  BOOST_TEST(log.slots.take(kB));
  for (const char* const name : {"a1 ", "a2 ", "a3 "})
    BOOST_TEST((log.ask(kA, name) == RequestSlots::Answer::waits));
  BOOST_TEST((log.ask(kC, "c1 ") == RequestSlots::Answer::waits));
  BOOST_TEST((log.ask(kB, "b1 ") == RequestSlots::Answer::waits));
  BOOST_TEST((log.ask(kC, "c2 ") == RequestSlots::Answer::waits));
  BOOST_TEST(log.end(kA) == kC);
  BOOST_TEST(log.end(kB) == kA);
  BOOST_TEST(log.end(kC) == kB);
  BOOST_TEST(log.end(kA) == kC);
  BOOST_TEST(log.end(kB) == kA);
  BOOST_TEST(log.end(kC) == 0u);  // the last free slot is for users who have none
  BOOST_TEST(log.end(kA) == kA);
  BOOST_TEST(log.end(kA) == 0u);
  BOOST_TEST(log.done == "c1 a1 b1 c2 a2 a3 ");
}

BOOST_AUTO_TEST_CASE(requests_for_files_of_different_owners_take_turns) {
  Log log(1);
  BOOST_TEST(log.slots.take(kA));
  for (const char* const name : {"a1 ", "a2 ", "a3 "})
    BOOST_TEST((log.ask(kA, name) == RequestSlots::Answer::waits));
  for (const char* const name : {"b1 ", "b2 "})
    BOOST_TEST((log.ask_for_file_of(kB, kA, name) == RequestSlots::Answer::waits));
  BOOST_TEST((log.ask_for_file_of(kC, kA, "c1 ") == RequestSlots::Answer::waits));
  for (int i = 0; i < 6; i++) BOOST_TEST(log.end(kA) == kA);
  BOOST_TEST(log.end(kA) == 0u);
  BOOST_TEST(log.done == "a1 b1 c1 a2 b2 a3 ");
}

BOOST_AUTO_TEST_CASE(last_one_who_leaves_a_queue_ends_it) {
  Log log(1);
  BOOST_TEST(log.slots.take(kA));
  BOOST_TEST((log.ask_for_file_of(kB, kA, "left") == RequestSlots::Answer::waits));
  BOOST_TEST((log.ask(kA, "a1 ") == RequestSlots::Answer::waits));
  BOOST_TEST(log.slots.leave(&log.names.front()).has_value());
  BOOST_TEST(log.end(kA) == kA);
  BOOST_TEST(log.end(kA) == 0u);
  BOOST_TEST(log.done == "a1 ");
}

BOOST_AUTO_TEST_CASE(what_is_over_does_not_wait) {
  Log log(1);
  BOOST_TEST(log.slots.take(kA));
  BOOST_TEST((log.ask(kA, "over", true) == RequestSlots::Answer::is_over));
  BOOST_TEST((log.ask(kA, "left") == RequestSlots::Answer::waits));
  BOOST_TEST(log.slots.leave(&log.names.back()).has_value());
  BOOST_TEST(!log.slots.leave(&log.names.back()).has_value());
  BOOST_TEST(log.end(kA) == 0u);
  BOOST_TEST((log.ask(kA, "begins") == RequestSlots::Answer::taken));
  BOOST_TEST(log.done.empty());
}

BOOST_AUTO_TEST_CASE(request_takes_one_slot_when_it_needs_it) {
  RequestSlots slots(1);
  const Caller caller{kA};
  Request().need_slot();  // takes none: the request came without slots
  Request first(&slots, caller);
  BOOST_TEST(!first.has_slot());
  first.need_slot();
  first.need_slot();
  BOOST_TEST(first.has_slot());
  Request second(&slots, caller);
  BOOST_CHECK_THROW(second.need_slot(), NoSlot);
  BOOST_TEST(!second.has_slot());
}

BOOST_AUTO_TEST_CASE(request_that_changes_something_goes_on_without_a_slot) {
  RequestSlots slots(1);
  const Caller caller{kA};
  Request first(&slots, caller), second(&slots, caller);
  first.need_slot();
  const Change change(second);
  change.request().need_slot();
  BOOST_TEST(!second.has_slot());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::fs
