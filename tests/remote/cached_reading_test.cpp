// Reads objects through the disk cache.

#include <random>

#include <boost/test/unit_test.hpp>

#include "frame/remote/open_remote.hpp"
#include "frame/remote/remote_error.hpp"
#include "tests/remote/nginx.hpp"
#include "tests/remote/scripted_server.hpp"

namespace {

using namespace bloscfs::frame;
using namespace bloscfs::test;
namespace utf = boost::unit_test;

/// An object on a server, and a disk cache that all trees of mount() share.
struct Kept {
  explicit Kept(std::size_t size) : object(contents_of(size, 1)) {}

  static std::string contents_of(std::size_t size, unsigned seed) {
    std::string text(size, 0);
    std::minstd_rand random(seed);
    for (char& c : text) c = static_cast<char>(random() >> 8);
    return text;
  }

  HttpReply answer(const HttpRequest& request) const {
    if (takes_conditions && !etag.empty() && request.value("If-None-Match") == etag)
      return {"HTTP/1.1 304 Not Modified\r\nETag: " + etag + "\r\n\r\n", {}, false};
    if (!has_ranges) return {reply_of("200 OK", "ETag: " + etag + "\r\n", object), {}, false};
    return {range_of(object, request, "ETag: " + etag + "\r\n"), {}, false};
  }

  std::shared_ptr<ObjectTree> mount() const {
    RemoteSettings settings;
    settings.retry_time = std::chrono::seconds(0);
    settings.disk_cache = folder();
    settings.disk_cache_size = cache_size;
    return open_remote(server.address("/x"), settings);
  }

  std::string folder() const { return (place / "cache").string(); }
  std::vector<fs_std::path> files() const {
    std::vector<fs_std::path> found;
    for (const auto& entry : fs_std::recursive_directory_iterator(folder()))
      if (entry.is_regular_file()) found.push_back(entry.path());
    return found;
  }

  std::string object, etag = "\"1\"";
  std::uint64_t cache_size = 1 << 30;
  bool has_ranges = true, takes_conditions = true;
  const TempDir place;
  ScriptedServer server{[this](const HttpRequest& request) { return answer(request); }};
};

std::string read_part(const ObjectSource& object, std::uint64_t offset, std::size_t size) {
  std::string out(size, 0);
  out.resize(object.read_at(offset, {reinterpret_cast<std::uint8_t*>(out.data()), size}));
  return out;
}

/// Reads the whole object in reads of `step` bytes.
std::string read_all(const ObjectSource& object, std::size_t step) {
  std::string all;
  for (std::string part; !(part = read_part(object, all.size(), step)).empty();) all += part;
  return all;
}

/// Reads the whole object through a new tree, and returns the number of requests. Afterwards the
/// cache has written everything to the disk.
int requests_of_reading(Kept& kept, std::size_t step) {
  const int before = kept.server.requests();
  {
    const auto tree = kept.mount();
    const auto object = tree->open("x", nullptr);
    BOOST_TEST((read_all(*object, step) == kept.object));
  }
  return kept.server.requests() - before;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cached_reading)

BOOST_AUTO_TEST_CASE(what_was_read_once_needs_one_question) {
  for (const std::size_t size : {100U, 65536U, 65537U, 3'000'001U})
    for (const std::size_t step : {std::size_t{4096}, std::size_t{100'001}, std::size_t{8} << 20}) {
      Kept kept(size);
      BOOST_TEST(requests_of_reading(kept, step) >= 1);
      BOOST_TEST(requests_of_reading(kept, 10'000) == 1);
      BOOST_TEST(requests_of_reading(kept, 1 << 20) == 1);
      BOOST_TEST(kept.server.seen().back().value("If-None-Match") == "\"1\"");
      // The cache also works if the server ignores conditions.
      kept.takes_conditions = false;
      BOOST_TEST(requests_of_reading(kept, 65536) == 1);
    }
}

BOOST_AUTO_TEST_CASE(a_changed_object_is_read_anew) {
  Kept kept(1'000'000);
  requests_of_reading(kept, 100'000);
  kept.object = Kept::contents_of(1'000'000, 2);
  kept.etag = "\"2\"";
  BOOST_TEST(requests_of_reading(kept, 100'000) > 1);
  BOOST_TEST(requests_of_reading(kept, 100'000) == 1);
  // An object with the same ETag but another length is another state, too.
  kept.object.resize(900'000);
  kept.takes_conditions = false;
  BOOST_TEST(requests_of_reading(kept, 100'000) > 1);
}

BOOST_AUTO_TEST_CASE(a_torn_piece_is_fetched_again) {
  Kept kept(1'000'000);
  requests_of_reading(kept, 100'000);
  for (const fs_std::path& file : kept.files()) {
    ByteVector bytes = read_file(file);
    bytes[bytes.size() / 2] ^= 1;
    write_file(file, bytes);
    BOOST_TEST(requests_of_reading(kept, 100'000) <= 2, file);
    BOOST_TEST(requests_of_reading(kept, 100'000) == 1, file);
  }
  for (const fs_std::path& file : kept.files()) fs_std::resize_file(file, 0);
  requests_of_reading(kept, 1'000'000);
  BOOST_TEST(requests_of_reading(kept, 100'000) == 1);
}

BOOST_AUTO_TEST_CASE(what_is_missing_alone_is_asked_for) {
  Kept kept(4 << 20);
  {
    const auto tree = kept.mount();
    const auto object = tree->open("x", nullptr);
    BOOST_TEST((read_part(*object, 1'500'000, 500'000) == kept.object.substr(1'500'000, 500'000)));
  }
  const auto tree = kept.mount();
  const auto object = tree->open("x", nullptr);
  const int before = kept.server.requests();
  BOOST_TEST((read_part(*object, 1'600'000, 300'000) == kept.object.substr(1'600'000, 300'000)));
  const ByteRange expected{1'500'000, 400'000};
  BOOST_TEST(object->is_available({&expected, 1}));
  const ByteRange missing{1'500'000, 600'000};
  BOOST_TEST(!object->is_available({&missing, 1}));
  object->expect({&expected, 1});
  BOOST_TEST((read_part(*object, 1'500'000, 4096) == kept.object.substr(1'500'000, 4096)));
  BOOST_TEST(kept.server.requests() == before);
  BOOST_TEST(
      (read_part(*object, 1'000'000, 1'500'000) == kept.object.substr(1'000'000, 1'500'000)));
  BOOST_TEST(kept.server.requests() == before + 2);
}

BOOST_AUTO_TEST_CASE(tags_that_are_weak_or_missing_keep_nothing) {
  for (const char* tag : {"W/\"1\"", ""}) {
    Kept kept(300'000);
    kept.etag = tag;
    requests_of_reading(kept, 100'000);
    BOOST_TEST(requests_of_reading(kept, 100'000) > 1);
    BOOST_TEST(kept.files().empty());
  }
}

BOOST_AUTO_TEST_CASE(servers_without_ranges_are_read_as_without_a_cache) {
  Kept kept(1'000'000);
  kept.has_ranges = false;
  BOOST_TEST(requests_of_reading(kept, 100'000) == 1);
  BOOST_TEST(requests_of_reading(kept, 100'000) == 1);
  BOOST_TEST(kept.files().empty());
}

BOOST_AUTO_TEST_CASE(reads_are_right_whatever_goes_and_comes) {
  Kept kept(6'000'000);
  kept.cache_size = 2 << 20;
  std::minstd_rand random(7);
  for (int mount = 0; mount < 5; mount++) {
    const auto tree = kept.mount();
    const auto object = tree->open("x", nullptr);
    for (int i = 0; i < 150; i++) {
      const std::size_t offset = random() % kept.object.size();
      const std::size_t size = random() % (i % 10 == 0 ? 1'500'000 : 20'000);
      BOOST_REQUIRE((read_part(*object, offset, size) == kept.object.substr(offset, size)));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_cache_that_goes_away_is_done_without) {
  Kept kept(2'000'000);
  requests_of_reading(kept, 100'000);
  const auto tree = kept.mount();
  const auto object = tree->open("x", nullptr);
  BOOST_TEST((read_part(*object, 1'000'000, 1000) == kept.object.substr(1'000'000, 1000)));
  fs_std::remove_all(kept.folder());
  BOOST_TEST((read_all(*object, 50'000) == kept.object));
}

BOOST_AUTO_TEST_CASE(nginx_is_asked_once_for_what_is_known, *utf::precondition(needs_nginx)) {
  const TempDir place;
  Nginx nginx;
  const std::string bytes = Kept::contents_of(1'000'000, 1);
  write_file(nginx.www() / "x", std::string_view(bytes));
  RemoteSettings settings;
  settings.disk_cache = (place / "cache").string();
  for (const bool is_first : {true, false}) {
    nginx.forget_requests();
    {
      const auto tree = open_remote(nginx.url("x"), settings);
      BOOST_TEST((read_all(*tree->open("x", nullptr), 100'000) == bytes));
    }
    const auto lines = nginx.wait_for_requests(1);
    BOOST_TEST(lines.at(0) ==
               (is_first ? "206" : "304") + std::string(" GET /x bytes=0-65535 HTTP/1.1"));
    BOOST_TEST((lines.size() == 1) == !is_first);
  }
}

BOOST_AUTO_TEST_CASE(a_folder_that_will_not_do_is_told) {
  Kept kept(100);
  fs_std::create_directory(kept.folder());
  fs_std::permissions(kept.folder(), fs_std::perms(0777));
  BOOST_CHECK_THROW(kept.mount(), std::system_error);
  BOOST_TEST(kept.server.requests() == 0);
}

BOOST_AUTO_TEST_SUITE_END()
