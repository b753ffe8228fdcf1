// Operations on names, and the needs that they have.

#include "fs/source/local/tree/names_work.hpp"

#include <cerrno>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include <boost/test/unit_test.hpp>

#include "tests/fs/mount/in_process.hpp"

namespace bloscfs::test {
namespace {

using fs::Need;

/// An operation that counts its calls and the works that were done for it.
struct Operation {
  fs::Request request;
  fs::NamesWork work{request};
  fs::NamesLock lock;
  int calls = 0, works = 0;
  bool is_locked = false, was_locked = false;  ///< now; during a work

  std::function<void()> done() {
    return [this] {
      works++;
      was_locked |= is_locked;
    };
  }
  /// Calls `body` with the lock until it has no need.
  void run(const std::function<Need()>& body) {
    work.run([&] {
      calls++;
      is_locked = true;
      const std::shared_ptr<void> unlocked(nullptr, [this](void*) { is_locked = false; });
      return body();
    });
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(names_work)

BOOST_AUTO_TEST_CASE(is_called_again_when_what_it_lacks_was_done_without_the_lock) {
  Operation it;
  it.run([&] { return it.works < 2 ? it.work.without_lock(it.done()) : Need(); });
  BOOST_TEST(it.calls == 3);
  BOOST_TEST(it.works == 2);
  BOOST_TEST(!it.was_locked);
}

BOOST_AUTO_TEST_CASE(is_called_again_when_what_a_look_lacks_was_read) {
  Operation it;
  const int seen = it.work.run([&] {
    it.calls++;
    if (it.works == 0) it.work.read_first(it.done());
    return it.works;
  });
  BOOST_TEST(seen == 1);
  BOOST_TEST(it.calls == 2);
}

BOOST_AUTO_TEST_CASE(lacks_the_same_once_for_each_state) {
  Operation it;
  it.run([&]() -> Need {
    for (const std::string state : {"a", "b"})
      if (Need need = it.work.once(state, {it.done()})) return need;
    return {};
  });
  BOOST_TEST(it.calls == 3);
  BOOST_TEST(it.works == 2);
}

BOOST_AUTO_TEST_CASE(does_under_the_lock_what_it_lacks_for_ever) {
  Operation it;
  it.run([&] { return it.work.without_lock(it.done()); });
  BOOST_TEST(it.calls == 101);
  BOOST_TEST(it.works == 101);
  BOOST_TEST(it.was_locked);
}

BOOST_AUTO_TEST_CASE(never_does_under_the_lock_what_takes_that) {
  Operation it;
  BOOST_TEST(error_of([&] { it.run([&] { return Need{it.done(), true}; }); }) == EBUSY);
  BOOST_TEST(it.works == 5);
  BOOST_TEST(!it.was_locked);
  // Even if other needs are met under the lock by now, this one is met without it.
  Operation other;
  int commits = 0;
  other.run([&] {
    if (Need need = other.calls < 101 ? other.work.without_lock(other.done()) : Need()) return need;
    return other.work.once("stored", {[&] { commits += other.is_locked ? 100 : 1; }, true});
  });
  BOOST_TEST(commits == 1);
}

BOOST_AUTO_TEST_CASE(that_has_begun_a_change_is_called_again_only_behind_its_end) {
  Operation it;
  it.run([&] {
    if (it.calls == 1) {
      it.work.begin_change();
      BOOST_TEST(!it.work.without_lock(it.done()));
      BOOST_TEST(it.was_locked);
      it.work.end_change();
    }
    return it.works < 2 ? it.work.without_lock(it.done()) : Need();
  });
  BOOST_TEST(it.calls == 2);
  BOOST_TEST(it.works == 2);
}

BOOST_AUTO_TEST_CASE(does_all_at_once_where_nobody_calls_it_again) {
  Operation it;
  BOOST_TEST(!it.work.without_lock(it.done()));
  it.work.read_first(it.done());
  it.run([] { return Need(); });
  it.work.read_first(it.done());
  BOOST_TEST(it.works == 3);
}

BOOST_AUTO_TEST_CASE(that_shares_the_lock_pauses_and_goes_on_unless_names_have_changed) {
  Operation it;
  it.run([&] {
    const fs::ReadNames names(it.lock, &it.work);
    const auto change_names = [&] {
      it.lock.lock();
      it.lock.unlock();
    };
    BOOST_TEST(it.work.pause([] {}));
    BOOST_TEST(!it.work.pause(change_names));
    BOOST_CHECK_THROW(it.work.pause([] { throw std::runtime_error("no"); }), std::runtime_error);
    BOOST_TEST(it.work.pause([] {}));
    return Need();
  });
  BOOST_TEST(!it.work.pause([] {}));
}

BOOST_AUTO_TEST_CASE(begins_a_look_where_it_takes_the_lock_or_has_let_others_have_it) {
  Operation it;
  it.run([&]() -> Need {
    const fs::ReadNames names(it.lock, &it.work);
    BOOST_TEST(it.work.must_ask());
    BOOST_TEST(!it.work.must_ask());
    BOOST_TEST(it.work.pause([] {}));
    BOOST_TEST(it.work.must_ask());
    it.work.begin_change();
    BOOST_TEST(it.work.must_ask());
    BOOST_TEST(!it.work.must_ask());
    return {};
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
