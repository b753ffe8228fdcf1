// Mounts a server that fails, stays silent, or keeps its readers waiting.

#include <csignal>
#include <optional>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/mount/place.hpp"
#include "tests/remote/mounted.hpp"
#include "tests/remote/scripted_server.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/proc.hpp"

namespace {

using namespace bloscfs::test;
namespace utf = boost::unit_test;
using Clock = std::chrono::steady_clock;

/// Serves a folder with "good.b2frame" and "bad.b2frame". `mode` says how it answers for the
/// latter.
class MoodyServer {
 public:
  enum class Mode { good, unavailable, missing, forbidden, silent, cut, wrong_range };

  MoodyServer()
      : frame_(text_of(large_object(3 << 20))),
        server_([this](const HttpRequest& request) { return answer(request); }) {}

  std::atomic<Mode> mode{Mode::good};
  std::atomic<int> failures_left{1'000'000};  ///< after so many failures, answers as Mode::good
  std::atomic<int> bad_requests{0};
  std::atomic<bool> is_listing_bad{false};

  std::string url() const { return server_.address("/d/"); }
  std::string url_of_bad() const { return server_.address("/d/bad.b2frame"); }

 private:
  HttpReply answer(const HttpRequest& request) {
    const bool is_listing = request.head.starts_with("GET /d/ ");
    const bool is_bad =
        request.head.starts_with("GET /d/bad.b2frame ") || (is_listing && is_listing_bad);
    if (is_bad) {
      bad_requests++;
      if (mode != Mode::good && failures_left-- > 0) return bad_answer(request);
    }
    if (is_listing)
      return {reply_of("200 OK", "Content-Type: text/html\r\n",
                       "<a href=\"bad.b2frame\">1</a><a href=\"good.b2frame\">2</a>"),
              {},
              false};
    return {range_of(frame_, request), {}, false};
  }

  HttpReply bad_answer(const HttpRequest& request) const {
    switch (mode.load()) {
      case Mode::unavailable:
        return {reply_of("503 Busy", "", "later"), {}, false};
      case Mode::missing:
        return {reply_of("404 Gone", "", ""), {}, false};
      case Mode::forbidden:
        return {reply_of("403 No", "", ""), {}, false};
      case Mode::silent:
        return {"", std::chrono::minutes(10), true};
      case Mode::cut:
        return {range_of(frame_, request).substr(0, 1000), {}, true};
      case Mode::wrong_range: {
        HttpRequest other = request;
        other.first += 100;
        other.last += 100;
        return {range_of(frame_, other), {}, false};
      }
      case Mode::good:
        break;
    }
    return {};
  }

  const std::string frame_;
  ScriptedServer server_;
};

using Mode = MoodyServer::Mode;

Seconds since(Clock::time_point begin) { return Clock::now() - begin; }

/// Returns settings with a `retry_time` that no test reaches, unless `options` override it.
MountSettings patient(const std::vector<std::string>& options = {}) {
  MountSettings settings;
  settings.options = {"retry_time=60"};
  settings.options.insert(settings.options.end(), options.begin(), options.end());
  return settings;
}

/// Limits in seconds, with room for a busy machine. kSoon is for an event that comes at once; a
/// failing mount would take at least 8 s. kGivenUp is for an event after 2 s; a failing mount would
/// take 20 s.
constexpr double kSoon = 7, kGivenUp = 16;

/// An offset whose blocks the mount does not know yet.
constexpr const char* kFar = "2000000";

/// A program that reads some bytes of a file while the test continues.
class Reader {
 public:
  explicit Reader(const fs_std::path& file)
      : child_({"dd", "if=" + file.string(), "of=/dev/null", "bs=4096", "count=1",
                "iflag=skip_bytes", std::string("skip=") + kFar},
               (place_ / "log").string()) {}
  Child& child() { return child_; }
  std::string log() const { return text_of(read_file(place_ / "log")); }

 private:
  TempDir place_;
  Child child_;
};

std::string read_far(const fs_std::path& file, Seconds limit = Seconds(15)) {
  Reader reader(file);
  if (!reader.child().wait(limit)) return "timed out";
  return reader.child().result().ok() ? "ok" : reader.log();
}

bool says(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

int lines_with(const std::string& text, const std::string& what) {
  int count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    count++;
  return count;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(mount_failures, *utf::precondition(needs_fuse))

BOOST_AUTO_TEST_CASE(what_passes_is_not_seen) {
  MoodyServer server;
  for (const Mode mode : {Mode::unavailable, Mode::cut}) {
    server.mode = mode;
    server.failures_left = 2;
    Mount mount(server.url(), impatient());
    BOOST_TEST(read_far(mount / "bad") == "ok");
    server.failures_left = 2;
    BOOST_TEST(cat(mount / "bad").size() == 3U << 20);
    BOOST_TEST(server.failures_left <= 0);
    BOOST_TEST(says(mount.log(), "/d/bad.b2frame: "), mount.log());
  }
}

BOOST_AUTO_TEST_CASE(what_is_refused_is_told_at_once_and_not_remembered) {
  MoodyServer server;
  for (const auto& [mode, what] :
       {std::pair(Mode::missing, "No such file"), std::pair(Mode::forbidden, "Permission denied")})
    BOOST_TEST_CONTEXT(what) {
      Mount mount(server.url(), impatient());
      server.mode = mode;
      BOOST_TEST(says(cat(mount / "bad"), what));
      BOOST_TEST(cat(mount / "good").size() == 3U << 20);
      server.mode = Mode::good;
      BOOST_TEST(cat(mount / "bad").size() == 3U << 20);
      // Reads of an open file fail in the same way.
      const fs_std::path file = mount / "bad";
      Mount other(server.url(), impatient());
      const int fd = ::open((other / "bad").c_str(), O_RDONLY | O_CLOEXEC);
      BOOST_TEST_REQUIRE(fd >= 0);
      server.mode = mode;
      char byte = 0;
      BOOST_TEST(::pread(fd, &byte, 1, 1'500'000) == -1);
      BOOST_TEST((errno == EIO || errno == ENOENT || errno == EACCES), errno);
      ::close(fd);
      BOOST_TEST(lines_with(other.complaints(), "\n") <= 2, other.log());
      BOOST_TEST(says(other.log(), "HTTP status 40"), other.log());
      server.mode = Mode::good;
    }
}

BOOST_AUTO_TEST_CASE(what_stays_bad_is_an_error_after_the_time_for_it) {
  MoodyServer server;
  for (const auto& [mode, what] :
       {std::pair(Mode::unavailable, "Input/output error"), std::pair(Mode::silent, "timed out"),
        std::pair(Mode::cut, "Input/output error"),
        std::pair(Mode::wrong_range, "Input/output error")})
    BOOST_TEST_CONTEXT(static_cast<int>(mode)) {
      Mount mount(server.url(), impatient());
      server.mode = mode;
      const auto begin = Clock::now();
      BOOST_TEST(says(cat(mount / "bad"), what));
      BOOST_TEST(since(begin).count() < kGivenUp);
      BOOST_TEST(cat(mount / "good").size() == 3U << 20);
      server.mode = Mode::good;
      BOOST_TEST(read_far(mount / "bad") == "ok");
      BOOST_TEST(says(mount.log(), "/d/bad.b2frame"), mount.log());
      BOOST_TEST(lines_with(mount.complaints(), "\n") <= 4, mount.log());
    }
}

BOOST_AUTO_TEST_CASE(a_command_that_waits_for_its_server_ends_when_it_is_interrupted) {
  MoodyServer server;
  server.mode = Mode::silent;
  for (const int number : {SIGINT, SIGTERM})
    for (const char* const where : {"-d", "-ocache_size=8M"}) {
      const TempDir home;
      const fs_std::path point = home / "mount";
      fs_std::create_directory(point);
      const int asked = server.bad_requests;
      Child command({bloscfs_program(), where, server.url_of_bad(), point}, home / "log");
      BOOST_TEST(comes_true([&] { return server.bad_requests > asked; }));
      command.signal(number);
      BOOST_TEST(command.wait(Seconds(10)));
      BOOST_TEST(comes_true([&] { return daemon_of(point) < 0; }));
      BOOST_TEST(!is_mounted(point));
    }
}

BOOST_AUTO_TEST_CASE(who_waits_can_be_killed_and_others_go_on) {
  MoodyServer server;
  Mount mount(server.url(), patient({"revalidate=60", "retry_time=8"}));
  const std::string known = cat(mount / "good");
  BOOST_TEST(known.size() == 3U << 20);
  BOOST_TEST(output_of({"ls", mount.path().string()}) == "bad\ngood\n");
  // This reader waits in open(), or in the lookup before it.
  server.mode = Mode::silent;
  std::optional<Reader> opener(mount / "bad");
  BOOST_TEST(comes_true([&] { return server.bad_requests > 0; }));
  server.mode = Mode::good;
  BOOST_TEST(opener->child().running());
  const auto others_go_on = [&] {
    const auto begin = Clock::now();
    BOOST_TEST(output_of({"ls", mount.path().string()}) == "bad\ngood\n");
    BOOST_CHECK(cat(mount / "good") == known);
    BOOST_TEST(since(begin).count() < kSoon);
  };
  others_go_on();
  auto begin = Clock::now();
  opener->child().signal(SIGKILL);
  BOOST_TEST(opener->child().wait(Seconds(5)));
  BOOST_TEST(since(begin).count() < kSoon);
  // These readers wait for bytes.
  BOOST_TEST(output_of({"stat", "-c%s", (mount / "bad").string()}) == "3145728\n");
  const int asked = server.bad_requests;
  server.mode = Mode::silent;
  std::optional<Reader> readers[20];
  for (auto& reader : readers) reader.emplace(mount / "bad");
  BOOST_TEST(comes_true([&] { return server.bad_requests > asked; }));
  BOOST_TEST(comes_true([&] { return mount.serves() >= 2; }));
  for (auto& reader : readers) BOOST_TEST(reader->child().running());
  others_go_on();
  begin = Clock::now();
  for (auto& reader : readers) reader->child().signal(SIGKILL);
  for (auto& reader : readers) BOOST_TEST(reader->child().wait(Seconds(5)));
  BOOST_TEST(since(begin).count() < kSoon);
  server.mode = Mode::good;
  BOOST_TEST(read_far(mount / "bad") == "ok");
}

BOOST_AUTO_TEST_CASE(the_page_of_a_reader_that_is_killed_is_asked_for_anew) {
  MoodyServer server;
  Mount mount(server.url(), patient({"revalidate=60"}));
  // The mount now knows what it needs to open the file, so both readers wait for bytes.
  BOOST_TEST(output_of({"head", "-c1", (mount / "bad").string()}).size() == 1U);
  const int asked = server.bad_requests;
  server.mode = Mode::silent;
  Reader first(mount / "bad");
  BOOST_TEST(comes_true([&] { return server.bad_requests > asked; }));
  Reader second(mount / "bad");
  // The kernel makes the second reader wait for the page that the first one has requested.
  BOOST_TEST(comes_to_call(second.child().pid(), SYS_read));
  server.mode = Mode::good;
  const auto begin = Clock::now();
  first.child().signal(SIGKILL);
  // This is much sooner than the mount gives up a silent attempt.
  BOOST_TEST(second.child().wait(Seconds(15)));
  BOOST_TEST(second.child().result().ok(), second.log());
  BOOST_TEST_MESSAGE(fmt::format("{:.2f} s", since(begin).count()));
  BOOST_TEST(since(begin).count() < kSoon);
}

BOOST_AUTO_TEST_CASE(a_silent_server_does_not_keep_the_mount) {
  MoodyServer server;
  for (const int number : {0, SIGTERM}) BOOST_TEST_CONTEXT(number) {
      Mount mount(server.url(), patient());
      BOOST_TEST(cat(mount / "good").size() == 3U << 20);
      server.mode = Mode::good;
      BOOST_TEST(fs_std::file_size(mount / "bad") == 3U << 20);
      const int asked = server.bad_requests;
      server.mode = Mode::silent;
      Reader reader(mount / "bad");
      BOOST_TEST(comes_true([&] { return server.bad_requests > asked; }));
      const auto begin = Clock::now();
      if (number == 0) {
        reader.child().signal(SIGKILL);
        reader.child().wait(Seconds(5));
        BOOST_TEST(mount.unmount().ok(), mount.log());
      } else {
        mount.signal(number);
        BOOST_TEST(mount.wait(Seconds(15)));
        BOOST_TEST(!is_mounted(mount.path()));
      }
      BOOST_TEST(since(begin).count() < kSoon);
      BOOST_TEST(reader.child().wait(Seconds(5)));
    }
}

BOOST_AUTO_TEST_CASE(a_mount_of_a_dead_server_is_unmounted_without_a_request) {
  MoodyServer server;
  Mount mount(server.url(), patient());
  BOOST_TEST(output_of({"ls", mount.path().string()}) == "bad\ngood\n");
  outlive_knowledge();
  server.is_listing_bad = true;
  server.mode = Mode::silent;
  const int asked = server.bad_requests;
  const ProcessResult result = run({bloscfs_program(), "--unmount", mount.path().string()});
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(server.bad_requests == asked);
  BOOST_TEST(mount.wait(Seconds(10)));
}

BOOST_AUTO_TEST_CASE(readahead_does_not_keep_the_mount) {
  MoodyServer server;
  Mount mount(server.url(), patient());
  // The server becomes silent in the middle of the file.
  Child reader({"cat", (mount / "bad").string()}, "/dev/null");
  BOOST_TEST(comes_true([&] { return server.bad_requests >= 2; }));
  server.mode = Mode::silent;
  BOOST_TEST(comes_true([&] { return mount.serves() > 0; }));
  reader.signal(SIGKILL);
  BOOST_TEST(reader.wait(Seconds(5)));
  const auto begin = Clock::now();
  BOOST_TEST(mount.unmount().ok(), mount.log());
  BOOST_TEST(since(begin).count() < kSoon);
}

BOOST_AUTO_TEST_CASE(a_listing_that_fails_says_so) {
  MoodyServer server;
  Mount mount(server.url(), impatient());
  server.is_listing_bad = true;
  for (const auto& [mode, what] : {std::pair(Mode::forbidden, "Permission denied"),
                                   std::pair(Mode::unavailable, "Input/output error")}) {
    outlive_knowledge();
    server.mode = mode;
    const int asked = server.bad_requests;
    BOOST_TEST(says(output_of({"ls", mount.path().string()}), what));
    // The mount does not list twice for one command, which would wait twice for a dead server.
    if (mode == Mode::forbidden) BOOST_TEST(server.bad_requests == asked + 1);
  }
  server.mode = Mode::good;
  BOOST_TEST(output_of({"ls", mount.path().string()}) == "bad\ngood\n");
}

BOOST_AUTO_TEST_CASE(a_server_that_is_not_there_is_no_mount) {
  const std::string url = fmt::format("http://127.0.0.1:{}/x.b2frame", free_port());
  const auto begin = Clock::now();
  const TempDir point;
  const ProcessResult result =
      run({bloscfs_program(), "-o", "retry_time=2", url, point.path().string()});
  BOOST_TEST(result.status == 1);
  BOOST_TEST(says(result.err, "\nbloscfs: " + url + ": "), result.err);
  BOOST_TEST(!is_mounted(point.path()));
  force_unmount(point.path());
  BOOST_TEST(since(begin).count() < kGivenUp);
}

BOOST_AUTO_TEST_SUITE_END()
