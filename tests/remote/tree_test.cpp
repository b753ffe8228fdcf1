// Tests trees that are made of web servers' index pages: of real servers, and of servers that lie.

#include <sstream>

#include <fmt/core.h>

#include "frame/remote/http_tree.hpp"
#include "frame/remote/open_remote.hpp"
#include "frame/remote/remote_error.hpp"
#include "tests/remote/nginx.hpp"
#include "tests/remote/scripted_server.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/tools/program.hpp"

namespace {

using namespace bloscfs::test;
namespace frame = bloscfs::frame;
namespace utf = boost::unit_test;
using Names = std::vector<std::string>;

std::shared_ptr<frame::ObjectTree> open_tree(const std::string& url) {
  frame::RemoteSettings settings;
  settings.retry_time = std::chrono::seconds(0);
  return frame::open_remote(url, settings);
}

Names names_of(frame::ObjectTree& tree, const std::string& directory) {
  Names names;
  for (const frame::ObjectEntry& entry : tree.list(directory))
    names.push_back(entry.name + (entry.is_directory ? "/" : ""));
  return names;
}

std::string contents(frame::ObjectTree& tree, const std::string& path) {
  const auto object = tree.open(path, nullptr);
  ByteVector bytes(object->state().size);
  BOOST_TEST(object->read_at(0, bytes) == bytes.size());
  return {bytes.begin(), bytes.end()};
}

template <typename Work>
int error_of(const Work& work) {
  try {
    work();
  } catch (const frame::RemoteError& error) {
    BOOST_TEST_MESSAGE(error.explanation());
    return error.code().value();
  }
  return 0;
}

/// Odd but valid names of files, sorted.
const Names kOddNames = {
    " first", "\"quoted\"", "#hash",       "%41",       "&amp;",     "+plus+",
    "100%",   "<a href=x>", "a b",         "a;b=c",     "back\\",    "colon:x",
    "it's",   "last ",      "mailto:me",   "new\nline", "question?", "r\xC3\xA9sum\xC3\xA9",
    "tab\t",  "~tilde",     "\xE2\x82\xAC"};

void make_odd(const fs_std::path& place, const Names& names) {
  fs_std::create_directories(place / "sub folder" / "inner");
  for (const std::string& name : names)
    write_file(place / name, std::string_view("bytes of " + name));
  write_file(place / "sub folder" / "inner" / "deep %.txt", std::string_view("deep"));
  for (const auto& entry : fs_std::recursive_directory_iterator(place))
    if (entry.is_directory()) fs_std::permissions(entry.path(), fs_std::perms(0755));
}

void check_odd(frame::ObjectTree& tree, const std::string& directory, const Names& wanted) {
  Names all = wanted;
  all.emplace_back("sub folder/");
  std::sort(all.begin(), all.end());
  const Names found = names_of(tree, directory);
  BOOST_TEST(found == all, boost::test_tools::per_element());
  for (const std::string& name : wanted)
    BOOST_TEST(contents(tree, directory + "/" + name) == "bytes of " + name);
  BOOST_TEST((names_of(tree, directory + "/sub folder") == Names{"inner/"}));
  BOOST_TEST(contents(tree, directory + "/sub folder/inner/deep %.txt") == "deep");
}

/// The server for all cases, since making certificates takes time.
struct TreeServer {
  TreeServer() {
    make_odd(nginx.www() / "odd #1", kOddNames);
    write_file(nginx.www() / "odd #1" / "\xFF\xFE", std::string_view("bytes of \xFF\xFE"));
    fs_std::create_directory(nginx.www() / "many");
    for (int i = 0; i < 10000; i++)
      write_file(nginx.www() / "many" / fmt::format("run-{}.b2frame", i), std::string_view("x"));
    fs_std::create_directory(nginx.www() / "frames");
    nginx.serve("frames/log.b2frame", flat_frame(make_contents("text", 1, 20000, 1)));
    fs_std::create_directory(nginx.www() / "frames/sub");
    nginx.serve("frames/sub/numbers.b2nd", read_file(fs_std::path(BLOSCFS_TEST_SOURCE_ROOT) /
                                                     "tests/data/samples/temperature.b2nd"));
    nginx.serve("frames/plain.txt", bytes_of("no frame at all"));
    nginx.serve("frames/damaged.b2frame", damaged_frame());
    fs_std::create_directory(nginx.www() / "beside");
    for (const char* name : {"log.b2frame", "log.b2"})
      nginx.serve(std::string("beside/") + name, flat_frame(std::string("text")));
    nginx.serve("beside/lost.b2nd", bytes_of("no frame at all"));
    nginx.serve("beside/embed.b2frame",
                read_file(fs_std::path(BLOSCFS_TEST_SOURCE_ROOT) / "tests/data/stores/embed0.b2e"));
    nginx.serve("beside/tree.b2z",
                read_file(fs_std::path(BLOSCFS_TEST_SOURCE_ROOT) / "tests/data/stores/tree0.b2z"));
  }

  static ByteVector damaged_frame() {
    ByteVector bytes = flat_frame(make_contents("text", 1, 20000, 1));
    bytes.resize(bytes.size() / 2);
    return bytes;
  }

  Nginx nginx;
};

TreeServer& tree_server() {
  static TreeServer one;
  return one;
}

/// Runs Python's http.server.
class PythonServer {
 public:
  explicit PythonServer(const fs_std::path& root) : port_(free_port()) {
    server_ = Child({"python3", "-m", "http.server", std::to_string(port_), "--bind", "127.0.0.1",
                     "--directory", root.string()},
                    (log_ / "log").string());
    const std::string probe = fmt::format("exec 3<>/dev/tcp/127.0.0.1/{}", port_);
    comes_true([&] { return run({"bash", "-c", probe}).ok(); });
  }
  std::string url() const { return fmt::format("http://127.0.0.1:{}/", port_); }

 private:
  const TempDir log_;
  int port_;
  Child server_;
};

Precondition needs_python_server(boost::unit_test::test_unit_id) {
  return have_program("python3") ? Precondition(true) : skip("python3 is not installed");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tree)

BOOST_AUTO_TEST_CASE(sources_are_known_by_their_beginning) {
  for (const char* source : {"http://h/x", "HTTPS://h/", "s3://bucket/x", "S3://b"})
    BOOST_TEST(frame::is_remote(source), source);
  for (const char* source : {"", "/x", "http:/h", "s3:/b", "ftp://h/", "s4://b", "file:///x"})
    BOOST_TEST(!frame::is_remote(source), source);
}

BOOST_AUTO_TEST_CASE(a_url_is_one_object_unless_it_ends_in_a_slash) {
  const auto single = [](const std::string& path) {
    return open_tree("http://127.0.0.1:1" + path)->single().value_or("directory");
  };
  BOOST_TEST(single("/a/my%20run.b2nd") == "my run.b2nd");
  BOOST_TEST(single("/x?a=/&b=1") == "x");
  BOOST_TEST(single("") == "directory");
  BOOST_TEST(single("/") == "directory");
  BOOST_TEST(single("/a/?x") == "directory");
  for (const char* path : {"/a%2Fb", "/..", "/%2e%2e", "/.", "/a%00"})
    BOOST_CHECK_THROW(open_tree(std::string("http://127.0.0.1:1") + path), frame::UrlError);
}

BOOST_AUTO_TEST_CASE(urls_of_paths_are_encoded_and_without_secrets) {
  const auto tree = open_tree("http://host.example/a%20b/?token=secret");
  BOOST_TEST(tree->url("") == "http://host.example/a%20b/?...");
  BOOST_TEST(tree->url("c d/\xC3\xA9?") == "http://host.example/a%20b/c%20d/%C3%A9%3F");
  BOOST_TEST(open_tree("http://host.example/x?secret")->url("x") == "http://host.example/x?...");
  BOOST_TEST(!tree->is_writable());
  BOOST_CHECK_THROW(tree->remove("x", {}), std::system_error);
  frame::RemoteSettings settings;
  settings.writable = true;
  BOOST_TEST(error_of([&] { frame::open_remote("http://host.example/", settings); }) == EROFS);
}

BOOST_AUTO_TEST_CASE(queries_go_with_the_root_alone) {
  ScriptedServer server([](const HttpRequest& request) {
    if (request.head.starts_with("GET /d/?key=1 "))
      return HttpReply{
          reply_of("200 OK", "Content-Type: text/html\r\n", "<a href=a>a</a><a href=s/>s</a>"),
          {},
          false};
    if (request.head.starts_with("GET /d/a ")) return HttpReply{range_of("a", request), {}, false};
    if (request.head.starts_with("GET /d/s/ "))
      return HttpReply{reply_of("200 OK", "Content-Type: application/json\r\n", "[]"), {}, false};
    return HttpReply{reply_of("500 Wrong", "", ""), {}, false};
  });
  const auto tree = open_tree(server.address("/d/?key=1"));
  BOOST_TEST(server.requests() == 0);
  BOOST_TEST((names_of(*tree, "") == Names{"a", "s/"}));
  BOOST_TEST(contents(*tree, "a") == "a");
  BOOST_TEST(names_of(*tree, "s").empty());
  BOOST_TEST(server.requests() == 3);
}

BOOST_AUTO_TEST_CASE(a_known_object_is_the_same_as_long_as_it_is) {
  ScriptedServer server([](const HttpRequest& request) {
    if (request.value("If-None-Match") == "\"1\"")
      return HttpReply{"HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n", {}, false};
    return HttpReply{range_of("bytes", request), {}, false};
  });
  const auto tree = open_tree(server.address("/x"));
  BOOST_TEST(tree->single().value() == "x");
  const auto first = tree->open("x", nullptr);
  BOOST_TEST(tree->open("x", first) == first);
  BOOST_TEST(error_of([&] { tree->open("y", nullptr); }) == ENOENT);
  BOOST_TEST(error_of([&] { tree->list(""); }) == ENOTDIR);
  BOOST_TEST(server.requests() == 2);
}

BOOST_AUTO_TEST_CASE(what_is_no_directory_says_why) {
  const auto error_with = [](const std::string& reply) {
    ScriptedServer server([&](const HttpRequest&) { return HttpReply{reply, {}, false}; });
    const auto tree = open_tree(server.address("/d/"));
    return error_of([&] { tree->list(""); });
  };
  BOOST_TEST(error_with(reply_of("200 OK", "Content-Type: application/octet-stream\r\n", "x")) ==
             ENOTDIR);
  BOOST_TEST(error_with(reply_of("200 OK", "Content-Type: application/json\r\n", "{}")) == ENOTDIR);
  BOOST_TEST(error_with(reply_of("404 Not Found", "", "")) == ENOENT);
  BOOST_TEST(error_with(reply_of("403 Forbidden", "Content-Type: text/html\r\n", "<a href=a>")) ==
             EACCES);
  BOOST_TEST(error_with(reply_of("500 Wrong", "", "")) == EIO);
  BOOST_TEST(error_with(reply_of("412 Precondition Failed", "", "")) == EIO);
  BOOST_TEST(error_with(reply_of("206 Partial Content", "", "x")) == EIO);
  const std::string large((64 << 20) + 1, ' ');
  BOOST_TEST(error_with(reply_of("200 OK", "Content-Type: text/html\r\n", large)) == EIO);
}

BOOST_AUTO_TEST_CASE(redirects_to_the_slash_are_followed) {
  ScriptedServer server([](const HttpRequest& request) {
    if (request.head.starts_with("GET /new/d/ "))
      return HttpReply{
          reply_of("200 OK", "", "<a href=/new/d/a>a</a> <a href=/d/b>b</a>"), {}, false};
    return HttpReply{
        "HTTP/1.1 301 Moved\r\nLocation: /new/d/\r\nContent-Length: 0\r\n\r\n", {}, false};
  });
  BOOST_TEST((names_of(*open_tree(server.address("/d/")), "") == Names{"a"}));
}

BOOST_AUTO_TEST_CASE(pages_of_pythons_server, *utf::precondition(needs_python_server)) {
  const TempDir place;
  make_odd(place / "odd #1", kOddNames);
  const PythonServer python(place.path());
  const auto tree = open_tree(python.url());
  BOOST_TEST((names_of(*tree, "") == Names{"odd #1/"}));
  check_odd(*tree, "odd #1", kOddNames);
  BOOST_TEST(error_of([&] { tree->list("nothing"); }) == ENOENT);
}

BOOST_AUTO_TEST_CASE(pages_of_nginx, *utf::precondition(needs_nginx)) {
  Names names = kOddNames;
  names.emplace_back("\xFF\xFE");
  for (const char* root : {"", "json/"}) {
    const auto tree = open_tree(tree_server().nginx.url(root));
    check_odd(*tree, "odd #1", names);
    BOOST_TEST(tree->list("many").size() == 10000U);
    BOOST_TEST(error_of([&] { tree->list("nothing"); }) == ENOENT);
    BOOST_TEST(error_of([&] { tree->open("nothing", nullptr); }) == ENOENT);
  }
  BOOST_TEST(open_tree(tree_server().nginx.url("moved/"))->list("many").size() == 10000U);
  BOOST_TEST((names_of(*open_tree(tree_server().nginx.url("odd%20%231/sub%20folder/")), "") ==
              Names{"inner/"}));
}

BOOST_AUTO_TEST_CASE(ls_shows_what_a_mount_would, *utf::precondition(needs_nginx)) {
  const std::string url = tree_server().nginx.url("frames/");
  const ProcessResult result = b2frame({"ls", "-R", "--json", url});
  BOOST_TEST(result.status == 1, result.description());
  std::istringstream lines(result.out);
  std::vector<nlohmann::json> all;
  for (std::string line; std::getline(lines, line);) all.push_back(nlohmann::json::parse(line));
  BOOST_REQUIRE(all.size() == 4U);
  BOOST_TEST(all[0].at("file") == url + "damaged.b2frame");
  BOOST_TEST(all[0].at("status") == "damaged");
  BOOST_TEST(all[1].at("file") == url + "log.b2frame");
  BOOST_TEST(all[1].at("shown") == url + "log");
  BOOST_TEST(all[1].at("contents") == 20000);
  BOOST_TEST(all[2].at("kind") == "plain");
  BOOST_TEST(all[3].at("shown") == url + "sub/numbers.npy");

  const ProcessResult one = b2frame({"ls", url + "log.b2frame"});
  BOOST_TEST(one.out.ends_with("log.b2frame -> log\n"), one.description());
  const std::string beside = tree_server().nginx.url("beside/");
  const ProcessResult coinciding = b2frame({"ls", beside});
  BOOST_TEST(coinciding.status == 1);
  for (const char* line : {"beside/log.b2frame\n", "beside/log.b2\n", "beside/tree.b2z/ -> tree/\n",
                           "beside/embed.b2frame/ -> embed/\n"})
    BOOST_TEST(coinciding.out.find(line) != std::string::npos, coinciding.out);
  BOOST_TEST(
      coinciding.err ==
      "b2frame: " + beside +
          "lost.b2nd: has the suffix of a frame but no frame header; b2frame repair may save it\n");
  const ProcessResult store = b2frame({"ls", beside + "tree.b2z"});
  BOOST_TEST(store.out.find("beside/tree.b2z:/temp0/leaf1 -> leaf1.npy\n") != std::string::npos,
             store.description());

  const ProcessResult frame = b2frame({"ls", beside + "embed.b2frame"});
  BOOST_TEST(
      frame.out.find("beside/embed.b2frame:/deep2/leaf4 -> leaf4.npy\n") != std::string::npos,
      frame.description());

  const ProcessResult missing = b2frame({"ls", url + "none/"});
  BOOST_TEST(missing.status == 1);
  BOOST_TEST(missing.err ==
             "b2frame: " + url + "none/: No such file or directory (HTTP status 404)\n");
  const ProcessResult directory = b2frame({"info", url});
  BOOST_TEST(directory.status == 1);
  BOOST_TEST(directory.err ==
             "b2frame: " + url + ": is a directory; name a frame in it (b2frame ls lists them)\n");
}

BOOST_AUTO_TEST_SUITE_END()
