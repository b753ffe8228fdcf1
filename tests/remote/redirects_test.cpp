// Tests which redirects the client follows, between real addresses of this host.

#include <cerrno>
#include <memory>

#include <boost/test/unit_test.hpp>
#include <fmt/core.h>
#include <unistd.h>

#include "frame/remote/http_client.hpp"
#include "frame/remote/remote_error.hpp"
#include "tests/remote/mounted.hpp"
#include "tests/remote/scripted_server.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/subprocess.hpp"

namespace {

using namespace bloscfs::test;
namespace frame = bloscfs::frame;
namespace utf = boost::unit_test;

/// Gives this host three more addresses until the destructor: one for documentation, which counts
/// as public, a private one, and a link-local one.
class OwnAddresses {
 public:
  OwnAddresses() {
    const int last = ::getpid() % 250 + 1;
    for (const char* start : {"203.0.113.", "10.255.254.", "169.254.77."})
      all_.push_back(start + std::to_string(last));
    for (const std::string& address : all_) change("add", address);
  }
  ~OwnAddresses() {
    for (const std::string& address : all_) change("del", address);
  }
  OwnAddresses(const OwnAddresses&) = delete;
  OwnAddresses& operator=(const OwnAddresses&) = delete;

  const std::string& everywhere() const { return all_[0]; }
  const std::string& in_network() const { return all_[1]; }
  const std::string& link_local() const { return all_[2]; }

 private:
  static void change(const char* how, const std::string& address) {
    const ProcessResult result = run({"ip", "address", how, address + "/32", "dev", "lo"});
    BOOST_TEST(result.ok(), result.description());
  }
  std::vector<std::string> all_;
};

/// Redirects from /to/HOST:PORT/PATH to HOST:PORT/PATH. Serves a frame under all other paths.
ScriptedServer::Answer leading_server() {
  return [](const HttpRequest& request) {
    const std::string target = request.head.substr(4, request.head.find(" HTTP") - 4);
    if (target.starts_with("/to/"))
      return HttpReply{reply_of("302 Found", "Location: http://" + target.substr(4) + "\r\n", "")};
    const ByteVector bytes = flat_frame(std::string("contents"));
    return HttpReply{range_of({bytes.begin(), bytes.end()}, request)};
  };
}

std::string place_of(const ScriptedServer& server) { return server.address("").substr(7); }

Precondition needs_addresses(utf::test_unit_id id) {
  for (const auto& needed : {needs_root(id), has_programs("ip")(id)})
    if (!needed) return needed;
  const ProcessResult tried = run({"ip", "address", "show", "dev", "lo"});
  return tried.ok() ? Precondition(true) : skip("no loopback: " + tried.description());
}

/// Requests a range of a URL. Returns the text of the error, or an empty text for success.
std::string problem_with(const std::string& url, const std::string& bearer = {}) {
  frame::HttpSettings settings;
  settings.retry_time = std::chrono::milliseconds(0);
  settings.bearer = bearer;
  frame::HttpClient client(settings);
  frame::RangeRequest request;
  request.place.url = frame::parse_url(url);
  request.size = 10;
  try {
    client.send(request).wait();
    return {};
  } catch (const frame::RemoteError& error) {
    BOOST_TEST(error.code().value() == EIO);
    return error.explanation();
  }
}

bool is_refused(const std::string& problem) {
  return problem.find("a redirect into a private network, or to the host itself") !=
         std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(redirects, *utf::precondition(needs_addresses))

BOOST_AUTO_TEST_CASE(none_leads_from_outside_to_what_only_insiders_reach) {
  const OwnAddresses own;
  const auto server_at = [](const std::string& host) {
    return std::make_unique<ScriptedServer>(leading_server(), true, host);
  };
  // From the widest reach to the narrowest. The last two count as the same reach.
  const std::unique_ptr<ScriptedServer> servers[] = {
      server_at(own.everywhere()), server_at(own.in_network()), server_at(own.link_local()),
      server_at("127.0.0.1")};
  const auto width = [](std::size_t number) { return std::min<std::size_t>(number, 2); };
  for (std::size_t from = 0; from < std::size(servers); from++)
    for (std::size_t to = 0; to < std::size(servers); to++) {
      const std::string url = servers[from]->address("/to/" + place_of(*servers[to]) + "/x");
      BOOST_TEST_CONTEXT(url) {
        const int before = servers[to]->requests();
        const std::string problem = problem_with(url);
        if (width(to) <= width(from)) {
          BOOST_TEST(problem == "");
          continue;
        }
        BOOST_TEST(is_refused(problem), problem);
        BOOST_TEST(servers[to]->requests() == before);
      }
    }
  // A chain of redirects is refused, too.
  const std::string inside = place_of(*servers[3]);
  BOOST_TEST(is_refused(problem_with(servers[0]->address(
      fmt::format("/to/{}/to/{}/to/{}/x", place_of(*servers[0]), place_of(*servers[1]), inside)))));
  // A redirect to a name that stands for a loopback address is refused, too.
  const std::string named = "localhost" + inside.substr(inside.find(':'));
  BOOST_TEST(problem_with(servers[1]->address("/to/" + named + "/x")) != "");
}

BOOST_AUTO_TEST_CASE(none_takes_a_token_to_another_host) {
  const OwnAddresses own;
  ScriptedServer first(leading_server(), true, own.in_network());
  ScriptedServer other(leading_server(), true, own.everywhere());
  const std::string back = fmt::format("/to/{}/to/{}/x", place_of(other), place_of(first));
  // A redirect within the same host keeps the token.
  BOOST_TEST(problem_with(other.address(fmt::format("/to/{}/x", place_of(other))), "secret") == "");
  for (const HttpRequest& request : other.seen())
    BOOST_TEST(request.value("Authorization") == "Bearer secret");
  const std::size_t before = other.seen().size();
  BOOST_TEST(is_refused(problem_with(first.address(back), "secret")));
  BOOST_TEST(first.seen().at(0).value("Authorization") == "Bearer secret");
  BOOST_TEST_REQUIRE(other.seen().size() == before + 1);
  BOOST_TEST(other.seen().back().value("Authorization") == "");
  // Another port counts as another host. The token stays away if a redirect leads back to the
  // first.
  ScriptedServer neighbour(leading_server(), true, own.in_network());
  BOOST_TEST(problem_with(
                 first.address(fmt::format("/to/{}/to/{}/x", place_of(neighbour), place_of(first))),
                 "secret") == "");
  BOOST_TEST(neighbour.seen().back().value("Authorization") == "");
  BOOST_TEST(first.seen().back().value("Authorization") == "");
}

BOOST_AUTO_TEST_CASE(a_mount_does_not_follow_one_to_the_host_itself,
                     *utf::precondition(needs_fuse)) {
  const OwnAddresses own;
  ScriptedServer inside(leading_server());
  ScriptedServer outside(leading_server(), true, own.everywhere());
  try {
    Mount mount(outside.address("/to/" + place_of(inside) + "/x.b2frame"),
                impatient({"retry_time=0"}));
    BOOST_TEST(cat(mount / "x") != "contents");
    BOOST_TEST(mount.wait(Seconds(10)));
    BOOST_TEST(is_refused(mount.log()), mount.log());
  } catch (const MountRefused& refused) {
    BOOST_TEST(is_refused(refused.result.err), refused.result.err);
  }
  BOOST_TEST(inside.requests() == 0);
  Mount mount(outside.address("/to/" + place_of(outside) + "/x.b2frame"), impatient());
  BOOST_TEST(cat(mount / "x") == "contents");
}

BOOST_AUTO_TEST_SUITE_END()
