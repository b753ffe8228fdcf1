// Tests URLs, addresses and the header lines of answers, including hostile ones.

#include "frame/remote/url.hpp"

#include <random>

#include <boost/test/unit_test.hpp>

#include "frame/remote/http_answer.hpp"
#include "frame/remote/private_address.hpp"

namespace {

using namespace bloscfs::frame;

std::string refusal(std::string_view text) {
  try {
    parse_url(text);
  } catch (const UrlError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(url)

BOOST_AUTO_TEST_CASE(parts_are_kept) {
  const Url url = parse_url("HTTPS://Example.ORG:8443/a/../b%20c?q=/%3F&r=a:b@c");
  BOOST_TEST(url.secure);
  BOOST_TEST(url.host == "example.org");
  BOOST_TEST(url.port == 8443);
  BOOST_TEST(url.path == "/a/../b%20c");
  BOOST_TEST(url.query == "?q=/%3F&r=a:b@c");
  BOOST_TEST(url.text() == "https://example.org:8443/a/../b%20c?q=/%3F&r=a:b@c");
  BOOST_TEST(url.shown() == "https://example.org:8443/a/../b%20c?...");
}

BOOST_AUTO_TEST_CASE(what_is_left_out_is_the_usual) {
  BOOST_TEST(parse_url("http://h").text() == "http://h/");
  BOOST_TEST(parse_url("http://h:80/x").text() == "http://h/x");
  BOOST_TEST(parse_url("https://h:/x").port == 443);
  BOOST_TEST(parse_url("http://h?q").text() == "http://h/?q");
  BOOST_TEST(parse_url("http://[::1]:81/x").text() == "http://[::1]:81/x");
  BOOST_TEST(parse_url("http://h/\xC3\xA9").path == "/%C3%A9");
}

BOOST_AUTO_TEST_CASE(user_and_password_are_refused_and_not_repeated) {
  for (const char* text : {"http://me:secret@h/x", "https://secret@h", "http://a@b:secret@h/"}) {
    const std::string why = refusal(text);
    BOOST_TEST(why.find("user and password") == 0);
    BOOST_TEST(why.find("secret") == std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(messages_hide_what_may_be_secret) {
  BOOST_TEST(shown_url("http://h/x") == "http://h/x");
  BOOST_TEST(shown_url("/a/b?c@d") == "/a/b?c@d");
  BOOST_TEST(shown_url("http://me:secret@h/x?sig=secret") == "http://h/x?...");
  BOOST_TEST(shown_url("HTTP://me@secret@h") == "HTTP://h");
  BOOST_TEST(shown_url("https://h?secret@x/y") == "https://h?...");
  BOOST_TEST(shown_url("https://h/x#secret") == "https://h/x?...");
  BOOST_TEST(shown_url("http://") == "http://");
  BOOST_TEST(shown_url("http://secret@") == "http://");
  BOOST_TEST(shown_url("http://h/a@b") == "http://h/a@b");
  BOOST_TEST(shown_url("s3://me:secret@bucket/a@b?c#d") == "s3://bucket/a@b?c#d");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused) {
  for (const char* text : {"",
                           "x",
                           "ftp://h/x",
                           "http:/h",
                           "http://",
                           "http:///x",
                           "http://:80/x",
                           "http://h:0/",
                           "http://h:65536/",
                           "http://h:1x/",
                           "http://h:-1/",
                           "http://h h/",
                           "http://h/a b",
                           "http://h/a\nHost: x",
                           "http://h/a\r\n",
                           "http://h/\x7f",
                           "http://[::1/x",
                           "http://[x]/",
                           "http://[::1]x/",
                           "http://[fe80::1%25eth0]/",
                           "http://h/#f",
                           "http://h\\x",
                           "http://a,b/",
                           "http://h\xC3\xA9/",
                           "http://[127.0.0.1]/"})
    BOOST_TEST(!refusal(text).empty(), text);
  BOOST_TEST(!refusal(std::string("http://h/\0x", 11)).empty());
  BOOST_TEST(!refusal("http://h/" + std::string(9000, 'a')).empty());
  BOOST_TEST(!refusal("http://" + std::string(300, 'a')).empty());
}

BOOST_AUTO_TEST_CASE(any_bytes_are_taken_or_refused) {
  std::mt19937 random(1);
  const std::string_view alphabet = ":/?#[]@\\%.-_ahtps09\xC3\x01 ";
  for (int i = 0; i < 20000; i++) {
    std::string text = "http://";
    for (auto left = random() % 20; left > 0; left--) text += alphabet[random() % alphabet.size()];
    if (!refusal(text).empty()) continue;
    // The text of an accepted URL is accepted again, and gives the same URL.
    BOOST_TEST((parse_url(parse_url(text).text()) == parse_url(text)), text);
  }
}

BOOST_AUTO_TEST_CASE(addresses_have_a_reach) {
  for (const char* text : {"127.0.0.1", "169.254.169.254", "0.0.0.0", "::1", "::", "fe80::1",
                           "febf::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254",
                           "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "::127.0.0.1", "no address", ""})
    BOOST_TEST((reach_of(std::string(text)) == Reach::own_host), text);
  for (const char* text :
       {"10.1.2.3", "192.168.0.1", "172.16.0.1", "172.31.255.255", "100.64.0.1", "224.0.0.1",
        "255.255.255.255", "192.0.0.8", "198.19.0.1", "fc00::1", "fd12::1", "ff02::1", "fec0::1",
        "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::"})
    BOOST_TEST((reach_of(std::string(text)) == Reach::private_network), text);
  for (const char* text : {"8.8.8.8", "172.32.0.1", "172.15.0.1", "100.128.0.1", "11.0.0.1",
                           "198.20.0.1", "2600::1", "::ffff:8.8.8.8", "64:ff9b::808:808"})
    BOOST_TEST((reach_of(std::string(text)) == Reach::everywhere), text);
}

BOOST_AUTO_TEST_CASE(ranges_are_understood_or_left) {
  const auto range = parse_content_range(" bytes 5-9/20\r\n");
  BOOST_TEST_REQUIRE(range.has_value());
  BOOST_TEST((*range == ContentRange{5, 9, 20, true}));
  BOOST_TEST((parse_content_range("bytes */0") == ContentRange{0, 0, 0, false}));
  for (const char* text :
       {"", "bytes", "bytes 5-9", "bytes 5-9/*", "bytes 9-5/20", "bytes 5-20/20", "bytes -5-9/20",
        "bytes 5-9/20x", "items 5-9/20", "bytes 5-9/99999999999999999999",
        "bytes 5-18446744073709551615/9223372036854775807", "bytes */", "bytes 0-0/0"})
    BOOST_TEST(!parse_content_range(text).has_value(), text);
}

BOOST_AUTO_TEST_CASE(tags_that_could_forge_headers_are_left) {
  BOOST_TEST(parse_etag(" \"a-b\" ") == "\"a-b\"");
  BOOST_TEST(parse_etag("W/\"a\"") == "W/\"a\"");
  BOOST_TEST(is_strong("\"a\""));
  BOOST_TEST(!is_strong("W/\"a\""));
  BOOST_TEST(!is_strong(""));
  for (const std::string& text :
       {std::string(), std::string("a"), std::string("\""), std::string("\"a\"b\""),
        std::string("\"a\rX: y\""), std::string("\"a b\""), "\"" + std::string(2000, 'a') + "\""})
    BOOST_TEST(parse_etag(text).empty(), text);
  BOOST_TEST(parse_date("Wed, 21 Oct 2015 07:28:00 GMT") == "Wed, 21 Oct 2015 07:28:00 GMT");
  BOOST_TEST(parse_date("a\rb").empty());
}

BOOST_AUTO_TEST_CASE(the_last_answer_counts) {
  AnswerHeaders headers;
  for (const char* line : {"HTTP/1.1 103 Early Hints\r\n", "ETag: \"early\"\r\n", "\r\n",
                           "HTTP/2 206\r\n", "content-RANGE: bytes 0-0/1\r\n", "junk\r\n", ":\r\n"})
    headers.add_line(line);
  BOOST_TEST(headers.status == 206);
  BOOST_TEST(headers.etag.empty());
  BOOST_TEST(headers.range.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
