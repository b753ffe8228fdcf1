// Reads remote objects: with few requests, and always from one state.

#include <random>
#include <thread>

#include <boost/test/unit_test.hpp>

#include "frame/remote/remote_error.hpp"
#include "tests/remote/served_object.hpp"

namespace {

using namespace bloscfs::frame;
using namespace bloscfs::test;

constexpr std::size_t kWindow = 64 << 10;

}  // namespace

BOOST_AUTO_TEST_SUITE(remote_object)

BOOST_AUTO_TEST_CASE(small_objects_come_with_one_request) {
  Served served(kWindow);
  const auto object = served.open();
  BOOST_TEST(object->is_in_memory());
  BOOST_TEST((read(*object, 0, kWindow) == served.object));
  BOOST_TEST((read(*object, 100, 1 << 20) == served.object.substr(100)));
  BOOST_TEST(read(*object, kWindow, 1).empty());
  BOOST_TEST(read(*object, ~std::uint64_t{0}, 1).empty());
  BOOST_TEST(served.server.requests() == 1);
  BOOST_TEST(object->stamp().size == std::ssize(served.object));
  BOOST_TEST(object->stamp().mtime_s == 1445412480);
}

BOOST_AUTO_TEST_CASE(an_object_in_the_known_state_is_given_back) {
  Served served(1 << 20);
  const auto known = served.open();
  BOOST_TEST(known->state().tag == "\"1\"");
  BOOST_TEST(known->state().size == served.object.size());
  BOOST_TEST(known->state().modified == 1445412480);
  BOOST_TEST(served.open(known) == known);
  served.headers = "ETag: \"2\"\r\n";
  const auto other = served.open(known);
  BOOST_TEST(other != known);
  BOOST_TEST(!other->state().same_bytes(known->state()));
  BOOST_TEST(served.server.requests() == 3);
}

BOOST_AUTO_TEST_CASE(states_without_a_name_are_told_apart_by_what_is_seen) {
  // Compares all bytes of a small object, and the beginning of a large one.
  for (const std::size_t size : {std::size_t{1000}, kMiB}) {
    Served served(size);
    served.headers = "";
    const auto known = served.open();
    BOOST_TEST(served.open()->state().same_bytes(known->state()));
    BOOST_TEST(served.open(known) == known);
    served.object[5] ^= 1;
    BOOST_TEST(!served.open(known)->state().same_bytes(known->state()));
    served.object[5] ^= 1;
    served.object += "more";
    BOOST_TEST(!served.open(known)->state().same_bytes(known->state()));
  }
}

BOOST_AUTO_TEST_CASE(an_object_without_a_name_is_read_until_it_has_another_length) {
  Served served(kMiB);
  served.headers = "";
  const auto object = served.open();
  BOOST_TEST((read(*object, kMiB / 2, 100) == served.object.substr(kMiB / 2, 100)));
  served.object += "more";
  BOOST_TEST(error_of_read(*object, 3 * kMiB / 4, 100) == EIO);
}

BOOST_AUTO_TEST_CASE(small_reads_nearby_share_a_request) {
  Served served(1 << 20);
  const auto object = served.open();
  BOOST_TEST(!object->is_in_memory());
  BOOST_TEST((read(*object, 0, 5000) == served.object.substr(0, 5000)));
  BOOST_TEST(served.server.requests() == 1);
  for (const std::size_t at : {300000U, 300100U, 262144U, 320000U})
    BOOST_TEST((read(*object, at, 100) == served.object.substr(at, 100)));
  BOOST_TEST(served.server.requests() == 2);
  // A read across the border of two windows, and reads at the end and shortly before it.
  BOOST_TEST((read(*object, 5 * kWindow - 50, 100) == served.object.substr(5 * kWindow - 50, 100)));
  BOOST_TEST(served.server.requests() == 3);
  BOOST_TEST((read(*object, (1 << 20) - 10, 100) == served.object.substr((1 << 20) - 10)));
  BOOST_TEST((read(*object, (1 << 20) - 60000, 10) == served.object.substr((1 << 20) - 60000, 10)));
  BOOST_TEST(served.server.requests() == 4);
}

BOOST_AUTO_TEST_CASE(who_reads_on_gets_more_at_once) {
  Served served((8 << 20) + 77);
  const auto object = served.open();
  std::string all;
  for (std::string part; !(part = read(*object, all.size(), 10007)).empty();) all += part;
  BOOST_TEST((all == served.object));
  BOOST_TEST(served.server.requests() < 30);
  std::uint64_t fetched = 0;
  for (const HttpRequest& request : served.server.seen())
    fetched += std::min<std::uint64_t>(request.last + 1, all.size()) - request.first;
  BOOST_TEST(fetched <= all.size() + kWindow);
}

BOOST_AUTO_TEST_CASE(little_is_fetched_ahead_of_a_reader_that_skips_half) {
  Served served(16 << 20);
  const auto object = served.open();
  constexpr std::size_t kPiece = 100'000;
  std::size_t taken = 0;
  for (std::size_t at = 0; at + 2 * kPiece <= served.object.size(); at += 4 * kPiece)
    for (const std::size_t piece : {at, at + kPiece}) taken += read(*object, piece, kPiece).size();
  std::uint64_t fetched = 0;
  for (const HttpRequest& request : served.server.seen())
    fetched += std::min<std::uint64_t>(request.last + 1, served.object.size()) - request.first;
  BOOST_TEST(fetched <= taken + (3U << 20));
}

BOOST_AUTO_TEST_CASE(any_reads_give_the_bytes_of_the_object) {
  Served served(3 << 20);
  const auto object = served.open();
  std::mt19937 random(1);
  for (int i = 0; i < 300; i++) {
    const std::size_t at = random() % served.object.size();
    const std::size_t size = random() % (i % 3 == 0 ? 2 << 20 : 5000);
    BOOST_TEST_REQUIRE((read(*object, at, size) == served.object.substr(at, size)));
  }
}

BOOST_AUTO_TEST_CASE(large_reads_go_in_ranges_side_by_side) {
  Served served((20 << 20) + 5);
  const auto object = served.open();
  BOOST_TEST((read(*object, 3, 20 << 20) == served.object.substr(3, 20 << 20)));
  BOOST_TEST(served.server.requests() == 4);
}

BOOST_AUTO_TEST_CASE(threads_that_want_one_window_wait_for_one_request) {
  Served served(1 << 20);
  const auto object = served.open();
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (std::size_t i = 0; i < 8; i++)
    threads.emplace_back([&, i] {
      const std::size_t at = 500000 + i;
      if (read(*object, at, 100) == served.object.substr(at, 100)) ++right;
    });
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(right == 8);
  BOOST_TEST(served.server.requests() == 2);
}

BOOST_AUTO_TEST_CASE(conditions_name_the_state_that_was_opened) {
  Served strong(1 << 20);
  read(*strong.open(), 500000, 1);
  BOOST_TEST(strong.server.seen().at(0).value("If-Match").empty());
  BOOST_TEST(strong.server.seen().at(1).value("If-Match") == "\"1\"");
  Served weak(1 << 20);
  weak.headers = "ETag: W/\"1\"\r\nLast-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\n";
  read(*weak.open(), 500000, 1);
  BOOST_TEST(weak.server.seen().at(1).value("If-Match").empty());
  BOOST_TEST(weak.server.seen().at(1).value("If-Unmodified-Since") ==
             "Wed, 21 Oct 2015 07:28:00 GMT");
}

BOOST_AUTO_TEST_CASE(another_state_is_an_error_also_where_conditions_are_ignored) {
  const auto error_after = [](const std::function<void(Served&)>& change) {
    Served served(1 << 20);
    const auto object = served.open();
    read(*object, 200000, 10);
    change(served);
    // Bytes that were read before stay readable.
    BOOST_TEST(error_of_read(*object, 200000, 10) == 0);
    return error_of_read(*object, 500000, 10);
  };
  BOOST_TEST(error_after([](Served&) {}) == 0);
  BOOST_TEST(error_after([](Served& served) { served.headers = "ETag: \"2\"\r\n"; }) == EIO);
  BOOST_TEST(error_after([](Served& served) { served.headers = ""; }) == EIO);
  BOOST_TEST(error_after([](Served& served) { served.object += "x"; }) == EIO);
  BOOST_TEST(error_after([](Served& served) { served.object.resize(600000); }) == EIO);
  BOOST_TEST(error_after([](Served& served) {
               served.respond = [](const HttpRequest&) { return reply_of("412 No", "", ""); };
             }) == EIO);
  BOOST_TEST(error_after([](Served& served) {
               served.respond = [](const HttpRequest&) {
                 return reply_of("416 No", "Content-Range: bytes */10\r\n", "");
               };
             }) == EIO);
}

BOOST_AUTO_TEST_CASE(what_failed_is_asked_for_again) {
  Served served(1 << 20);
  const auto object = served.open();
  served.respond = [](const HttpRequest&) { return reply_of("500 Oops", "", ""); };
  BOOST_TEST(error_of_read(*object, 500000, 10) == EIO);
  BOOST_TEST(error_of_read(*object, 500000, 1 << 18) == EIO);
  served.respond = {};
  BOOST_TEST(error_of_read(*object, 500000, 10) == 0);
  BOOST_TEST(error_of_read(*object, 500000, 1 << 18) == 0);
}

BOOST_AUTO_TEST_CASE(servers_without_ranges_give_what_is_small) {
  Served served(1 << 20);
  served.respond = [&](const HttpRequest&) { return reply_of("200 OK", "", served.object); };
  const auto object = served.open();
  BOOST_TEST(object->is_in_memory());
  BOOST_TEST((read(*object, 500000, 10) == served.object.substr(500000, 10)));
  served.object.resize(9 << 20);
  BOOST_CHECK_THROW(served.open(), RemoteError);
}

BOOST_AUTO_TEST_CASE(empty_objects_can_be_opened) {
  Served served(1);
  served.respond = [](const HttpRequest& request) {
    return request.value("Range").empty() ? reply_of("200 OK", "", "")
                                          : reply_of("416 No", "Content-Range: bytes */0\r\n", "");
  };
  BOOST_TEST(served.open()->size() == 0U);
  served.respond = [](const HttpRequest&) { return reply_of("200 OK", "", ""); };
  BOOST_TEST(served.open()->size() == 0U);
  served.respond = [](const HttpRequest&) {
    return reply_of("416 No", "Content-Range: bytes */7\r\n", "");
  };
  BOOST_CHECK_THROW(served.open(), RemoteError);
}

BOOST_AUTO_TEST_CASE(an_empty_object_that_is_removed_between_two_answers_is_not_there) {
  Served served(1);
  for (const char* told : {"", "Content-Range: bytes */0\r\n"}) {
    served.respond = [told](const HttpRequest& request) {
      return request.value("Range").empty() ? reply_of("404 Gone", "", "")
                                            : reply_of("416 No", told, "");
    };
    BOOST_CHECK_EXCEPTION(served.open(), RemoteError, [](const RemoteError& error) {
      return error.code() == std::errc::no_such_file_or_directory;
    });
  }
}

BOOST_AUTO_TEST_CASE(where_redirects_led_is_remembered_while_it_works) {
  Served served(1 << 20);
  std::string target = "/one";
  served.respond = [&](const HttpRequest& request) {
    if (request.head.starts_with("GET /x "))
      return reply_of("307 There", "Location: " + target + "\r\n", "");
    if (!request.head.starts_with("GET " + target + " ")) return reply_of("403 Late", "", "");
    return range_of(served.object, request, served.headers);
  };
  const auto object = served.open();
  BOOST_TEST(error_of_read(*object, 500000, 10) == 0);
  BOOST_TEST(served.server.requests() == 3);
  target = "/two";
  BOOST_TEST(error_of_read(*object, 700000, 10) == 0);
  BOOST_TEST(served.server.requests() == 6);
  BOOST_TEST(error_of_read(*object, 900000, 10) == 0);
  BOOST_TEST(served.server.requests() == 7);
}

BOOST_AUTO_TEST_SUITE_END()
