// Endless listings of servers take no more memory than cache_size allows.

#include <atomic>
#include <cerrno>
#include <functional>
#include <string>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <dirent.h>
#include <fmt/core.h>

#include "tests/remote/mounted.hpp"
#include "tests/remote/scripted_server.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/proc.hpp"

namespace {

using namespace bloscfs::test;
namespace utf = boost::unit_test;

constexpr std::uint64_t kListingCache = std::uint64_t{8} << 20;
constexpr std::uint64_t kBesidesListings = std::uint64_t{48} << 20;
constexpr std::size_t kKeysAtOnce = 1000;

/// What is endless in the listing of the folder "endless".
enum class Endless { names, long_names, one_page, empty_elements, tokens };

std::string key_of(const std::string& key) {
  return "<Contents><Key>" + key +
         "</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
         "<ETag>&quot;0123456789abcdef0123456789abcdef&quot;</ETag><Size>10</Size></Contents>";
}

std::string page_of(const std::string& keys, const std::string& token) {
  return "<?xml version=\"1.0\"?><ListBucketResult>" + keys + "<IsTruncated>" +
         (token.empty() ? "false" : "true") + "</IsTruncated>" +
         (token.empty() ? "" : "<NextContinuationToken>" + token + "</NextContinuationToken>") +
         "</ListBucketResult>";
}

std::string endless_page(Endless how, int number) {
  std::string keys;
  const auto token = std::to_string(number);
  switch (how) {
    case Endless::names:
    case Endless::long_names:
      for (std::size_t i = 0; i < kKeysAtOnce; i++)
        keys += key_of(fmt::format("in/endless/{}-{}{}", number, i,
                                   std::string(how == Endless::names ? 0 : 900, 'n')));
      return page_of(keys, token);
    case Endless::one_page:
      while (keys.size() < (std::size_t{7} << 20))
        keys += key_of("in/endless/x" + std::to_string(keys.size()));
      return page_of(keys, {});
    case Endless::empty_elements:
      keys.reserve(std::size_t{8} << 20);
      while (keys.size() < (std::size_t{7} << 20)) keys += "<a/>";
      return page_of(keys, {});
    case Endless::tokens:
      return page_of(key_of("in/endless/x"), std::string(std::size_t{6} << 20, 't') + token);
  }
  return {};
}

/// A store with the frame "in/small.b2frame" and the folder "in/endless/".
class EndlessStore {
 public:
  explicit EndlessStore(Endless how)
      : how_(how),
        frame_(text_of(flat_frame(std::string("small")))),
        server_([this](const HttpRequest& request) { return answer(request); }, false) {}

  std::string endpoint() const { return server_.address(""); }

 private:
  HttpReply answer(const HttpRequest& request) {
    const std::string first = request.head.substr(0, request.head.find('\r'));
    if (first.find("list-type=2") == std::string::npos)
      return {first.find("small.b2frame") != std::string::npos
                  ? range_of(frame_, request)
                  : reply_of("404 Not Found", "", "<Error><Code>NoSuchKey</Code></Error>")};
    const bool is_endless = first.find("endless") != std::string::npos;
    return {reply_of("200 OK", "Content-Type: application/xml\r\n",
                     is_endless ? endless_page(how_, ++pages_)
                                : page_of(key_of("in/small.b2frame") +
                                              "<CommonPrefixes><Prefix>in/endless/</Prefix>"
                                              "</CommonPrefixes>",
                                          {}))};
  }

  const Endless how_;
  const std::string frame_;
  std::atomic<int> pages_{0};
  ScriptedServer server_;
};

int errno_of_listing(const fs_std::path& path) {
  DIR* const directory = ::opendir(path.c_str());
  if (directory == nullptr) return errno;
  errno = 0;
  while (::readdir(directory) != nullptr) continue;
  const int error = errno;
  ::closedir(directory);
  return error;
}

void check_listing_memory(const Mount& mount, std::uint64_t cache_size = kListingCache) {
  const std::uint64_t most = process_memory(mount.pid(), "VmHWM");
  BOOST_TEST_MESSAGE((most >> 10) << " KiB at most");
  BOOST_TEST(most <= cache_size + kBesidesListings, (most >> 20) << " MiB");
}

void check_listing_that_is_refused(Endless how, int error) {
  const EndlessStore store(how);
  MountSettings settings =
      impatient({"cache_size=8M", "anonymous", "endpoint=" + store.endpoint()});
  Mount mount("s3://bucket/in/", settings);
  BOOST_TEST(cat(mount / "small") == "small");
  BOOST_TEST(errno_of_listing(mount / "endless") == error);
  BOOST_TEST(cat(mount / "small") == "small");
  check_listing_memory(mount);
  BOOST_TEST(mount.unmount().ok());
  const std::string log = mount.log();
  if (error == EFBIG) BOOST_TEST(log.find("mount with a larger cache_size") != log.npos, log);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(remote_listing_memory, *utf::precondition(needs_fuse_unsanitized))

BOOST_AUTO_TEST_CASE(of_names_without_an_end_is_bounded) {
  check_listing_that_is_refused(Endless::names, EFBIG);
}

BOOST_AUTO_TEST_CASE(of_long_names_without_an_end_is_bounded) {
  check_listing_that_is_refused(Endless::long_names, EFBIG);
}

BOOST_AUTO_TEST_CASE(of_a_page_with_more_keys_than_were_asked_for_is_bounded) {
  check_listing_that_is_refused(Endless::one_page, EFBIG);
}

BOOST_AUTO_TEST_CASE(of_a_page_of_tiny_elements_is_bounded) {
  check_listing_that_is_refused(Endless::empty_elements, EFBIG);
}

BOOST_AUTO_TEST_CASE(of_long_tokens_is_bounded) {
  check_listing_that_is_refused(Endless::tokens, EFBIG);
}

BOOST_AUTO_TEST_CASE(of_an_index_page_is_bounded) {
  std::string page = "<html><body>";
  for (int i = 0; i < 400'000; i++) page += fmt::format("<a href=\"name-{}\">x</a>\n", i);
  const std::string frame = text_of(flat_frame(std::string("small")));
  const ScriptedServer server(
      [&](const HttpRequest& request) -> HttpReply {
        if (request.head.starts_with("GET /d/small.b2frame")) return {range_of(frame, request)};
        const bool is_large = request.head.starts_with("GET /d/large/");
        return {
            reply_of("200 OK", "Content-Type: text/html\r\n",
                     is_large ? page : "<a href=\"small.b2frame\">s</a><a href=\"large/\">l</a>")};
      },
      false);
  Mount mount(server.address("/d/"), impatient({"cache_size=8M"}));
  BOOST_TEST(errno_of_listing(mount / "large") == EFBIG);
  BOOST_TEST(cat(mount / "small") == "small");
  check_listing_memory(mount);
  BOOST_TEST(mount.unmount().ok());
  const std::string log = mount.log();
  BOOST_TEST(log.find("mount with a larger cache_size") != log.npos, log);
}

BOOST_AUTO_TEST_CASE(of_an_index_page_of_a_hundred_thousand_links_is_enough) {
  constexpr int kLinks = 100'000;
  std::string page = "<html><body><h1>Index of /d/</h1><hr><pre><a href=\"../\">../</a>\n";
  for (int i = 0; i < kLinks; i++) {
    const std::string name = fmt::format("observation-{:06}.b2nd", i);
    page += fmt::format("<a href=\"{0}\">{0}</a>{1:25} 01-Jan-2026 00:00 {1:19}1234\n", name, "");
  }
  const ScriptedServer server(
      [&](const HttpRequest&) -> HttpReply {
        return {reply_of("200 OK", "Content-Type: text/html\r\n", page)};
      },
      false);
  Mount mount(server.address("/d/"), impatient({"cache_size=64M"}));
  BOOST_TEST(names_in(mount.path()).size() == std::size_t{kLinks}, mount.log());
  check_listing_memory(mount, std::uint64_t{64} << 20);
  BOOST_TEST(mount.unmount().ok());
}

BOOST_AUTO_TEST_SUITE_END()
