// Tests requests other than for ranges: bodies, conditions, credentials, whole answers.

#include <fstream>

#include <boost/test/unit_test.hpp>

#include "frame/remote/http_client.hpp"
#include "frame/remote/remote_error.hpp"
#include "frame/remote/remote_settings.hpp"
#include "tests/remote/scripted_server.hpp"

namespace {

using namespace bloscfs::frame;
using namespace bloscfs::test;

HttpSettings hasty(int retry_ms = 0) {
  HttpSettings settings;
  settings.retry_time = std::chrono::milliseconds(retry_ms);
  return settings;
}

WebRequest request_to(const Url& url, HttpMethod method = HttpMethod::get) {
  WebRequest request;
  request.place.url = url;
  request.method = method;
  request.whole_size = 1 << 20;
  return request;
}

int error_of(HttpClient& client, const WebRequest& request) {
  try {
    client.send(request).wait();
  } catch (const RemoteError& error) {
    return error.code().value();
  }
  return 0;
}

ScriptedServer::Answer always(const std::string& bytes, bool close = false) {
  return [=](const HttpRequest&) { return HttpReply{bytes, {}, close}; };
}

std::string text_of(const HttpAnswer& answer) { return {answer.body.begin(), answer.body.end()}; }

/// A signer whose signature shows the method, the number of headers, and the number of the attempt.
class FakeSigner : public RequestSigner {
 public:
  std::vector<HttpHeader> sign(const WebRequest& request,
                               const std::vector<HttpHeader>& headers) const override {
    const std::string count = std::to_string(headers.size());
    return {{"Authorization", name_of(request.method) + count + std::to_string(++attempts)}};
  }
  mutable std::atomic<int> attempts{0};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(requests)

BOOST_AUTO_TEST_CASE(bodies_and_headers_are_sent_by_all_methods) {
  ScriptedServer server(always(reply_of("200 OK", "ETag: \"new\"\r\nX-Amz-Meta-A: b\r\n", "done")));
  HttpClient client(hasty());
  const std::string large(300000, 'b');
  WebRequest put = request_to(server.url("/a?b"), HttpMethod::put);
  put.body.assign(large.begin(), large.end());
  put.headers = {{"X-Empty", ""}, {"Content-Type", "a/b"}};
  put.if_match = "bare";
  const HttpAnswer answer = client.send(put).wait();
  BOOST_TEST(answer.headers.etag == "\"new\"");
  BOOST_TEST(answer.headers.field("x-amz-meta-a") == "b");
  BOOST_TEST(answer.headers.field("content-length") == "4");
  BOOST_TEST(text_of(answer) == "done");
  for (const HttpMethod method : {HttpMethod::post, HttpMethod::remove, HttpMethod::put})
    BOOST_TEST(error_of(client, request_to(server.url(), method)) == 0);
  const auto seen = server.seen();
  BOOST_TEST_REQUIRE(seen.size() == 4U);
  BOOST_TEST(seen[0].head.starts_with("PUT /a?b HTTP/1.1\r\n"));
  BOOST_TEST((seen[0].body == large));
  BOOST_TEST(seen[0].value("If-Match") == "bare");
  BOOST_TEST(seen[0].value("Content-Type") == "a/b");
  BOOST_TEST(seen[0].head.find("X-Empty:\r\n") != std::string::npos);
  BOOST_TEST(seen[0].value("Expect").empty());
  BOOST_TEST(seen[0].value("Range").empty());
  BOOST_TEST(seen[1].head.starts_with("POST /"));
  BOOST_TEST(seen[1].head.find("form") == std::string::npos);
  BOOST_TEST(seen[2].head.starts_with("DELETE /"));
  BOOST_TEST(seen[3].value("Content-Length") == "0");
}

BOOST_AUTO_TEST_CASE(nothing_forges_headers) {
  ScriptedServer server(always(reply_of("200 OK", "", "")));
  HttpClient client(hasty());
  WebRequest request = request_to(server.url());
  request.headers = {{"X", "a\r\nY: b"}};
  BOOST_TEST(error_of(client, request) == EIO);
  BOOST_TEST(server.requests() == 0);
}

BOOST_AUTO_TEST_CASE(what_is_asked_for_by_a_condition_may_be_the_same) {
  ScriptedServer server(always("HTTP/1.1 304 Same\r\nETag: \"1\"\r\n\r\n"));
  HttpClient client(hasty());
  WebRequest request = request_to(server.url());
  request.if_none_match = "\"1\"";
  BOOST_TEST(client.send(request).wait().headers.status == 304);
  BOOST_TEST(server.seen().at(0).value("If-None-Match") == "\"1\"");
  request.if_none_match.clear();
  BOOST_TEST(error_of(client, request) == EIO);
}

BOOST_AUTO_TEST_CASE(changes_are_answered_by_conflicts_and_fail_by_the_rest) {
  for (const auto& [status, error] : std::vector<std::pair<std::string, int>>{{"201 Made", 0},
                                                                              {"204 Gone", 0},
                                                                              {"409 Busy", 0},
                                                                              {"412 Other", 0},
                                                                              {"404 No", ENOENT},
                                                                              {"403 No", EACCES},
                                                                              {"400 Bad", EIO},
                                                                              {"304 Same", EIO},
                                                                              {"500 Oops", EIO}}) {
    ScriptedServer server(always(reply_of(status, "", "")));
    HttpClient client(hasty());
    BOOST_TEST(error_of(client, request_to(server.url(), HttpMethod::put)) == error, status);
  }
}

BOOST_AUTO_TEST_CASE(errors_can_be_taken_with_what_they_say) {
  ScriptedServer server(always(reply_of("404 No", "", "NoSuchThing")));
  HttpClient client(hasty());
  WebRequest request = request_to(server.url());
  request.takes_errors = true;
  const HttpAnswer answer = client.send(request).wait();
  BOOST_TEST(answer.headers.status == 404);
  BOOST_TEST(text_of(answer) == "NoSuchThing");
  ScriptedServer busy(always(reply_of("503 Busy", "", "")));
  BOOST_TEST(error_of(client, request_to(busy.url())) == EIO);
}

BOOST_AUTO_TEST_CASE(whole_answers_end_where_they_say) {
  const auto error_with = [](const std::string& bytes) {
    ScriptedServer server(always(bytes, true));
    HttpClient client(hasty());
    return error_of(client, request_to(server.url()));
  };
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
  BOOST_TEST(error_with(chunked + "0\r\n\r\n") == 0);
  BOOST_TEST(error_with(chunked) != 0);
  BOOST_TEST(error_with("HTTP/1.1 200 OK\r\n\r\nabc") == EIO);
  BOOST_TEST(error_with(reply_of("200 OK", "", std::string(1 << 20, 'x'))) == 0);
  BOOST_TEST(error_with(reply_of("200 OK", "", std::string((1 << 20) + 1, 'x'))) == EIO);
  BOOST_TEST(error_with(reply_of("206 Part", "Content-Range: bytes 0-2/3\r\n", "abc")) == EIO);
}

BOOST_AUTO_TEST_CASE(what_must_not_be_done_twice_is_tried_once) {
  ScriptedServer server([](const HttpRequest& request) {
    return HttpReply{request.number == 0 ? reply_of("200 OK", "", "") : "", {}, request.number > 0};
  });
  HttpClient client(hasty(2000));
  // The client keeps this connection. The server closes it at the next request.
  BOOST_TEST(error_of(client, request_to(server.url())) == 0);
  WebRequest request = request_to(server.url(), HttpMethod::post);
  request.retries = false;
  BOOST_TEST(error_of(client, request) != 0);
  BOOST_TEST(server.requests() == 2);
}

BOOST_AUTO_TEST_CASE(each_attempt_is_signed_anew) {
  ScriptedServer server([](const HttpRequest& request) {
    return HttpReply{reply_of(request.number == 0 ? "503 Busy" : "200 OK", "", ""), {}, false};
  });
  HttpSettings settings = hasty(5000);
  settings.signer = std::make_shared<FakeSigner>();
  HttpClient client(settings);
  WebRequest request = request_to(server.url());
  request.if_none_match = "\"x\"";
  request.size = 10;
  BOOST_TEST(error_of(client, request) == 0);
  BOOST_TEST(server.seen().at(0).value("Authorization") == "GET21");
  BOOST_TEST(server.seen().at(1).value("Authorization") == "GET22");
}

BOOST_AUTO_TEST_CASE(what_is_signed_or_changes_something_is_not_redirected) {
  ScriptedServer server(
      always(reply_of("307 There", "Location: /y\r\nx-amz-bucket-region: eu-west-1\r\n", "")));
  HttpSettings settings = hasty();
  HttpClient plain(settings);
  BOOST_TEST(error_of(plain, request_to(server.url(), HttpMethod::put)) == EIO);
  settings.signer = std::make_shared<FakeSigner>();
  HttpClient client(settings);
  try {
    client.send(request_to(server.url())).wait();
    BOOST_TEST(false);
  } catch (const RemoteError& error) {
    BOOST_TEST(error.explanation().find("region eu-west-1") != std::string::npos);
  }
  BOOST_TEST(server.requests() == 2);
}

BOOST_AUTO_TEST_CASE(users_of_netrc_are_for_the_host_that_was_asked) {
  ScriptedServer other(always(reply_of("200 OK", "", "")));
  ScriptedServer server([&](const HttpRequest& request) {
    const std::string target = request.head.starts_with("GET /far") ? other.address("/") : "/y";
    if (request.head.starts_with("GET /y")) return HttpReply{reply_of("200 OK", "", ""), {}, false};
    return HttpReply{reply_of("302 There", "Location: " + target + "\r\n", ""), {}, false};
  });
  const TempDir folder;
  HttpSettings settings = hasty();
  settings.netrc = (folder / "netrc").string();
  BOOST_CHECK_THROW(HttpClient{settings}, RemoteError);
  std::ofstream(settings.netrc) << "machine 127.0.0.1 login me password secret\n";
  HttpClient client(settings);
  BOOST_TEST(error_of(client, request_to(server.url("/near"))) == 0);
  BOOST_TEST(server.seen().at(0).value("Authorization") == "Basic bWU6c2VjcmV0");
  BOOST_TEST(server.seen().at(1).value("Authorization") == "Basic bWU6c2VjcmV0");
  BOOST_TEST(error_of(client, request_to(server.url("/far"))) == 0);
  BOOST_TEST(other.seen().at(0).value("Authorization").empty());
}

BOOST_AUTO_TEST_CASE(a_token_is_for_the_host_that_was_asked) {
  ScriptedServer other(always(reply_of("200 OK", "", "")));
  ScriptedServer server([&](const HttpRequest& request) {
    if (request.head.starts_with("GET /near"))
      return HttpReply{reply_of("200 OK", "", ""), {}, false};
    return HttpReply{
        reply_of("302 There", "Location: " + other.address("/") + "\r\n", ""), {}, false};
  });
  const TempDir folder;
  const std::string file = (folder / "token").string();
  std::ofstream(file) << "abc.def\r\nmore\n";
  fs_std::permissions(file, fs_std::perms(0644));
  BOOST_CHECK_THROW(read_bearer(file), RemoteError);
  fs_std::permissions(file, fs_std::perms(0600));
  HttpSettings settings = hasty();
  settings.bearer = read_bearer(file);
  HttpClient client(settings);
  BOOST_TEST(error_of(client, request_to(server.url("/near"))) == 0);
  BOOST_TEST(server.seen().at(0).value("Authorization") == "Bearer abc.def");
  BOOST_TEST(error_of(client, request_to(server.url("/far"))) == 0);
  BOOST_TEST(other.seen().at(0).value("Authorization").empty());
  std::ofstream(file) << "two words\n";
  BOOST_CHECK_THROW(read_bearer(file), RemoteError);
}

BOOST_AUTO_TEST_CASE(a_proxy_makes_the_connections) {
  ScriptedServer proxy([](const HttpRequest& request) {
    if (request.head.starts_with("CONNECT "))
      return HttpReply{"HTTP/1.1 200 Connected\r\n\r\n", {}, false};
    return HttpReply{reply_of("200 OK", "", "contents"), {}, false};
  });
  HttpSettings settings = hasty();
  settings.proxy = proxy.address("");
  HttpClient client(settings);
  BOOST_TEST(error_of(client, request_to(parse_url("http://nowhere.invalid/x"))) == 0);
  BOOST_TEST_REQUIRE(proxy.seen().size() == 2U);
  BOOST_TEST(proxy.seen().at(0).head.starts_with("CONNECT nowhere.invalid:80 "));
  BOOST_TEST(proxy.seen().at(1).head.starts_with("GET /x "));
  BOOST_CHECK_NO_THROW(check_proxy(settings.proxy));
  for (const char* url : {"https://a:1", "http://a:1/x", "a:1", "http://me:secret@a:1"})
    BOOST_CHECK_THROW(check_proxy(url), UrlError);
}

BOOST_AUTO_TEST_CASE(a_first_contact_that_fails_is_told_at_once) {
  const std::string nobody = "http://127.0.0.1:" + std::to_string(free_port()) + "/x";
  HttpSettings settings = hasty(60'000);
  settings.retries_first_contact = false;
  HttpClient client(settings);
  try {
    client.send(request_to(parse_url(nobody))).wait();
    BOOST_ERROR("answered");
  } catch (const RemoteError& error) {
    BOOST_TEST(error.explanation().find("onnect") != std::string::npos, error.explanation());
    BOOST_TEST(error.code().value() != ETIMEDOUT);
  }
  BOOST_TEST(client.requests() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
