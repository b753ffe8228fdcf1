// Parses index pages, correct and hostile ones.

#include "frame/remote/index_page.hpp"

#include <chrono>
#include <ctime>

#include <boost/test/unit_test.hpp>
#include <fmt/core.h>

#include "frame/remote/percent.hpp"
#include "frame/remote/remote_error.hpp"
#include "tests/support/sanitizers.hpp"

namespace {

using namespace bloscfs::frame;
using std::string_literals::operator""s;
using Names = std::vector<std::string>;

const Url kPage = parse_url("http://host.example:8080/data/my%20runs/");

Bytes as_page(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// Returns the names on a page. Names of directories end in '/'.
Names names_on(const std::string& page, const std::string& type = "text/html") {
  Names names;
  for (const ObjectEntry& entry : parse_index_page(kPage, type, as_page(page))) {
    BOOST_TEST(!entry.state);
    names.push_back(entry.name + (entry.is_directory ? "/" : ""));
  }
  return names;
}

Names names_linked(const std::string& target) {
  return names_on("<html><body><a href=\"" + target + "\">x</a></body></html>");
}

Names json_names(const std::string& page) { return names_on(page, "application/json"); }

int error_of(const std::string& page, const std::string& type) {
  try {
    parse_index_page(kPage, type, as_page(page));
  } catch (const RemoteError& error) {
    BOOST_TEST(!error.explanation().empty());
    return error.code().value();
  }
  return 0;
}

std::string repeated(const std::string& text, std::size_t size) {
  std::string result;
  result.reserve(size);
  result = text;
  while (2 * result.size() <= size) result += result;
  while (result.size() + text.size() <= size) result += text;
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(index_page)

BOOST_AUTO_TEST_CASE(names_survive_percent_encoding) {
  std::string all;
  for (int byte = 0; byte < 256; byte++) all += static_cast<char>(byte);
  const std::string encoded = percent_encoded(all);
  BOOST_TEST(percent_decoded(encoded) == all);
  BOOST_TEST(percent_encoded("a/b-c_d.e~f G+%?#:\xC3\xA9") ==
             "a/b-c_d.e~f%20G%2B%25%3F%23%3A%C3%A9");
  BOOST_TEST(percent_decoded("100%") == "100%");
  BOOST_TEST(percent_decoded("%4%41%zz%") == "%4A%zz%");
}

BOOST_AUTO_TEST_CASE(page_of_apache) {
  const std::string page =
      "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 3.2 Final//EN\">\n<html>\n <head>\n"
      "  <title>Index of /data/my runs</title>\n </head>\n <body>\n<table>\n"
      "<tr><th valign=\"top\"><img src=\"/icons/blank.gif\" alt=\"[ICO]\"></th>"
      "<th><a href=\"?C=N;O=D\">Name</a></th><th><a href=\"?C=S;O=A\">Size</a></th></tr>\n"
      "<tr><td><a href=\"/data/\">Parent Directory</a></td><td>&nbsp;</td></tr>\n"
      "<tr><td><a href=\"a%20b.b2frame\">a b.b2frame</a></td><td>1.0K</td></tr>\n"
      "<tr><td><a href=\"sub/\"><img src=\"/icons/folder.gif\"></a> <a href=\"sub/\">sub/</a>\n"
      "<tr><td><a href=\"x&amp;y.b2nd\">x&amp;y.b2nd</a></td><td>2K</td></tr>\n"
      "</table>\n<address>Apache Server at host.example Port 8080</address>\n</body></html>\n";
  BOOST_TEST(
      (names_on(page, "text/html;charset=UTF-8") == Names{"a b.b2frame", "sub/", "x&y.b2nd"}));
  BOOST_TEST((names_on(page, "") == names_on(page)));
}

BOOST_AUTO_TEST_CASE(links_lead_one_level_below) {
  BOOST_TEST((names_linked("a") == Names{"a"}));
  BOOST_TEST((names_linked(" ./a/\n") == Names{"a/"}));
  BOOST_TEST((names_linked("./a:b") == Names{"a:b"}));
  BOOST_TEST((names_linked("a%2Bb+c%23%3F") == Names{"a+b+c#?"}));
  BOOST_TEST((names_linked("/data/my%20runs/a") == Names{"a"}));
  BOOST_TEST((names_linked("/data/m%79%20runs/a/") == Names{"a/"}));
  BOOST_TEST((names_linked("http://HOST.example:8080/data/my%20runs/a") == Names{"a"}));
  BOOST_TEST((names_linked("//host.example:8080/data/my%20runs/a") == Names{"a"}));
  for (const char* target : {"",
                             ".",
                             "..",
                             "./",
                             "../",
                             "../a",
                             "/",
                             "/a",
                             "/data/",
                             "/data/my%20runs/",
                             "a/b",
                             "a//",
                             "a/b/",
                             "/data/my%20runs/a/b",
                             "/data/my%20runs//a",
                             "a?b",
                             "a#b",
                             "?C=N;O=D",
                             "#top",
                             "%2e%2e",
                             "%2E",
                             "a%2Fb",
                             "..%2f",
                             "a%00",
                             "http://other.example/data/my%20runs/a",
                             "https://host.example:8080/data/my%20runs/a",
                             "http://host.example/data/my%20runs/a",
                             "http://me@host.example:8080/data/my%20runs/a",
                             "//",
                             "http:a",
                             "mailto:me",
                             "javascript:alert(1)",
                             "data:text/html,x"})
    BOOST_TEST(names_linked(target).empty(), target);
}

BOOST_AUTO_TEST_CASE(each_name_comes_once_and_in_order) {
  const std::string page =
      "<a href=b>1</a><a href=a>2</a><a HREF='c/'>3</a><A href=c>4</A><a href=b>";
  BOOST_TEST((names_on(page) == Names{"a", "b", "c/"}));
  BOOST_TEST((names_on("</b></i></b>" + page) == Names{"a", "b", "c/"}));
  BOOST_TEST((names_on("text > \"' & &#x; </a <a href=>" + page) == Names{"a", "b", "c/"}));
}

BOOST_AUTO_TEST_CASE(names_are_bytes) {
  // The names are plain bytes, percent-encoded, and entities. The parser ignores the page's
  // charset.
  const std::string page =
      "<meta http-equiv=Content-Type content='text/html; charset=utf-16'>"
      "<a href='\xC3\xA9'></a><a href='%C3%A8'></a><a href='&ecirc;'></a><a href='&#235;'></a>"
      "<a href='\xFF\xFE'></a>";
  BOOST_TEST((names_on(page) == Names{"\xC3\xA8", "\xC3\xA9", "\xC3\xAA", "\xC3\xAB", "\xFF\xFE"}));
  BOOST_TEST((json_names("[{\"name\":\"\xC3\xA9\",\"type\":\"file\"},"
                         "{\"name\":\"\xFF\\n\\\"\\u00e9\xF3\xB0\x82\x80\",\"type\":\"file\"}]") ==
              Names{"\xC3\xA9", "\xFF\n\"\xC3\xA9\xF3\xB0\x82\x80"}));
}

BOOST_AUTO_TEST_CASE(page_of_nginx_as_json) {
  const std::string page =
      "[\n{ \"name\":\"sub\", \"type\":\"directory\", \"mtime\":\"Tue, 01 Jan 2030 00:00:00 GMT\" "
      "},\n"
      "{ \"name\":\"100%.b2nd\", \"type\":\"file\", \"mtime\":\"x\", \"size\":12, "
      "\"more\":[{\"name\":[]}] },\n"
      "{ \"name\":\"pipe\", \"type\":\"other\" }, {\"type\":\"file\",\"name\":\"..\"},\n"
      "{\"type\":\"file\",\"name\":\"a/b\"}, {\"type\":\"file\",\"name\":\"a\\u0000\"}\n]\n";
  BOOST_TEST((json_names(page) == Names{"100%.b2nd", "sub/"}));
  BOOST_TEST((json_names("\xEF\xBB\xBF" + page).size() == 2U));
  BOOST_TEST(json_names("[]").empty());
}

BOOST_AUTO_TEST_CASE(what_is_no_index_is_no_directory) {
  for (const char* type : {"application/octet-stream", "text/plain", "image/png", "nonsense"})
    BOOST_TEST(error_of("<a href=a>", type) == ENOTDIR, type);
  BOOST_TEST(error_of("", "") == ENOTDIR);
  BOOST_TEST(error_of("plain", "") == ENOTDIR);
  for (const char* page :
       {"", "{}", "1", "\"a\"", "null", "[1]", "[[]]", "[{}]", "[null]", "[{\"name\":\"a\"}]", "[",
        "[{\"name\":\"a\",\"type\":\"file\"}", "[{\"name\":\"a\",\"type\":\"file\"}] x",
        "[{\"name\":1,\"type\":\"file\"}]", "{\"name\":\"a\",\"type\":\"file\"}", "\xFF"})
    BOOST_TEST(error_of(page, "application/json") == ENOTDIR, page);
}

BOOST_AUTO_TEST_CASE(many_links_take_little_time) {
  constexpr int kLinks = bloscfs::test::kSanitized ? 10000 : 100000;
  std::string html = "<html><body><pre>", json = "[";
  for (int i = 0; i < kLinks; i++) {
    html +=
        fmt::format("<a href=\"run-{0}.b2frame\">run-{0}.b2frame</a>  01-Jan-2030 00:00  {0}\n", i);
    json += fmt::format("{}{{\"name\":\"run-{}.b2frame\",\"type\":\"file\",\"size\":{}}}",
                        i == 0 ? "" : ",\n", i, i);
  }
  std::string quoted;
  for (int i = 0; i < kLinks; i++)
    quoted += fmt::format("<a title='to > {0}' href='{0}'>{0}</a>\n", i);
  const std::clock_t began = std::clock();
  BOOST_TEST(names_on(quoted).size() == std::size_t{kLinks});
  BOOST_TEST(names_on(html).size() == std::size_t{kLinks});
  BOOST_TEST(json_names(json + "]").size() == std::size_t{kLinks});
  BOOST_TEST(static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC < 10);
}

BOOST_AUTO_TEST_CASE(more_than_a_page_may_have_is_refused) {
  BOOST_TEST(error_of(std::string(kMaxIndexPage + 1, ' '), "text/html") == EFBIG);
  BOOST_TEST(error_of(repeated("<a href=a>", 12 << 20), "text/html") == EFBIG);
  std::string json = "[" + repeated("{\"name\":\"a\",\"type\":\"file\"},", 40 << 20);
  json.back() = ']';
  BOOST_TEST(error_of(json, "application/json") == EFBIG);
}

BOOST_AUTO_TEST_CASE(only_elements_that_are_open_count_as_nested) {
  const std::string link = "<a href=\"x\">x</a>";
  BOOST_TEST((names_on(repeated("<br><p>text<img src=x><hr>", 40'000) + link) == Names{"x"}));
  BOOST_TEST((names_on(repeated("<div>", 5 * 200) + link) == Names{"x"}));
  BOOST_TEST(error_of(repeated("<div>", 5 * 300) + link, "text/html") == EIO);
}

/// Each page is of a kind that takes some parsers long, and large enough to reveal quadratic time.
BOOST_AUTO_TEST_CASE(hostile_markup_ends_soon) {
  constexpr std::size_t kPage = (bloscfs::test::kSanitized ? std::size_t{1} : std::size_t{8}) << 20;
  std::string attributes = "<a ", many_tags;
  for (int i = 0; attributes.size() < 100000; i++) attributes += fmt::format("a{} ", i);
  for (const std::string& unit : {"<"s,
                                  "<b>"s,
                                  "</b>"s,
                                  "<!--"s,
                                  "<a href='"s,
                                  "&"s,
                                  "&#x"s,
                                  "<a "s,
                                  "<script>"s,
                                  "<!"s,
                                  "<?"s,
                                  ">"s,
                                  "a"s,
                                  "\xFF"s,
                                  "\0"s,
                                  "<a\0"s,
                                  "<p><table>"s,
                                  "<b></i>"s,
                                  "<a href=x y='"s,
                                  "<a x>"s,
                                  "]]>"s,
                                  "<![CDATA["s,
                                  "<b a=\"b>\" c='<'"s,
                                  "<html>"s,
                                  "<title>"s,
                                  "<option><li>"s,
                                  attributes + ">"}) {
    const std::string page = repeated(unit, kPage);
    const auto began = std::chrono::steady_clock::now();
    const int error = error_of(page, "text/html");
    const auto time = std::chrono::steady_clock::now() - began;
    BOOST_TEST_MESSAGE(unit.substr(0, 20)
                       << ": error " << error << ", "
                       << std::chrono::duration_cast<std::chrono::milliseconds>(time).count()
                       << " ms");
  }
  for (const std::string& unit : {"["s, "{\"a\":"s, "\""s, "[{\"a\":["s, "\\u"s, "1"s, "\xFF"s}) {
    const std::string page = "[{\"a\":" + repeated(unit, kPage - 6);
    const auto began = std::chrono::steady_clock::now();
    BOOST_TEST(error_of(page, "application/json") == ENOTDIR);
    const auto time = std::chrono::steady_clock::now() - began;
    BOOST_TEST_MESSAGE(unit << ": "
                            << std::chrono::duration_cast<std::chrono::milliseconds>(time).count()
                            << " ms");
  }
}

BOOST_AUTO_TEST_SUITE_END()
