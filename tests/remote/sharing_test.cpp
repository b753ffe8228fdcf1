// Ranges of objects that several readers want, that are expected, or that no reader wants any more.

#include <atomic>
#include <future>
#include <mutex>
#include <random>
#include <set>

#include <boost/test/unit_test.hpp>
#include <sys/syscall.h>
#include <unistd.h>

#include "frame/remote/remote_error.hpp"
#include "frame/store/wait_context.hpp"
#include "tests/remote/served_object.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/proc.hpp"

namespace {

using namespace bloscfs::frame;
using namespace bloscfs::test;
using std::chrono::microseconds;
using std::chrono::milliseconds;

struct GivenUp {};

/// A gate at which answers wait until open().
class Gate {
 public:
  void open() {
    const std::lock_guard guard(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return is_open_; });
  }
  void wait_for(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return waiting_ >= count; });
  }
  int waiting() {
    const std::lock_guard guard(mutex_);
    return waiting_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
  int waiting_ = 0;
};

/// An object whose answers wait at a gate, except for ranges from offset 0.
struct Gated : Served {
  explicit Gated(std::size_t size) : Served(size) {
    respond = [this](const HttpRequest& request) {
      if (request.first > 0) gate.wait();
      return range_of(object, request, headers);
    };
  }
  ~Gated() { gate.open(); }
  Gate gate;
};

/// Starts a thread that reads 100 bytes. Returns when the thread waits.
std::future<std::string> waiting_read(const RemoteObject& object, std::size_t at) {
  const auto thread = std::make_shared<std::promise<pid_t>>();
  auto reading = std::async(std::launch::async, [&object, at, thread] {
    thread->set_value(::gettid());
    return read(object, at, 100);
  });
  BOOST_TEST(comes_to_call(thread->get_future().get(), SYS_futex));
  return reading;
}

std::vector<ByteRange> spread(std::int64_t first, int count, std::int64_t step, std::int64_t size) {
  std::vector<ByteRange> ranges;
  for (int i = 0; i < count; i++) ranges.push_back({first + i * step, size});
  return ranges;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sharing)

BOOST_AUTO_TEST_CASE(a_reader_who_gives_up_does_not_disturb_another) {
  Gated served(kMiB);
  const auto object = served.open();
  std::atomic<bool> gives_up{false};
  const auto impatient = std::async(std::launch::async, [&] {
    const Interruption interruption([&] {
      if (gives_up) throw GivenUp();
    });
    BOOST_CHECK_THROW(read(*object, 500000, 100), GivenUp);
  });
  served.gate.wait_for(1);
  auto patient = waiting_read(*object, 500050);
  gives_up = true;
  impatient.wait();
  served.gate.open();
  BOOST_TEST((patient.get() == served.object.substr(500050, 100)));
  BOOST_TEST(served.server.requests() == 2);
}

BOOST_AUTO_TEST_CASE(what_nobody_waits_for_any_more_ends) {
  Gated served(kMiB);
  const auto traffic = std::make_shared<Traffic>();
  const auto object = served.open(nullptr, traffic);
  {
    const Interruption interruption([] { throw GivenUp(); });
    BOOST_CHECK_THROW(read(*object, 500000, 100), GivenUp);
  }
  BOOST_TEST(traffic->numbers().bytes_under_way == 0U);
  BOOST_TEST(comes_true([&] { return traffic->numbers().bytes_held == 0; }));
  served.gate.open();
  BOOST_TEST((read(*object, 500000, 100) == served.object.substr(500000, 100)));
  BOOST_TEST(served.server.requests() == 3);
}

BOOST_AUTO_TEST_CASE(what_is_expected_is_asked_for_at_once_and_near_ranges_together) {
  Served served(8 * kMiB);
  const auto object = served.open();
  const std::vector<ByteRange> ranges{{7 * kMiB, 100},
                                      {2 * kMiB, 5000},
                                      {2 * kMiB + 6000, 10},
                                      {2 * kMiB + 60000, 10},
                                      {2 * kMiB + 200000, 7},
                                      {100, 10},
                                      {-5, 10},
                                      {9 * kMiB, 1}};
  object->expect(ranges);
  BOOST_TEST_REQUIRE(comes_true([&] { return served.server.seen().size() == 4; }),
                     served.server.seen().size());
  std::vector<std::pair<std::uint64_t, std::uint64_t>> asked;
  for (const HttpRequest& request : served.server.seen())
    asked.emplace_back(request.first, request.last);
  std::sort(asked.begin(), asked.end());
  BOOST_TEST((asked[1] == std::pair<std::uint64_t, std::uint64_t>(2 * kMiB, 2 * kMiB + 60009)));
  BOOST_TEST(
      (asked[2] == std::pair<std::uint64_t, std::uint64_t>(2 * kMiB + 200000, 2 * kMiB + 200006)));
  BOOST_TEST((asked[3] == std::pair<std::uint64_t, std::uint64_t>(7 * kMiB, 7 * kMiB + 99)));
  for (const ByteRange& range : {ranges[0], ranges[1], ranges[2], ranges[3], ranges[4]}) {
    const auto at = static_cast<std::size_t>(range.offset),
               size = static_cast<std::size_t>(range.size);
    BOOST_TEST((read(*object, at, size) == served.object.substr(at, size)));
  }
  BOOST_TEST(served.server.requests() == 4);
}

BOOST_AUTO_TEST_CASE(what_is_at_hand_needs_no_wait) {
  Gated served(8 * kMiB);
  const auto object = served.open();
  const std::vector<ByteRange> ranges{{60000, 10000}, {4 * kMiB, 100000}};
  BOOST_TEST(object->is_available(spread(0, 6, 10000, 5000)));
  BOOST_TEST(!object->is_available(ranges));
  object->expect(ranges);
  BOOST_TEST(!object->is_available(ranges));
  served.gate.open();
  BOOST_TEST(comes_true([&] { return object->is_available(ranges); }));
  BOOST_TEST(!object->is_available(spread(4 * kMiB + 90000, 1, 1, 20000)));
  BOOST_TEST(object->is_available(spread(8 * kMiB, 1, 1, 100)));
}

BOOST_AUTO_TEST_CASE(what_is_expected_and_fails_is_asked_for_again) {
  Served served(kMiB);
  const auto traffic = std::make_shared<Traffic>();
  const auto object = served.open(nullptr, traffic);
  std::atomic<bool> fails{true}, has_changed{false};
  served.respond = [&](const HttpRequest& request) {
    if (fails) return reply_of("500 Oops", "", "");
    return range_of(served.object, request, has_changed ? "ETag: \"2\"\r\n" : served.headers);
  };
  object->expect(spread(500000, 1, 1, 100));
  BOOST_TEST(comes_true(
      [&] { return served.server.requests() == 2 && traffic->numbers().bytes_under_way == 0; }));
  fails = false;
  BOOST_TEST((read(*object, 500000, 100) == served.object.substr(500000, 100)));
  has_changed = true;
  object->expect(spread(900000, 1, 1, 100));
  BOOST_TEST(error_of_read(*object, 900000, 100) == EIO);
}

BOOST_AUTO_TEST_CASE(expected_ranges_stay_within_the_budget) {
  Gated served(64 * kMiB);
  const auto traffic = std::make_shared<Traffic>(4 * kMiB);
  const auto object = served.open(nullptr, traffic);
  object->expect(spread(kMiB, 1, 1, 40 * kMiB));
  BOOST_TEST(traffic->numbers().bytes_held <= 4 * kMiB);
  BOOST_TEST(traffic->numbers().bytes_held >= 3 * kMiB);
  served.gate.open();
  // A reader gets all of the ranges in the end.
  BOOST_TEST((read(*object, kMiB, 40 * kMiB) == served.object.substr(kMiB, 40 * kMiB)));
  BOOST_TEST(traffic->numbers().bytes_held <= 5 * kMiB);
}

BOOST_AUTO_TEST_CASE(many_ranges_of_one_object_do_not_keep_back_one_of_another) {
  Gated many(64 * kMiB);
  Served single(kMiB);
  const auto traffic = std::make_shared<Traffic>();
  const auto client = quick_client();
  const auto greedy = RemoteObject::open(client, {many.server.url()}, nullptr, traffic);
  const auto modest = RemoteObject::open(client, {single.server.url()}, nullptr, traffic);
  greedy->expect(spread(kMiB, 200, 200000, 1000));
  many.gate.wait_for(12);
  // A read of the other object is sent at once. An expected range of it gets the next transfer.
  BOOST_TEST((read(*modest, 500000, 100) == single.object.substr(500000, 100)));
  modest->expect(spread(800000, 1, 1, 100));
  BOOST_TEST(many.gate.waiting() == 12);
  many.gate.open();
  BOOST_TEST(comes_true([&] { return single.server.requests() == 3; }));
  BOOST_TEST((read(*greedy, 30 * kMiB, 10) == many.object.substr(30 * kMiB, 10)));
}

BOOST_AUTO_TEST_CASE(readers_who_wait_take_turns_where_transfers_are_few) {
  Gated many(64 * kMiB);
  Served single(kMiB);
  const auto traffic = std::make_shared<Traffic>(Traffic::kDefaultBudget, 4);
  const auto client = quick_client();
  const auto greedy = RemoteObject::open(client, {many.server.url()}, nullptr, traffic);
  const auto modest = RemoteObject::open(client, {single.server.url()}, nullptr, traffic);
  std::vector<std::future<std::string>> readers;
  for (std::size_t i = 0; i < 12; i++) readers.push_back(waiting_read(*greedy, (i + 2) * 4 * kMiB));
  many.gate.wait_for(4);
  auto one = waiting_read(*modest, 500000);
  BOOST_TEST(single.server.requests() == 1);
  many.gate.open();
  BOOST_TEST((one.get() == single.object.substr(500000, 100)));
  // At most the ranges that began before, and the one that was next, came before this reader.
  BOOST_TEST(many.gate.waiting() <= 13);
  for (auto& reader : readers) BOOST_TEST(reader.get().size() == 100U);
}

// A request that waits for its retry does not occupy a transfer.
BOOST_AUTO_TEST_CASE(a_server_that_fails_does_not_keep_back_readers_of_another) {
  Served failing(64 * kMiB), sound(kMiB);
  std::mutex mutex;
  std::multiset<std::uint64_t> refused;  // the first bytes of the refused ranges
  failing.respond = [&](const HttpRequest& request) {
    if (request.first == 0) return range_of(failing.object, request, failing.headers);
    const std::lock_guard guard(mutex);
    refused.insert(request.first);
    return std::string("HTTP/1.1 503 Busy\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n");
  };
  const auto traffic = std::make_shared<Traffic>(Traffic::kDefaultBudget, 4);
  HttpSettings settings;
  settings.retry_time = std::chrono::seconds(5);
  const auto client = std::make_shared<HttpClient>(settings);
  const auto broken = RemoteObject::open(client, {failing.server.url()}, nullptr, traffic);
  const auto object = RemoteObject::open(client, {sound.server.url()}, nullptr, traffic);
  std::vector<std::future<int>> readers;
  for (std::size_t i = 0; i < 12; i++)
    readers.push_back(std::async(
        std::launch::async, [&, i] { return error_of_read(*broken, (i + 2) * 4 * kMiB, 100); }));
  const auto counts = [&] {
    const std::lock_guard guard(mutex);
    return std::pair(refused.size(),
                     std::set<std::uint64_t>(refused.begin(), refused.end()).size());
  };
  // Each range is tried once before any is retried. Then the range of the other object is sent.
  BOOST_TEST(comes_true([&] { return counts().second == 12; }));
  BOOST_TEST((read(*object, 500000, 100) == sound.object.substr(500000, 100)));
  BOOST_TEST(counts().first == 12U);
  for (auto& reader : readers) BOOST_TEST(reader.get() == EIO);
  BOOST_TEST((read(*object, 900000, 100) == sound.object.substr(900000, 100)));
}

BOOST_AUTO_TEST_CASE(who_reads_in_order_has_more_under_way_than_he_reads) {
  Served served(32 * kMiB);
  const auto traffic = std::make_shared<Traffic>();
  const auto object = served.open(nullptr, traffic);
  for (std::size_t at = 0; at < 8 * kMiB; at += 1 << 18)
    BOOST_TEST_REQUIRE((read(*object, at, 1 << 18) == served.object.substr(at, 1 << 18)));
  const TrafficNumbers numbers = traffic->numbers();
  BOOST_TEST(numbers.bytes_received + numbers.bytes_under_way >= 9 * kMiB);
  BOOST_TEST(numbers.bytes_held >= kMiB);
  BOOST_TEST(numbers.bytes_held <= traffic->budget());
}

BOOST_AUTO_TEST_CASE(what_is_ahead_of_a_reader_who_went_away_is_dropped) {
  Gated served(64 * kMiB);
  const auto traffic = std::make_shared<Traffic>();
  const auto object = served.open(nullptr, traffic);
  served.gate.open();
  for (std::size_t at = 0; at < 8 * kMiB; at += 1 << 18) read(*object, at, 1 << 18);
  BOOST_TEST(traffic->numbers().bytes_held > kMiB);
  BOOST_TEST(comes_true([&] { return traffic->numbers().bytes_held <= kMiB; }));
  BOOST_TEST(traffic->numbers().bytes_under_way == 0U);
  object->expect(spread(40 * kMiB, 3, kMiB, 500000));
  BOOST_TEST(traffic->numbers().bytes_held >= 1500000U);
  BOOST_TEST(comes_true([&] { return traffic->numbers().bytes_held <= kMiB; }));
  BOOST_TEST((read(*object, 40 * kMiB, 10) == served.object.substr(40 * kMiB, 10)));
}

BOOST_AUTO_TEST_CASE(what_is_ahead_of_a_reader_who_seeks_is_dropped_soon) {
  Served served(64 * kMiB);
  const auto object = served.open();
  const auto read_on = [&](std::size_t from) {
    for (std::size_t at = from; at < from + 4 * kMiB; at += 1 << 18) read(*object, at, 1 << 18);
  };
  const auto times_asked = [&](std::size_t at) {
    const auto seen = served.server.seen();
    return std::count_if(seen.begin(), seen.end(), [&](const HttpRequest& request) {
      return request.first <= at && at <= request.last;
    });
  };
  constexpr std::size_t kAhead = 5 * kMiB + 500000;
  read_on(kMiB);
  BOOST_TEST_REQUIRE(comes_true([&] { return times_asked(kAhead) == 1; }));
  // The expected range is dropped while other reads continue and no reader wants it.
  BOOST_TEST(comes_true([&] {
    read_on(40 * kMiB);
    return !object->is_available(spread(kAhead, 1, 1, 100));
  }));
  BOOST_TEST((read(*object, kAhead, 100) == served.object.substr(kAhead, 100)));
  BOOST_TEST(times_asked(kAhead) == 2);
}

// Expected ranges wait for memory, and a reader may want one of them at any moment.
BOOST_AUTO_TEST_CASE(who_waits_for_what_is_just_being_expected_gets_it_with_the_budget_taken) {
  constexpr int kRanges = 400, kStep = 70'000;
  Served served(30 * kMiB);
  const auto traffic = std::make_shared<Traffic>();
  traffic->hold(traffic->budget());
  for (int round = 0; round < 60; round++) {
    const auto object = served.open(nullptr, traffic);
    const auto begin = std::chrono::steady_clock::now() + microseconds(20 * round);
    auto reader = std::async(std::launch::async, [&] {
      const Interruption interruption([&] {
        if (std::chrono::steady_clock::now() > begin + std::chrono::seconds(5)) throw GivenUp();
      });
      while (std::chrono::steady_clock::now() < begin) continue;
      return read(*object, kRanges * kStep, 100);
    });
    object->expect(spread(kStep, kRanges, kStep, 1000));
    BOOST_TEST_REQUIRE((reader.get() == served.object.substr(kRanges * kStep, 100)));
  }
  traffic->released(traffic->budget());
}

BOOST_AUTO_TEST_CASE(an_object_that_goes_takes_its_transfers_with_it) {
  const auto traffic = std::make_shared<Traffic>();
  const auto client = quick_client();
  Gated served(64 * kMiB);
  auto object = RemoteObject::open(client, {served.server.url()}, nullptr, traffic);
  object->expect(spread(kMiB, 30, kMiB, 500000));
  BOOST_TEST(traffic->numbers().bytes_under_way > 0U);
  object.reset();
  BOOST_TEST(comes_true([&] { return traffic->numbers().bytes_held == 0; }));
  BOOST_TEST(traffic->numbers().bytes_under_way == 0U);
}

BOOST_AUTO_TEST_CASE(many_threads_get_the_bytes_of_the_object) {
  Served served(16 * kMiB);
  const auto traffic = std::make_shared<Traffic>(4 * kMiB, 6);
  const auto object = served.open(nullptr, traffic);
  std::vector<std::future<int>> threads;
  for (unsigned seed = 0; seed < 6; seed++)
    threads.push_back(std::async(std::launch::async, [&, seed] {
      std::mt19937 random(seed);
      int wrong = 0;
      std::size_t next = 0;
      for (int i = 0; i < 150; i++) {
        const std::size_t at = i % 3 == 0 ? random() % served.object.size() : next;
        const std::size_t size = random() % (i % 10 == 0 ? 2 * kMiB : 50000);
        if (i % 7 == 0)
          object->expect(spread(static_cast<std::int64_t>(random() % kMiB), 5, 300000, 70000));
        if (at < served.object.size() && read(*object, at, size) != served.object.substr(at, size))
          ++wrong;
        next = at + size;
      }
      return wrong;
    }));
  for (auto& thread : threads) BOOST_TEST(thread.get() == 0);
}

BOOST_AUTO_TEST_CASE(the_known_state_is_asked_for_by_its_name) {
  Served served(kMiB);
  const auto known = served.open();
  served.respond = [](const HttpRequest&) { return reply_of("304 Same", "", ""); };
  BOOST_TEST(served.open(known) == known);
  BOOST_TEST(served.server.seen().at(1).value("If-None-Match") == "\"1\"");
  Served dated(kMiB);
  dated.headers = "Last-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\n";
  const auto old = dated.open();
  dated.respond = [](const HttpRequest&) { return reply_of("304 Same", "", ""); };
  BOOST_TEST(dated.open(old) == old);
  BOOST_TEST(dated.server.seen().at(1).value("If-Modified-Since") ==
             "Wed, 21 Oct 2015 07:28:00 GMT");
  BOOST_CHECK_THROW(dated.open(), RemoteError);
}

BOOST_AUTO_TEST_SUITE_END()
