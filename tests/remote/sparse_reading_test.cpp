// Reads containers whose chunks are objects of their own, or are read as a whole. Counts the
// requests, and how many are under way at once.

#include <condition_variable>
#include <map>
#include <random>
#include <set>

#include <boost/test/unit_test.hpp>
#include <fmt/core.h>

#include "frame/open/open.hpp"
#include "frame/remote/http_tree.hpp"
#include "frame/store/object_frames.hpp"
#include "frame/store/sframe_names.hpp"
#include "fs/view/frame_reader.hpp"
#include "tests/remote/served_object.hpp"
#include "tests/remote/slow_link.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/pause.hpp"

namespace {

using namespace bloscfs::test;
namespace frame = bloscfs::frame;
namespace fs = bloscfs::fs;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

std::string path_of(const HttpRequest& request) {
  const std::size_t begin = request.head.find(' ') + 1;
  return request.head.substr(begin, request.head.find(' ', begin) - begin);
}

/// Serves objects below "/", each with an ETag.
struct ServedTree {
  explicit ServedTree(const fs_std::path& files) {
    for (const auto& entry : fs_std::recursive_directory_iterator(files)) {
      if (!entry.is_regular_file()) continue;
      const ByteVector bytes = read_file(entry.path());
      objects["/" + fs_std::relative(entry.path(), files).string()].assign(bytes.begin(),
                                                                           bytes.end());
    }
  }

  void open(const std::string& name, int port = 0) {
    const std::string root = fmt::format("http://127.0.0.1:{}/", port ? port : server.port());
    const auto tree = std::make_shared<frame::HttpTree>(quick_client(), frame::parse_url(root));
    std::shared_ptr<const frame::Snapshot> snapshot;
    if (objects.contains("/" + name)) {
      snapshot = frame::open_file(tree->open(name, nullptr), {});
    } else {
      const auto frames = std::make_shared<frame::ObjectFrames>(tree, [](const std::string&) {});
      const auto index = tree->open(name + "/" + frame::kSframeIndexName, nullptr);
      snapshot = frame::open_directory(frames->frame(name, index));
    }
    reader = std::make_unique<fs::FrameReader>(std::move(snapshot), 1, 2, cache, stats);
  }
  ByteVector read(std::size_t offset, std::size_t size) {
    return bytes_read(*reader, pages, offset, size);
  }

  HttpReply answer(const HttpRequest& request) {
    const std::string path = path_of(request);
    {
      const std::lock_guard guard(mutex);
      asked.insert(path);
      at_once.insert(path);
      most_at_once = std::max(most_at_once, std::set(at_once.begin(), at_once.end()).size());
    }
    changed.notify_all();
    if (before_answer) before_answer(path);
    {
      const std::lock_guard guard(mutex);
      at_once.erase(at_once.find(path));
    }
    const auto found = objects.find(path);
    return {found == objects.end() ? reply_of("404 Not Found", "", "")
                                   : range_of(found->second, request),
            {},
            false};
  }

  std::map<std::string, std::string> objects;
  std::function<void(const std::string& path)> before_answer;
  std::mutex mutex;
  std::condition_variable changed;
  std::multiset<std::string> asked, at_once;
  std::size_t most_at_once = 0;  ///< most different objects under way at once
  fs::Stats stats;
  fs::PagePool pages;
  fs::BlockCache cache{256 << 20, pages, stats};
  std::unique_ptr<fs::FrameReader> reader;
  ScriptedServer server{[this](const HttpRequest& request) { return answer(request); }};
};

ByteVector bytes_of_part(const ByteVector& bytes, std::size_t offset, std::size_t size) {
  const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(offset);
  return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}

Cut cut_into(std::size_t chunksize, std::size_t blocksize) {
  Cut cut;
  cut.chunksize = chunksize;
  cut.blocksize = blocksize;
  return cut;
}

/// A local directory with the sparse frame "s".
struct SparseFiles {
  SparseFiles(const ByteVector& contents, const Cut& cut) {
    write_sparse_frame(dir / "s", contents, cut);
  }
  TempDir dir;
};

/// Reads the whole frame in order, from a server that answers after 20 ms.
void read_in_order(ServedTree& served, const ByteVector& contents, std::size_t step) {
  served.before_answer = [](const std::string&) { simulate_delay(milliseconds(20)); };
  served.open("s");
  for (std::size_t at = 0; at < contents.size(); at += step)
    BOOST_TEST_REQUIRE((served.read(at, step) == bytes_of_part(contents, at, step)));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(remote_sparse_reading)

BOOST_AUTO_TEST_CASE(chunks_of_4_mib_are_under_way_together) {
  const ByteVector contents = make_contents("noise", 1, 48 * kMiB, 1);
  const SparseFiles files(contents, cut_into(4 * kMiB, 256 * kKiB));
  ServedTree served(files.dir.path());
  read_in_order(served, contents, 128 * kKiB);
  BOOST_TEST_MESSAGE(
      fmt::format("{} requests, {} at once", served.server.requests(), served.most_at_once));
  BOOST_TEST(served.most_at_once >= 2U);
  // The first chunk comes in parts, whose size grows while the reader continues in order.
  BOOST_TEST(served.server.requests() <= 12 + 12);
}

BOOST_AUTO_TEST_CASE(small_chunks_are_under_way_together_each_by_one_request) {
  const ByteVector contents = make_contents("noise", 2, 8 * kMiB, 1);
  const SparseFiles files(contents, cut_into(60 * kKiB, 20 * kKiB));
  ServedTree served(files.dir.path());
  read_in_order(served, contents, 64 * kKiB);
  BOOST_TEST_MESSAGE(
      fmt::format("{} requests, {} at once", served.server.requests(), served.most_at_once));
  BOOST_TEST(served.most_at_once >= 6U);
  for (const auto& [path, bytes] : served.objects) BOOST_TEST(served.asked.count(path) == 1U, path);
}

BOOST_AUTO_TEST_CASE(a_piece_of_a_large_chunk_takes_one_round_trip) {
  const ByteVector contents = make_contents("noise", 3, 32 * kMiB, 1);
  const SparseFiles files(contents, cut_into(4 * kMiB, 64 * kKiB));
  ServedTree served(files.dir.path());
  served.open("s");
  served.read(0, 1);
  // The reader must request both parts of a chunk before the server answers either.
  int alone = 0;
  served.before_answer = [&](const std::string& path) {
    std::unique_lock lock(served.mutex);
    const auto both = [&] { return served.asked.count(path) == 2; };
    if (!served.changed.wait_for(lock, seconds(5), both)) alone++;
  };
  for (std::size_t chunk = 1; chunk < 8; chunk++) {
    const std::size_t at = chunk * 4 * kMiB + kMiB + chunk * 300 * kKiB;
    BOOST_TEST((served.read(at, 4 * kKiB) == bytes_of_part(contents, at, 4 * kKiB)));
  }
  BOOST_TEST(alone == 0);
  BOOST_TEST(served.server.requests() <= 2 + 2 * 7);
}

BOOST_AUTO_TEST_CASE(who_stops_has_what_was_ahead_of_him_dropped) {
  const ByteVector contents = make_contents("noise", 4, 64 * kMiB, 1);
  const SparseFiles files(contents, cut_into(kMiB, 256 * kKiB));
  ServedTree served(files.dir.path());
  served.open("s");
  for (std::size_t at = 0; at < 4 * kMiB; at += 256 * kKiB) served.read(at, 256 * kKiB);
  std::this_thread::sleep_for(seconds(7));
  const int before = served.server.requests();
  // Readahead fetches at most twice what the test has read, and drops it later. A read after that
  // requests the chunk again.
  BOOST_TEST(before <= 4 + 8 + 8);
  BOOST_TEST((served.read(6 * kMiB, kKiB) == bytes_of_part(contents, 6 * kMiB, kKiB)));
  BOOST_TEST(served.server.requests() > before);
}

BOOST_AUTO_TEST_CASE(a_chunk_that_fails_is_asked_for_again) {
  const ByteVector contents = make_contents("noise", 5, 4 * kMiB, 1);
  const SparseFiles files(contents, cut_into(kMiB, 256 * kKiB));
  ServedTree served(files.dir.path());
  served.open("s");
  const std::string chunk = "/s/00000002.chunk";
  const std::string bytes = std::exchange(served.objects[chunk], "");
  served.objects.erase(chunk);
  fs::Request request;
  fs::ReplyData reply(served.pages);
  BOOST_CHECK_THROW(served.reader->read(request, 2 * kMiB, kKiB, reply), std::exception);
  served.objects[chunk] = bytes;
  BOOST_TEST((served.read(2 * kMiB, kKiB) == bytes_of_part(contents, 2 * kMiB, kKiB)));
}

/// Prints how much of the link's bandwidth is used. It is no assertion, since machines differ.
BOOST_AUTO_TEST_CASE(who_reads_a_sparse_frame_in_order_fills_the_link) {
  for (const std::size_t chunksize : {4 * kMiB, 64 * kKiB}) {
    const std::size_t size = 96 * kMiB;
    const ByteVector contents = make_contents("noise", 6, size, 1);
    const SparseFiles files(contents, cut_into(chunksize, std::min(chunksize, 256 * kKiB)));
    ServedTree served(files.dir.path());
    constexpr std::uint64_t kRate = 100'000'000;
    const SlowLink link(served.server.port(), milliseconds(20), kRate);
    served.open("s", link.port());
    const auto then = Clock::now();
    for (std::size_t at = 0; at < size; at += kMiB)
      BOOST_TEST_REQUIRE((served.read(at, kMiB) == bytes_of_part(contents, at, kMiB)));
    const double took = std::chrono::duration<double>(Clock::now() - then).count();
    BOOST_TEST_MESSAGE(fmt::format("chunks of {}: {:.3f} of the link, {} requests", chunksize,
                                   static_cast<double>(size) / took / kRate,
                                   served.server.requests()));
    BOOST_TEST(served.server.requests() <= static_cast<int>(size / chunksize) + 16);
  }
}

BOOST_AUTO_TEST_CASE(a_chunk_of_a_bloscpack_file_comes_by_one_request) {
  const ByteVector contents = make_contents("noise", 7, 16 * kMiB, 1);
  const TempDir dir;
  write_file(dir / "x.blp", bloscpack_file(contents, kMiB));
  ServedTree served(dir.path());
  served.open("x.blp");
  served.read(0, 1);
  for (std::size_t chunk = 4; chunk < 16; chunk += 3) {
    const int before = served.server.requests();
    const std::size_t at = chunk * kMiB + 100 * kKiB;
    BOOST_TEST((served.read(at, 4 * kKiB) == bytes_of_part(contents, at, 4 * kKiB)));
    BOOST_TEST(served.server.requests() <= before + 1);
  }
}

BOOST_AUTO_TEST_SUITE_END()
