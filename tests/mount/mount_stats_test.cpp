// Tests `bloscfs --stats`.

#include <algorithm>
#include <sstream>
#include <string>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>

#include "tests/mount/asked_mounts.hpp"
#include "tests/mount/place.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;
using nlohmann::json;

}  // namespace

BOOST_AUTO_TEST_SUITE(mount_stats)

BOOST_AUTO_TEST_CASE(counters_are_for_all_and_names_for_the_owner,
                     *precondition(needs_fuse_for_nobody)) {
  const ForOthers place;
  const Mount mount(place.source(), with_options({"allow_other"}));
  const auto result = place.as_nobody({"--stats", mount.path().string(), "--json"});
  BOOST_TEST_REQUIRE(result.ok(), result.description());
  const json stats = json::parse(result.out);
  BOOST_TEST(stats.at("counters").at("pid") == mount.pid());
  BOOST_TEST(!stats.contains("requests"));
  BOOST_TEST(stats_of(mount).contains("requests"));
}

BOOST_AUTO_TEST_CASE(stats_count_requests_and_how_long_they_take, *precondition(needs_fuse)) {
  const TempDir source;
  const Mount mount(source.path());
  const auto bytes = make_contents("noise", 4, 3000000, 1);
  write_file(mount / "a", bytes);
  BOOST_CHECK(read_file(mount / "a") == bytes);
  const json stats = stats_of(mount);
  const json& operations = stats.at("operations");
  BOOST_TEST(operations.at("write").at("bytes") == 3000000);
  BOOST_TEST(operations.at("read").at("bytes").get<int>() >= 3000000);
  BOOST_TEST(operations.at("create").at("count") == 1);
  for (const char* name : {"write", "create", "lookup"}) {
    const json& one = operations.at(name);
    BOOST_TEST(one.at("per_second").get<double>() > 0);
    BOOST_TEST(one.at("p50_us").get<int>() <= one.at("p99_us").get<int>());
    BOOST_TEST(one.at("p99_us").get<int>() > 0);
  }
  const std::string page = bloscfs({"--stats", mount.path().string()}).out;
  BOOST_TEST(page.starts_with(mount.path().string() + ": " + source.path().string()), page);
  BOOST_TEST(contains(page, "\nwrite "), page);
}

BOOST_AUTO_TEST_CASE(what_waits_is_shown_with_the_reason, *precondition(needs_programs("cat"))) {
  const TempDir source;
  write_file(source / "run.b2frame", flat_frame(std::string("contents")));
  write_file(source / "run.b2frame.b2lock", ByteVector());
  const Mount mount(source.path());
  const Fd lock(::open((source / "run.b2frame.b2lock").c_str(), O_RDWR | O_CLOEXEC));
  BOOST_REQUIRE(::flock(lock.get(), LOCK_EX) == 0);
  Child reader({"cat", (mount / "run").string()}, (source / "log").string());
  json waiting;
  BOOST_TEST(comes_true([&] {
    const json stats = stats_of(mount);
    for (const json& request : stats.at("requests"))
      if (request.value("waits_for", "") == "other_program") waiting = request;
    return !waiting.is_null();
  }));
  BOOST_TEST_REQUIRE(waiting.is_object());
  BOOST_TEST(waiting.at("name") == "run.b2frame");
  BOOST_TEST(waiting.at("process") == reader.pid());
  BOOST_TEST(waiting.at("waits_us").get<int>() <= waiting.at("age_us").get<int>());
  const std::string page = bloscfs({"--stats", mount.path().string()}).out;
  BOOST_TEST(contains(page, "  other_program "), page);
  ::flock(lock.get(), LOCK_UN);
  BOOST_TEST(reader.wait(Seconds(20)));
  BOOST_TEST(reader.result().ok());
  BOOST_TEST(stats_of(mount).at("requests").empty());
}

BOOST_AUTO_TEST_CASE(prometheus_gets_the_counters_of_all_mounts, *precondition(needs_fuse)) {
  const TempDir source, other_source;
  const Mount mount(source.path()), other(other_source.path());
  write_file(mount / "a", "contents");
  const auto result = bloscfs({"--stats", "--prometheus"});
  BOOST_TEST(result.ok(), result.description());
  const auto labels = [](const Mount& of, const TempDir& what) {
    return "{mountpoint=\"" + of.path().string() + "\",source=\"" + what.path().string() + "\"";
  };
  for (const std::string& line :
       {std::string("# TYPE bloscfs_up gauge\n"), "\nbloscfs_up" + labels(mount, source) + "} 1\n",
        "\nbloscfs_up" + labels(other, other_source) + "} 1\n",
        "\nbloscfs_dirty_bytes" + labels(other, other_source) + "} 0\n",
        "\nbloscfs_failing_files" + labels(mount, source) + "} 0\n",
        "\nbloscfs_operation_duration_seconds_bucket" + labels(mount, source) +
            ",operation=\"create\",le=\"+Inf\"} 1\n"})
    BOOST_TEST(contains("\n" + result.out, line), result.out);
  // Times are multiples of a microsecond at most.
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t point = line.find('.', line.rfind(' '));
    if (!line.starts_with('#') && point != std::string::npos && !contains(line, "e-"))
      BOOST_TEST(line.size() - point <= 7u, line);
  }
  std::string cpu = "\nbloscfs_process_cpu_seconds_total" + labels(mount, source) + "} ";
  std::string memory = "\nbloscfs_process_resident_memory_bytes" + labels(mount, source) + "} ";
  for (const std::string& name : {cpu, memory})
    BOOST_TEST_REQUIRE(result.out.find(name) != std::string::npos, result.out);
  // The processor time of so short a life may round to 0.
  BOOST_TEST(std::stod(result.out.substr(result.out.find(cpu) + cpu.size())) >= 0);
  BOOST_TEST(std::stod(result.out.substr(result.out.find(memory) + memory.size())) > 1e6);
  const std::string one = bloscfs({"--stats", mount.path().string(), "--prometheus"}).out;
  BOOST_TEST(!contains(one, other.path().string()));
  for (const Arguments& words : {Arguments{"--stats", "--prometheus", mount.path().string()},
                                 {"--prometheus", "--stats", mount.path().string()}}) {
    const auto same = bloscfs(words);
    BOOST_TEST(same.ok(), same.description());
    BOOST_TEST(contains(same.out, mount.path().string()));
    BOOST_TEST(!contains(same.out, other.path().string()));
  }
  BOOST_TEST(bloscfs({"--stats", "--json", mount.path().string()}).ok());
  BOOST_TEST(bloscfs({"--stats", "--prometheus", "/a", "/b"}).status == 2);
}

BOOST_AUTO_TEST_CASE(watching_fits_the_terminal,
                     *precondition(needs_fuse) * precondition(needs_programs("script stty"))) {
  const TempDir source, home;
  const Mount mount(source.path());
  write_file(mount / "a", "contents");
  Child watch({"script", "-qfc",
               "stty rows 6 cols 30; exec " + bloscfs_program() + " --stats " +
                   mount.path().string() + " --watch",
               (home / "screen").string()},
              (home / "log").string());
  const auto screen = [&] {
    if (!fs_std::exists(home / "screen")) return std::string();
    const auto bytes = read_file(home / "screen");
    return std::string(bytes.begin(), bytes.end());
  };
  const std::string begin = "\033[H";
  BOOST_TEST(comes_true([&] {
    const std::string all = screen();
    const std::size_t first = all.find(begin);
    return first != std::string::npos && all.find(begin, first + 1) != std::string::npos;
  }));
  watch.signal(SIGINT);
  watch.wait(Seconds(10));
  const std::string all = screen();
  const std::size_t first = all.find(begin) + begin.size();
  std::istringstream page(all.substr(first, all.find(begin, first) - first));
  int rows = 0;
  for (std::string line; std::getline(page, line);) {
    const std::size_t width = line.find("\033[K");
    if (width == std::string::npos) continue;  // clears the rest of the screen
    BOOST_TEST(width <= 30u, line);
    rows++;
  }
  BOOST_TEST(rows == 5);
}

BOOST_AUTO_TEST_CASE(watching_shows_each_second, *precondition(needs_fuse)) {
  const TempDir source, home;
  const Mount mount(source.path());
  write_file(mount / "a", "contents");
  const std::string log = home / "log";
  Child watch({bloscfs_program(), "--stats", mount.path().string(), "--watch", "--json"}, log);
  const auto lines = [&] {
    const auto bytes = read_file(log);
    return std::count(bytes.begin(), bytes.end(), std::uint8_t{'\n'});
  };
  BOOST_TEST(comes_true([&] { return lines() >= 2; }));
  watch.signal(SIGINT);
  BOOST_TEST(watch.wait(Seconds(10)));
  const auto bytes = read_file(log);
  std::istringstream stream(std::string(bytes.begin(), bytes.end()));
  std::string line;
  std::getline(stream, line);
  const json first = json::parse(line);
  BOOST_TEST(first.at("seconds").get<double>() >= 0.5);
  // Counts only the last second.
  BOOST_TEST(!first.at("operations").contains("create"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
