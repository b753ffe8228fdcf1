// Tests b2frame and remote objects with a real web server.

#include "tests/remote/nginx.hpp"

#include <nlohmann/json.hpp>

#include "frame/remote/remote_error.hpp"
#include "frame/remote/remote_object.hpp"
#include "tests/remote/mounted.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/manifest.hpp"
#include "tests/tools/program.hpp"

namespace {

using namespace bloscfs::test;
namespace frame = bloscfs::frame;
namespace utf = boost::unit_test;

/// The server for all cases, since making certificates takes time.
struct Server {
  Server() {
    nginx.serve("small.b2frame", flat_frame(text));
    nginx.serve("large.b2frame", flat_frame(noise));
    nginx.serve("plain.txt", bytes_of("no frame at all"));
    nginx.serve("empty", {});
    nginx.forget_requests();
  }

  const ByteVector text = make_contents("text", 1, 20000, 1);
  const ByteVector noise = make_contents("noise", 1, 3 << 20, 1);
  Nginx nginx;
};

Server& server() {
  static Server one;
  return one;
}

Arguments without_retries(Arguments arguments) {
  arguments.insert(arguments.end(), {"--retry-time", "0"});
  return arguments;
}

void check_refused(const Arguments& arguments, const std::string& why) {
  const ProcessResult result = b2frame(without_retries(arguments));
  BOOST_TEST(result.status == 1, result.description());
  BOOST_TEST(result.err.find(why) != std::string::npos, result.err);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(nginx, *utf::precondition(needs_nginx))

BOOST_AUTO_TEST_CASE(extracts_what_the_local_file_has) {
  Nginx& nginx = server().nginx;
  const fs_std::path data = fs_std::path(BLOSCFS_TEST_SOURCE_ROOT) / "tests/data";
  for (const char* name :
       {"samples/station.log.b2frame", "samples/temperature.b2nd", "bloscpack/numpy-0.blp",
        "bloscpack/v2-all-unknown.blp", "bloscpack/size-empty.blp"}) {
    nginx.serve("file", read_file(data / name));
    const ProcessResult remote = b2frame({"extract", nginx.url("file"), "-o", "-"});
    BOOST_TEST(remote.ok(), remote.description());
    BOOST_TEST((remote.out == extracted(data / name)), name);
    BOOST_TEST(b2frame({"verify", nginx.url("file")}).ok(), name);
  }
  const ProcessResult large = b2frame({"cat", nginx.url("large.b2frame")});
  BOOST_TEST((large.out == text_of(server().noise)));
}

BOOST_AUTO_TEST_CASE(a_range_of_contents_needs_few_requests) {
  Nginx& nginx = server().nginx;
  nginx.forget_requests();
  const ProcessResult result = b2frame({"extract", "--offset", "1500000", "--length", "4096",
                                        nginx.url("large.b2frame"), "-o", "-"});
  BOOST_TEST((result.out == text_of(server().noise).substr(1500000, 4096)));
  BOOST_TEST(nginx.wait_for_requests(2).size() <= 4U);
}

BOOST_AUTO_TEST_CASE(info_needs_two_requests) {
  Nginx& nginx = server().nginx;
  nginx.forget_requests();
  const ProcessResult result = b2frame({"info", "--json", nginx.url("large.b2frame")});
  BOOST_TEST(result.ok(), result.description());
  const auto info = nlohmann::json::parse(result.out);
  BOOST_TEST(info.at("nbytes") == server().noise.size());
  BOOST_TEST(info.at("nchunks") == 48);
  BOOST_TEST(!info.contains("chunks"));
  const auto lines = nginx.wait_for_requests(2);
  BOOST_TEST(lines.size() == 2U);
  BOOST_TEST(lines.at(0) == "206 GET /large.b2frame bytes=0-65535 HTTP/1.1");

  nginx.forget_requests();
  const ProcessResult small = b2frame({"info", "--json", nginx.url("small.b2frame")});
  BOOST_TEST(nlohmann::json::parse(small.out).contains("chunks"));
  BOOST_TEST(nginx.wait_for_requests(1).size() == 1U);
}

BOOST_AUTO_TEST_CASE(refusals_are_told_with_their_status) {
  Nginx& nginx = server().nginx;
  check_refused({"info", nginx.url("nothing")}, "No such file or directory (HTTP status 404)");
  check_refused({"cat", nginx.url("closed")}, "Permission denied (HTTP status 403)");
  check_refused({"info", nginx.url("login")}, "Permission denied (HTTP status 401)");
  check_refused({"info", nginx.url("loop")}, "redirects");
  check_refused({"info", nginx.url("plain.txt")}, "neither a Blosc2 frame nor");
  check_refused({"info", nginx.url("empty")}, "neither a Blosc2 frame nor");
  check_refused({"info", "http://me:secret@127.0.0.1/x"}, "user and password");
  check_refused({"info", "http://127.0.0.1:1/x"}, "timed out");
  for (const char* command : {"info", "verify", "cat"}) {
    const ProcessResult result = b2frame({command, "http://me:secret@127.0.0.1/x?secret"});
    BOOST_TEST(result.err.starts_with("b2frame: http://127.0.0.1/x?...: "), result.err);
    BOOST_TEST(result.err.find("secret") == std::string::npos, result.err);
    const ProcessResult of_store = b2frame({command, "s3://me:secret@bucket/x"});
    BOOST_TEST(of_store.err.find("user and password") != std::string::npos, of_store.err);
    BOOST_TEST(of_store.err.find("secret") == std::string::npos, of_store.err);
  }
}

BOOST_AUTO_TEST_CASE(redirects_are_followed) {
  const ProcessResult result = b2frame({"cat", server().nginx.url("moved/small.b2frame")});
  BOOST_TEST((result.out == text_of(server().text)));
}

BOOST_AUTO_TEST_CASE(certificates_are_checked) {
  Nginx& nginx = server().nginx;
  const std::string url = nginx.secure_url("small.b2frame");
  check_refused({"cat", url}, "ertificate");
  check_refused({"cat", "--cafile", "/nonexistent", url}, "b2frame: ");
  nginx.forget_requests();
  const ProcessResult result = b2frame({"cat", "--cafile", nginx.cafile(), url});
  BOOST_TEST((result.out == text_of(server().text)), result.description());
  BOOST_TEST(nginx.wait_for_requests(1).at(0).ends_with("HTTP/2.0"));
  // The certificate is valid for the address, not for the name localhost.
  std::string named = url;
  named.replace(named.find("127.0.0.1"), 9, "localhost");
  check_refused({"cat", "--cafile", nginx.cafile(), named}, "the certificate is for another host");
}

BOOST_AUTO_TEST_CASE(nothing_leads_from_https_to_http) {
  Nginx& nginx = server().nginx;
  check_refused({"cat", "--cafile", nginx.cafile(), nginx.secure_url("down")},
                "a redirect from https to http");
}

BOOST_AUTO_TEST_CASE(a_changed_object_is_an_error_and_then_another) {
  Nginx& nginx = server().nginx;
  nginx.serve("changing", server().noise);
  const auto client = std::make_shared<frame::HttpClient>(frame::HttpSettings{});
  const frame::Url url = frame::parse_url(nginx.url("changing"));
  const auto object = frame::RemoteObject::open(client, {url});
  ByteVector piece(100);
  BOOST_TEST(object->read_at(500000, piece) == piece.size());
  // The new object has the same length, but another time in seconds, so nginx gives it another
  // ETag.
  nginx.serve("changing", make_contents("noise", 2, server().noise.size(), 1));
  fs_std::last_write_time(nginx.www() / "changing",
                          fs_std::file_time_type::clock::now() + std::chrono::seconds(10));
  BOOST_CHECK_THROW(object->read_at(1000000, piece), frame::RemoteError);
  const auto again = frame::RemoteObject::open(client, {url});
  BOOST_TEST(again->read_at(1000000, piece) == piece.size());
  BOOST_TEST((again->stamp() != object->stamp()));
}

BOOST_AUTO_TEST_CASE(what_writes_refuses_urls) {
  const std::string url = server().nginx.url("small.b2frame");
  const TempDir place;
  const std::string local = (place / "x").string();
  for (const Arguments& arguments :
       {Arguments{"compact", url}, Arguments{"set-meta", url, "a:=1"}, Arguments{"recover", url},
        Arguments{"create", url, "-o", local}, Arguments{"create", local, "-o", url},
        Arguments{"pack", url, "-o", local}, Arguments{"unpack", url, "-o", local},
        Arguments{"extract", local, "-o", url}}) {
    const ProcessResult result = b2frame(arguments);
    BOOST_TEST(result.status == 2, result.description());
    BOOST_TEST(result.err.find("needs a local file") != std::string::npos, result.err);
  }
  BOOST_TEST(b2frame({"info", "--chunk", url}).status == 2);
}

BOOST_AUTO_TEST_SUITE_END()
