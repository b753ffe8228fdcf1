// Two hosts, each in a network of its own, commit to the same files of one store. Their daemons are
// killed, and their requests fail. At the same time, a third host copies the files.
//
// BLOSCFS_TEST_RACE_SECONDS is the duration.

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/peer/frame_request.hpp"
#include "tests/remote/bad_proxy.hpp"
#include "tests/remote/mounted.hpp"
#include "tests/remote/object_mount.hpp"
#include "tests/remote/own_network.hpp"
#include "tests/remote/rgw.hpp"
#include "tests/remote/store_chunks.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/draw.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/peer.hpp"

namespace {

using namespace bloscfs::test;
namespace utf = boost::unit_test;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kFiles = 20, kWritersOfOne = 3, kBadPercent = 5;
constexpr std::size_t kBegin = 40'000;

std::string file_name(int file) { return fmt::format("file-{:02}", file); }

std::string begin_of(int file) {
  const ByteVector bytes = make_contents("text", static_cast<std::uint64_t>(file), kBegin, 1);
  return std::string(bytes.begin(), bytes.end()) + "\n";
}

/// Appended lines, by the result of their fsync(): success, ESTALE, or another error.
struct Lines {
  std::vector<std::string> acknowledged, refused, unknown;
};

/// A host whose daemon is killed again and again, and mounted anew each time.
class Host {
 public:
  Host(const StorePlace& place, int number, std::uint64_t seed)
      : place_(place),
        name_(fmt::format("host-{}", number)),
        network_(number),
        proxy_(shared_rgw().port(), seed, network_.our_address()),
        random_(seed) {}

  /// Appends to the files until `end`. Throws an exception if something goes wrong.
  void work(Clock::time_point end) {
    while (Clock::now() < end) work_for_a_while(end);
  }

  const Lines& lines(int file) const { return lines_.at(static_cast<std::size_t>(file)); }
  /// Returns the log lines of all daemons of this host about a file, for messages.
  std::string log_of(const std::string& file) const {
    std::istringstream lines(log_);
    std::string found;
    for (std::string line; std::getline(lines, line);)
      if (line == "killed" || line.find(file) != std::string::npos) found += line + "\n";
    return found;
  }
  std::string summary() const {
    return fmt::format("{}: killed {} times, {} requests:{}", name_, kills_, proxy_.requests(),
                       proxy_.counts());
  }

 private:
  void work_for_a_while(Clock::time_point end) {
    MountSettings settings =
        place_.settings({"revalidate=0", "retry_time=10", "chunk_size=16K"}, proxy_.address(""));
    settings.program = network_.inside(bloscfs_program());
    proxy_.be_good();
    Mount mount(place_.source(), settings);
    // The mount appears before the daemon has probed the store. The root answers after the probe.
    if (!fs_std::is_directory(mount.path())) throw std::runtime_error(mount.log());
    proxy_.be_bad(kBadPercent);
    std::atomic<bool> is_over{false};
    std::vector<std::thread> writers;
    for (int i = 0; i < kWritersOfOne; i++)
      writers.emplace_back([&, seed = random_()] { write(mount.path(), seed, is_over); });
    const auto stop = std::min(end, Clock::now() + milliseconds(between(random_, 1500, 8000)));
    std::this_thread::sleep_until(stop);
    const bool is_killed = stop < end;
    if (is_killed) {
      kills_++;
      mount.signal(SIGKILL);
      mount.wait(Seconds(10));
    }
    is_over = true;
    if (is_killed) force_unmount(mount.path());
    log_ += mount.log() + (is_killed ? "killed\n" : "ended\n");
    for (std::thread& writer : writers) writer.join();
    if (is_killed) return;
    proxy_.be_good();
    if (!mount.unmount().ok()) throw std::runtime_error(mount.log());
  }

  void write(const fs_std::path& root, std::uint64_t seed, const std::atomic<bool>& is_over) {
    Random random(seed);
    while (!is_over) {
      const auto file = static_cast<std::size_t>(between(random, 0, kFiles - 1));
      const std::lock_guard guard(mutexes_.at(file));
      append(root / file_name(static_cast<int>(file)), file);
    }
  }

  void append(const fs_std::path& path, std::size_t file) {
    const std::string line = fmt::format("{} line {}\n", name_, next_line_++);
    const Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    struct stat st {};
    if (!fd || ::fstat(fd.get(), &st) != 0) return;
    const auto size = static_cast<ssize_t>(line.size());
    if (::pwrite(fd.get(), line.data(), line.size(), st.st_size) != size) return;
    const int error = ::fsync(fd.get()) == 0 ? 0 : errno;
    Lines& lines = lines_.at(file);
    (error == 0        ? lines.acknowledged
     : error == ESTALE ? lines.refused
                       : lines.unknown)
        .push_back(line);
  }

  const StorePlace& place_;
  const std::string name_;
  const OwnNetwork network_;
  BadProxy proxy_;
  Random random_;
  int kills_ = 0;
  std::string log_;
  std::atomic<int> next_line_{0};
  std::array<std::mutex, kFiles> mutexes_;
  std::array<Lines, kFiles> lines_;
};

/// True if the contents can result from appending lines to the file.
bool is_a_history(const std::string& contents, int file) {
  return contents.starts_with(begin_of(file)) && contents.ends_with('\n') &&
         contents.find('\0') == std::string::npos;
}

/// Copies frames of a place, the index first. The store keeps chunks that the index names for a
/// while after a commit has superseded them.
class Copy {
 public:
  explicit Copy(const StorePlace& place) : place_(place) {}

  /// Copies a frame, and returns its contents as C-Blosc2 reads them from the copy.
  std::string contents(const std::string& frame) {
    const fs_std::path to = home_ / frame;
    fs_std::create_directories(to);
    fetch(frame, "chunks.b2frame");
    for (const auto& entry : place_.tree().list(frame))
      if (!fs_std::exists(to / entry.name)) fetch(frame, entry.name);
    const ProcessResult info = run({b2frame_program(), "info", "--json", to.string()});
    if (!info.ok()) throw std::runtime_error(frame + ": " + info.description());
    FrameRequest request;
    request.path = to;
    request.nbytes = nlohmann::json::parse(info.out).at("nbytes");
    request.actions.push_back({"read", home_ / "contents", {}, 0, 0});
    const ProcessResult result = run_frame_editor(request);
    if (!result.ok()) throw std::runtime_error(frame + ": " + result.description());
    return file_text(home_ / "contents");
  }

 private:
  void fetch(const std::string& frame, const std::string& name) {
    try {
      write_file(home_ / frame / name, std::string_view(place_.contents(frame + "/" + name)));
    } catch (const std::system_error& error) {
      // The index names this chunk no more, and a host removed it after the listing.
      if (error.code().value() != ENOENT || name == "chunks.b2frame") throw;
    }
  }

  const StorePlace& place_;
  const TempDir home_;
};

/// Copies files until `end`, and checks that each copy is consistent. Returns the number of copies.
int copy_until(const StorePlace& place, Clock::time_point end) {
  Copy copy(place);
  Random random(1);
  int copied = 0;
  for (; Clock::now() < end; copied++) {
    const int file = between(random, 0, kFiles - 1);
    if (!is_a_history(copy.contents(file_name(file) + ".b2frame"), file))
      throw std::runtime_error(file_name(file) + ": a copy has other contents");
  }
  return copied;
}

void make_files(const StorePlace& place) {
  const ObjectMount mount(place, {"chunk_size=16K"});
  for (int file = 0; file < kFiles; file++)
    BOOST_TEST_REQUIRE(errno_of_writing(mount / file_name(file), 0, begin_of(file)) == 0);
}

/// Returns for each file the contents of all its conflict files.
std::map<std::string, std::string> put_beside(const Mount& mount) {
  std::map<std::string, std::string> found;
  for (const std::string& name : names_in(mount.path())) {
    const std::size_t at = name.find(".conflict-");
    if (at == std::string::npos) continue;
    // Chunks of a conflict file that a killed host did not complete show a name, but no file.
    if (fs_std::is_regular_file(mount / name)) found[name.substr(0, at)] += file_text(mount / name);
  }
  return found;
}

/// Checks that no acknowledged line is lost. Returns the number of acknowledged lines.
std::size_t check_lines(const StorePlace& place, const std::vector<const Host*>& hosts) {
  const ObjectMount reader(place);
  std::map<std::string, std::string> beside = put_beside(reader);
  std::size_t acknowledged = 0;
  for (int file = 0; file < kFiles; file++) {
    const std::string last = file_text(reader / file_name(file));
    BOOST_TEST(is_a_history(last, file), file_name(file));
    const std::string all = last + beside[file_name(file)];
    for (const Host* host : hosts) {
      const Lines& lines = host->lines(file);
      acknowledged += lines.acknowledged.size();
      for (const std::string& line : lines.acknowledged)
        if (all.find("\n" + line) == std::string::npos)
          BOOST_ERROR(file_name(file) + ": acknowledged and lost: " + line);
      for (const std::string& line : lines.refused)
        if (all.find(line) == std::string::npos)
          BOOST_ERROR(file_name(file) + ": thrown away: " + line + host->log_of(file_name(file)));
    }
  }
  return acknowledged;
}

std::chrono::seconds race_time() {
  const char* const wanted = std::getenv("BLOSCFS_TEST_RACE_SECONDS");
  return std::chrono::seconds(wanted != nullptr ? std::atoi(wanted) : 5);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(two_networks,
                      *utf::precondition(needs_ceph) * utf::precondition(needs_fuse_as_root) *
                          utf::precondition(needs_own_network) * utf::precondition(needs_peer))

BOOST_AUTO_TEST_CASE(what_was_acknowledged_is_there_and_every_copy_is_whole) {
  const StorePlace place;
  make_files(place);
  const auto end = Clock::now() + race_time();
  Host left(place, 1, 1), right(place, 2, 2);
  auto copying = std::async(std::launch::async, [&] { return copy_until(place, end); });
  auto working = std::async(std::launch::async, [&] { left.work(end); });
  int copied = 0;
  const auto told = [](const std::function<void()>& work) {
    try {
      work();
    } catch (const std::exception& error) {
      BOOST_ERROR(error.what());
    }
  };
  told([&] { right.work(end); });
  told([&] { working.get(); });
  told([&] { copied = copying.get(); });
  const std::size_t acknowledged = check_lines(place, {&left, &right});
  BOOST_TEST_MESSAGE(acknowledged << " lines acknowledged, " << copied << " states copied\n"
                                  << left.summary() << "\n"
                                  << right.summary());
  BOOST_TEST(acknowledged > 0U);
  BOOST_TEST(copied > 0);
  const ProcessResult collected = collect(place, {"--force"});
  BOOST_TEST(collected.ok(), collected.description());
  const Chunks chunks = chunks_of(place);
  BOOST_TEST((chunks.present == chunks.named));
  check_lines(place, {&left, &right});
  for (const auto& [path, state] : place.objects())
    BOOST_TEST((path.ends_with(".chunk") || (path.ends_with("/chunks.b2frame") && state.size > 0)),
               path << " is left over");
}

BOOST_AUTO_TEST_SUITE_END()
