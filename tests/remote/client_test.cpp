// Tests the HTTP client with servers that fail, lie, stall, or send without end.

#include <future>

#include <boost/test/unit_test.hpp>

#include "frame/remote/http_client.hpp"
#include "frame/remote/remote_error.hpp"
#include "frame/store/wait_context.hpp"
#include "tests/remote/scripted_server.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/pause.hpp"
#include "tests/support/set_clock.hpp"

namespace {

using namespace bloscfs::frame;
using namespace bloscfs::test;

using std::chrono::milliseconds;

const std::string kObject(1000, 'o');

HttpSettings quick(int retry_ms = 3000) {
  HttpSettings settings;
  settings.retry_time = milliseconds(retry_ms);
  settings.stall_time = std::chrono::seconds(1);
  return settings;
}

RangeRequest some_of(const Url& url, std::uint64_t offset = 0, std::uint32_t size = 100) {
  RangeRequest request;
  request.place.url = url;
  request.offset = offset;
  request.size = size;
  return request;
}

struct Outcome {
  int error = 0;
  std::string text;
  HttpAnswer answer;
};

Outcome outcome_of(HttpClient& client, const RangeRequest& request) {
  Outcome outcome;
  try {
    outcome.answer = client.send(request).wait();
  } catch (const RemoteError& error) {
    outcome.error = error.code().value();
    outcome.text = error.explanation();
  }
  return outcome;
}

Outcome outcome_with(const ScriptedServer::Answer& answer, int retry_ms = 0) {
  ScriptedServer server(answer);
  HttpClient client(quick(retry_ms));
  return outcome_of(client, some_of(server.url()));
}

/// Returns the outcome of a request to a server that always answers with `bytes`.
Outcome outcome_of_bytes(const std::string& bytes, int retry_ms = 0) {
  return outcome_with([&](const HttpRequest&) { return HttpReply{bytes, {}, true}; }, retry_ms);
}

std::string partial(const std::string& range, const std::string& body,
                    const std::string& more = {}) {
  return reply_of("206 Partial Content", "Content-Range: " + range + "\r\n" + more, body);
}

const std::string kHundred(100, 'o');

/// Makes the client retry without waiting.
struct JumpingRetries {
  JumpingClock clock;
  const WaitClock waits{clock};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(http_client, JumpingRetries)

BOOST_AUTO_TEST_CASE(ranges_come_on_one_connection) {
  ScriptedServer server([](const HttpRequest& request) {
    return HttpReply{range_of(kObject, request), {}, false};
  });
  HttpClient client(quick());
  for (const std::uint64_t offset : {0U, 500U, 950U}) {
    const HttpAnswer answer = client.send(some_of(server.url("/a?b"), offset)).wait();
    BOOST_TEST(answer.body.size() == std::min<std::size_t>(100, kObject.size() - offset));
    BOOST_TEST(answer.headers.etag == "\"1\"");
    BOOST_TEST(answer.headers.range->total == kObject.size());
  }
  const auto seen = server.seen();
  BOOST_TEST_REQUIRE(seen.size() == 3U);
  BOOST_TEST(seen[1].head.starts_with("GET /a?b HTTP/1.1\r\n"));
  BOOST_TEST(seen[1].value("Range") == "bytes=500-599");
  BOOST_TEST(seen[1].value("Accept-Encoding") == "identity");
}

BOOST_AUTO_TEST_CASE(conditions_are_sent_and_their_failure_is_an_answer) {
  ScriptedServer server([](const HttpRequest&) {
    return HttpReply{reply_of("412 Precondition Failed", "", "no"), {}, false};
  });
  HttpClient client(quick());
  RangeRequest request = some_of(server.url());
  request.if_match = "\"7\"";
  const HttpAnswer answer = client.send(request).wait();
  BOOST_TEST(answer.headers.status == 412);
  BOOST_TEST(answer.body.empty());
  BOOST_TEST(server.seen().at(0).value("If-Match") == "\"7\"");
}

BOOST_AUTO_TEST_CASE(what_passes_is_tried_again_and_told_once) {
  std::atomic<int> warnings{0}, ends{0};
  ScriptedServer server([](const HttpRequest& request) {
    if (request.number < 2) return HttpReply{reply_of("503 Busy", "", "busy"), {}, false};
    if (request.number == 2) return HttpReply{"", {}, true};
    if (request.number == 3) {
      const std::string whole = range_of(kObject, request);
      return HttpReply{whole.substr(0, whole.size() - 10), {}, true};
    }
    return HttpReply{range_of(kObject, request), {}, false};
  });
  HttpSettings settings = quick(20000);
  settings.notice = [&](const std::string& text) {
    BOOST_TEST(text.find("secret") == std::string::npos);
    ++(text.find("HTTP status 503") != std::string::npos ? warnings : ends);
  };
  HttpClient client(settings);
  const HttpAnswer answer = client.send(some_of(server.url("/x?secret"))).wait();
  BOOST_TEST(answer.body.size() == 100U);
  BOOST_TEST(server.requests() == 5);
  BOOST_TEST(warnings == 1);
  BOOST_TEST(ends == 1);
}

BOOST_AUTO_TEST_CASE(an_answer_whose_head_was_cut_off_is_tried_again) {
  const std::size_t head = partial("bytes 0-99/1000", kHundred).find("\r\n\r\n") + 4;
  for (std::size_t size = 1; size < head; size++) {
    ScriptedServer server([&](const HttpRequest& request) {
      const std::string whole = range_of(kObject, request);
      return request.number == 0 ? HttpReply{whole.substr(0, size), {}, true}
                                 : HttpReply{whole, {}, false};
    });
    HttpClient client(quick(20000));
    const Outcome outcome = outcome_of(client, some_of(server.url()));
    BOOST_TEST(outcome.error == 0, "after " << size << " bytes of the head");
    BOOST_TEST(outcome.answer.body.size() == 100U);
  }
}

BOOST_AUTO_TEST_CASE(statuses_have_their_errors) {
  const auto error_of = [](const std::string& status) {
    return outcome_of_bytes(reply_of(status, "", "text"), 500).error;
  };
  BOOST_TEST(error_of("404 Not Found") == ENOENT);
  BOOST_TEST(error_of("410 Gone") == ENOENT);
  BOOST_TEST(error_of("401 Who") == EACCES);
  BOOST_TEST(error_of("403 No") == EACCES);
  BOOST_TEST(error_of("400 Bad") == EIO);
  BOOST_TEST(error_of("204 Nothing") == EIO);
  BOOST_TEST(error_of("304 Same") == EIO);
  BOOST_TEST(outcome_of_bytes("HTTP/1.1 404 No\r\nContent-Length: 9\r\n\r\nx", 500).error ==
             ENOENT);
  BOOST_TEST(error_of("500 Oops") == EIO);
  BOOST_TEST(error_of("429 Slow") == EIO);
}

BOOST_AUTO_TEST_CASE(without_any_answer_it_is_a_timeout) {
  HttpClient client(quick(300));
  const std::string nobody = "http://127.0.0.1:" + std::to_string(free_port()) + "/";
  const Outcome outcome = outcome_of(client, some_of(parse_url(nobody)));
  BOOST_TEST(outcome.error == ETIMEDOUT);
  BOOST_TEST(outcome.text.find(" (Connection refused), tried ") != std::string::npos, outcome.text);
}

BOOST_AUTO_TEST_CASE(a_server_that_says_nothing_is_left) {
  const Outcome outcome = outcome_with([](const HttpRequest& request) {
    return HttpReply{range_of(kObject, request), std::chrono::seconds(30), false};
  });
  BOOST_TEST(outcome.error == ETIMEDOUT);
}

BOOST_AUTO_TEST_CASE(retry_after_is_obeyed_and_bounded) {
  ScriptedServer server([](const HttpRequest& request) {
    if (request.number == 0)
      return HttpReply{reply_of("429 Slow", "Retry-After: 1\r\n", ""), {}, false};
    return HttpReply{range_of(kObject, request), {}, false};
  });
  HttpClient client(quick(5000));
  BOOST_TEST(outcome_of(client, some_of(server.url())).error == 0);
  BOOST_TEST((clock.passed() == std::chrono::seconds(1)));

  const auto late = outcome_of_bytes(reply_of("503 No", "Retry-After: 100000000000\r\n", ""), 5000);
  BOOST_TEST(late.error == EIO);
  // A wait that is longer than the time for retries ends with that time, and one more try.
  ScriptedServer busy_once([](const HttpRequest& request) {
    if (request.number == 0)
      return HttpReply{reply_of("503 Busy", "Retry-After: 1000000000\r\n", ""), {}, false};
    return HttpReply{range_of(kObject, request), {}, false};
  });
  HttpClient waiting_client(quick(5000));
  BOOST_TEST(outcome_of(waiting_client, some_of(busy_once.url())).error == 0);
}

BOOST_AUTO_TEST_CASE(an_outage_is_told_once_and_its_end_too) {
  ScriptedServer server([](const HttpRequest& request) {
    if (request.number < 3) return HttpReply{reply_of("503 Busy", "", ""), {}, false};
    return HttpReply{range_of(kObject, request), {}, false};
  });
  std::vector<std::string> told;
  HttpSettings settings = quick(60000);
  settings.notice = [&](const std::string& text) { told.push_back(text); };
  HttpClient client(settings);
  BOOST_TEST(outcome_of(client, some_of(server.url())).error == 0);
  BOOST_TEST(outcome_of(client, some_of(server.url())).error == 0);
  BOOST_TEST_REQUIRE(told.size() == 2U);
  BOOST_TEST(told[0].ends_with(": retrying for up to 60 s"), told[0]);
  BOOST_TEST(told[1].ends_with(": answers again"), told[1]);
}

BOOST_AUTO_TEST_CASE(ranges_that_were_not_asked_for_are_errors) {
  const std::string more(101, 'o');
  for (const std::string& bytes :
       {partial("bytes 1-100/1000", kHundred), partial("bytes 0-98/1000", kHundred.substr(1)),
        partial("bytes 0-199/1000", kHundred + kHundred), partial("bytes 0-99/1000", more),
        partial("bytes 0-99/*", kHundred), partial("bytes 0-99/50", kHundred),
        partial("bytes 0-49/50", kHundred), partial("items 0-99/1000", kHundred),
        partial("bytes 0-99/1000", kHundred, "Content-Encoding: gzip\r\n"),
        reply_of("206 Partial Content", "", kHundred),
        reply_of("206 Partial Content", "Content-Type: multipart/byteranges; boundary=x\r\n",
                 "--x\r\n"),
        reply_of("200 OK", "", kHundred)})
    BOOST_TEST(outcome_of_bytes(bytes).error == EIO, bytes);
}

BOOST_AUTO_TEST_CASE(a_compressed_answer_is_named) {
  for (const std::string& bytes :
       {partial("bytes 0-99/1000", kHundred, "Content-Encoding: gzip\r\n"),
        partial("bytes 0-99/1000", kHundred + kHundred, "Content-Encoding: gzip\r\n"),
        reply_of("200 OK", "Content-Encoding: br\r\n", kObject)}) {
    const std::string text = outcome_of_bytes(bytes).text;
    BOOST_TEST(text.find("the server compresses the answer") != std::string::npos, text);
  }
}

BOOST_AUTO_TEST_CASE(a_length_that_is_none_is_named) {
  for (const char* length : {"-5", "many", "9223372036854775808", "99999999999999999999", "5x"}) {
    const Outcome outcome = outcome_of_bytes(
        fmt::format(
            "HTTP/1.1 206 X\r\nContent-Range: bytes 0-99/1000\r\nContent-Length: {}\r\n\r\n",
            length) +
        kHundred);
    BOOST_TEST(outcome.error == EIO, length);
    BOOST_TEST(outcome.text.find("Content-Length") != std::string::npos, outcome.text);
  }
}

BOOST_AUTO_TEST_CASE(answers_that_are_none_are_errors) {
  for (const std::string& bytes :
       {std::string("SSH-2.0-OpenSSH\r\n"), std::string("\0\0\0\0", 4),
        std::string("HTTP/1.1\r\n\r\n"), std::string("HTTP/1.1 999999999999 X\r\n\r\n"),
        std::string("HTTP/1.1 206 X\r\nContent-Length: -5\r\n\r\n"),
        std::string("HTTP/1.1 206 X\r\nContent-Length: 99999999999999999999\r\n\r\n"),
        std::string("HTTP/1.1 206 X\r\nTransfer-Encoding: chunked\r\n"
                    "Content-Range: bytes 0-99/1000\r\n\r\nzz\r\n")})
    BOOST_TEST(outcome_of_bytes(bytes).error != 0, bytes);
}

BOOST_AUTO_TEST_CASE(whole_objects_are_taken_up_to_the_size_given) {
  ScriptedServer server([](const HttpRequest&) {
    return HttpReply{reply_of("200 OK", "", kObject), {}, false};
  });
  HttpClient client(quick(0));
  RangeRequest request = some_of(server.url());
  request.whole_size = 1000;
  BOOST_TEST(outcome_of(client, request).answer.body.size() == 1000U);
  request.whole_size = 999;
  const Outcome outcome = outcome_of(client, request);
  BOOST_TEST(outcome.error == EIO);
  BOOST_TEST(outcome.text.find("sends no ranges") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(endless_answers_end) {
  std::string headers;
  for (int i = 0; i < 100000; i++) headers += "X-" + std::to_string(i) + ": some more of it\r\n";
  BOOST_TEST(outcome_of_bytes("HTTP/1.1 206 X\r\n" + headers + "\r\n").error == EIO);
  BOOST_TEST(outcome_of_bytes("HTTP/1.1 206 X\r\nX: " + std::string(2 << 20, 'x')).error == EIO);
  const std::string body(4 << 20, 'x');
  const std::string no_length = "HTTP/1.1 206 X\r\nContent-Range: bytes 0-99/1000\r\n\r\n";
  BOOST_TEST(outcome_of_bytes(no_length + body).error == EIO);
  BOOST_TEST(outcome_of_bytes("HTTP/1.1 404 X\r\n\r\n" + body).error == ENOENT);
  BOOST_TEST(outcome_of_bytes("HTTP/1.1 302 X\r\nLocation: /y\r\n\r\n" + body).error == EIO);
  std::string interim;
  for (int i = 0; i < 50000; i++) interim += "HTTP/1.1 103 X\r\nLink: x\r\n\r\n";
  BOOST_TEST(outcome_of_bytes(interim).error == EIO);
}

BOOST_AUTO_TEST_CASE(five_redirects_are_followed) {
  ScriptedServer server([](const HttpRequest& request) {
    const auto at = std::stoi(request.head.substr(std::string("GET /").size()));
    if (at == 0) return HttpReply{range_of(kObject, request), {}, false};
    const std::string target = "Location: /" + std::to_string(at - 1) + "\r\n";
    return HttpReply{reply_of("302 Found", target, "moved"), {}, false};
  });
  HttpClient client(quick(0));
  const Outcome good = outcome_of(client, some_of(server.url("/5")));
  BOOST_TEST(good.error == 0);
  BOOST_TEST(good.answer.place.url.path == "/0");
  BOOST_TEST((good.answer.place.reach == Reach::own_host));
  BOOST_TEST(outcome_of(client, some_of(server.url("/6"))).error == EIO);
}

BOOST_AUTO_TEST_CASE(redirects_to_what_is_no_url_of_ours_are_refused) {
  for (const std::string target :
       {"ftp://127.0.0.1/x", "http://me:secret@127.0.0.1/", "file:///etc/passwd",
        "http://127.0.0.1:99999/", "", "http:///", "javascript:1"}) {
    const Outcome outcome =
        outcome_of_bytes(reply_of("302 Found", "Location: " + target + "\r\n", ""));
    BOOST_TEST(outcome.error == EIO, target);
    BOOST_TEST(outcome.text.find("secret") == std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(nothing_on_this_host_is_reached_from_outside) {
  ScriptedServer server([](const HttpRequest& request) {
    return HttpReply{range_of(kObject, request), {}, false};
  });
  HttpClient client(quick(0));
  // An open connection to this host does not bypass the check.
  BOOST_TEST(outcome_of(client, some_of(server.url())).error == 0);
  for (const Reach reach : {Reach::private_network, Reach::everywhere}) {
    RangeRequest request = some_of(server.url());
    request.place.reach = reach;
    const Outcome outcome = outcome_of(client, request);
    BOOST_TEST(outcome.error == EIO);
    BOOST_TEST(outcome.text.find("a redirect into a private network") != std::string::npos);
    HttpClient other(quick(0));
    BOOST_TEST(outcome_of(other, request).error == EIO);
  }
  BOOST_TEST(server.requests() == 1);
}

BOOST_AUTO_TEST_CASE(cancelling_ends_the_wait_at_once) {
  ScriptedServer server([](const HttpRequest&) {
    return HttpReply{"", std::chrono::seconds(30), true};
  });
  HttpSettings settings = quick(60000);
  settings.stall_time = std::chrono::seconds(60);
  HttpClient client(settings);
  PendingAnswer pending = client.send(some_of(server.url()));
  auto error = std::async(std::launch::async, [&] {
    try {
      pending.wait();
    } catch (const RemoteError& problem) {
      return problem.code().value();
    }
    return 0;
  });
  comes_true([&] { return server.requests() > 0; });
  pending.cancel();
  BOOST_TEST(error.get() == ECANCELED);
}

BOOST_AUTO_TEST_CASE(the_end_of_the_client_ends_what_is_under_way) {
  ScriptedServer server([](const HttpRequest&) {
    return HttpReply{"", std::chrono::seconds(30), true};
  });
  std::vector<PendingAnswer> pending;
  {
    HttpSettings settings = quick();
    settings.connections = 2;
    HttpClient client(settings);
    for (int i = 0; i < 5; i++) pending.push_back(client.send(some_of(server.url())));
  }
  for (PendingAnswer& some : pending) BOOST_CHECK_THROW(some.wait(), RemoteError);
}

BOOST_AUTO_TEST_CASE(no_more_connections_than_allowed) {
  std::atomic<int> now{0}, most{0};
  ScriptedServer server([&](const HttpRequest& request) {
    most = std::max<int>(most, ++now);
    simulate_delay(milliseconds(20));
    --now;
    return HttpReply{range_of(kObject, request), {}, false};
  });
  HttpSettings settings = quick();
  settings.connections = 3;
  HttpClient client(settings);
  std::vector<PendingAnswer> pending;
  for (int i = 0; i < 20; i++) pending.push_back(client.send(some_of(server.url())));
  for (PendingAnswer& some : pending) BOOST_TEST(some.wait().body.size() == 100U);
  BOOST_TEST(most > 1);
  BOOST_TEST(most <= 3);
}

BOOST_AUTO_TEST_CASE(heads_are_acknowledged_at_once) {
  ScriptedServer server([&](const HttpRequest& request) {
    return HttpReply{range_of(kObject, request), {}, false, true};
  });
  HttpClient client(quick());
  // By default, the kernel delays acknowledgements by 40 ms on a connection with short requests.
  int late = 0;
  for (int i = 0; i < 40; i++) {
    const auto begin = std::chrono::steady_clock::now();
    BOOST_TEST(outcome_of(client, some_of(server.url())).error == 0);
    if (std::chrono::steady_clock::now() - begin >= milliseconds(35)) late++;
  }
  BOOST_TEST(late < 20);
}

BOOST_AUTO_TEST_SUITE_END()
