// Reads frames through HTTP, and counts the requests, bytes and round trips.

#include <algorithm>
#include <random>

#include <boost/test/unit_test.hpp>
#include <fmt/core.h>

#include "frame/open/open.hpp"
#include "fs/view/frame_reader.hpp"
#include "tests/remote/served_object.hpp"
#include "tests/remote/slow_link.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"

namespace {

using namespace bloscfs::test;
namespace frame = bloscfs::frame;
namespace fs = bloscfs::fs;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

/// A frame on a scripted server, and its reader.
struct ServedFrame : Served {
  explicit ServedFrame(const ByteVector& bytes) : Served(0) {
    object.assign(bytes.begin(), bytes.end());
  }

  void open(int port = 0) {
    const std::string url = fmt::format("http://127.0.0.1:{}/x", port == 0 ? server.port() : port);
    traffic = std::make_shared<frame::Traffic>();
    auto source =
        frame::RemoteObject::open(quick_client(), {frame::parse_url(url)}, nullptr, traffic);
    reader = std::make_unique<fs::FrameReader>(frame::open_file(std::move(source), {}), 1, 2, cache,
                                               stats);
  }
  ByteVector read(std::size_t offset, std::size_t size) {
    return bytes_read(*reader, pages, offset, size);
  }
  /// Returns how many bytes were requested after the first `count` requests.
  std::uint64_t bytes_asked_since(int count) const {
    std::uint64_t bytes = 0;
    for (const HttpRequest& request : server.seen())
      if (request.number >= count)
        bytes += std::min<std::uint64_t>(request.last + 1, object.size()) - request.first;
    return bytes;
  }

  fs::Stats stats;
  fs::PagePool pages;
  fs::BlockCache cache{256 << 20, pages, stats};
  std::shared_ptr<frame::Traffic> traffic;
  std::unique_ptr<fs::FrameReader> reader;
};

/// Returns a frame of `count` equal chunks. It stores at most kMostCopies of them, to save memory;
/// further index entries point to the same copies.
ByteVector frame_of_copies(const ByteVector& contents, std::size_t blocksize, std::size_t count) {
  constexpr std::size_t kMostCopies = 20'000;
  const ByteVector chunk = encode_chunk(contents, 1, blocksize);
  ByteVector area;
  area.reserve(chunk.size() * std::min(count, kMostCopies));
  std::vector<std::int64_t> entries;
  for (std::size_t i = 0; i < count; i++) {
    entries.push_back(static_cast<std::int64_t>(chunk.size() * (i % kMostCopies)));
    if (i < kMostCopies) area.insert(area.end(), chunk.begin(), chunk.end());
  }
  FramePlan plan;
  plan.chunksize = contents.size();
  plan.blocksize = blocksize;
  plan.nbytes = static_cast<std::int64_t>(contents.size() * count);
  return encode_frame(plan, area, entries);
}

ByteVector part_of(const ByteVector& bytes, std::size_t offset, std::size_t size) {
  const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(offset);
  return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}

/// Returns noise with a part of each 64 KiB set to zero. Its blocks compress to 60 to 100 % of
/// their size.
ByteVector uneven_noise(std::size_t size) {
  ByteVector bytes = make_contents("noise", 3, size, 1);
  std::mt19937 random(7);
  for (std::size_t at = 0; at < size; at += 64 * kKiB) {
    const std::size_t zeros = random() % (26 * kKiB);
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), std::min(zeros, size - at), 0);
  }
  return bytes;
}

struct RandomReads {
  double median_requests = 0, median_round_trips = 0, mean_round_trips = 0;
  std::uint64_t bytes_each = 0;
};

/// Reads 4 KiB at random offsets, after the index is known.
RandomReads read_at_random(ServedFrame& served, const ByteVector& contents, std::size_t size,
                           milliseconds delay) {
  std::mt19937_64 random(5);
  std::vector<double> requests, trips;
  served.read(0, 1);
  served.read(size - 1, 1);
  const int before = served.server.requests();
  for (int i = 0; i < 40; i++) {
    const std::size_t at = random() % (size - 4 * kKiB);
    const int first = served.server.requests();
    const auto then = Clock::now();
    const ByteVector got = served.read(at, 4 * kKiB);
    trips.push_back(seconds_since(then) / std::chrono::duration<double>(delay).count());
    requests.push_back(served.server.requests() - first);
    for (std::size_t k = 0; k < got.size(); k += 511)
      BOOST_TEST_REQUIRE(got[k] == contents[(at + k) % contents.size()]);
  }
  std::sort(requests.begin(), requests.end());
  RandomReads result;
  for (const double trip : trips)
    result.mean_round_trips += trip / static_cast<double>(trips.size());
  std::sort(trips.begin(), trips.end());
  result.median_requests = requests[20];
  result.median_round_trips = trips[20];
  result.bytes_each = served.bytes_asked_since(before) / 40;
  BOOST_TEST_MESSAGE(fmt::format("{} requests, {:.2f} round trips (mean {:.2f}), {} bytes each",
                                 result.median_requests, result.median_round_trips,
                                 result.mean_round_trips, result.bytes_each));
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(remote_reading)

BOOST_AUTO_TEST_CASE(mounting_takes_two_requests_and_the_first_read_four) {
  const ByteVector contents = make_contents("text", 1, 5000, 1);
  ServedFrame served(frame_of_copies(contents, 5000, 1000000));
  served.open();
  BOOST_TEST(served.reader->snapshot().info().nchunks == 1000000);
  BOOST_TEST(served.server.requests() == 2);
  const std::size_t middle = std::size_t{500000} * 5000 + 300;
  BOOST_TEST((served.read(middle, 4096) == part_of(contents, 300, 4096)));
  BOOST_TEST(served.server.requests() <= 6);
  BOOST_TEST(served.bytes_asked_since(2) <= 256 * kKiB);
  const int before = served.server.requests();
  BOOST_TEST((served.read(middle + 20 * 5000, 4096) == part_of(contents, 300, 4096)));
  BOOST_TEST(served.server.requests() <= before + 1);
  BOOST_TEST_MESSAGE(fmt::format("{} requests, {} bytes", before, served.bytes_asked_since(2)));
}

BOOST_AUTO_TEST_CASE(index_and_trailer_of_most_frames_come_together) {
  const ByteVector contents = make_contents("text", 1, 100000, 1);
  ServedFrame served(frame_of_copies(contents, 20000, 3000));
  served.open();
  BOOST_TEST(served.server.requests() == 2);
  BOOST_TEST((served.read(1500 * 100000, 4096) == part_of(contents, 0, 4096)));
  // One more request, for the chunk only.
  BOOST_TEST(served.server.requests() == 3);
}

BOOST_AUTO_TEST_CASE(reading_ahead_asks_and_does_not_wait) {
  const ByteVector contents = uneven_noise(kMiB);
  ServedFrame served(frame_of_copies(contents, 64 * kKiB, 20));
  const SlowLink link(served.server.port(), milliseconds(600), 0);
  served.open(link.port());
  served.read(0, 1);
  const auto never = [](std::int64_t) { return false; };
  fs::Request request;
  const std::uint64_t before = served.stats.readahead_blocks;
  served.reader->prefetch(request, 5 * kMiB, kMiB, never);
  // prefetch() returns while the blocks are still under way.
  BOOST_TEST(served.traffic->numbers().bytes_under_way > 0);
  BOOST_TEST(served.stats.readahead_blocks == before);
  comes_true([&] { return served.traffic->numbers().bytes_under_way == 0; });
  served.reader->prefetch(request, 5 * kMiB, kMiB, never);
  BOOST_TEST(served.stats.readahead_blocks == before + 16);
  BOOST_TEST((served.read(5 * kMiB, kMiB) == contents));
}

BOOST_AUTO_TEST_CASE(small_chunks_at_random_take_one_round_trip) {
  const ByteVector contents = uneven_noise(256 * kKiB);
  ServedFrame served(frame_of_copies(contents, 64 * kKiB, 400));
  const SlowLink link(served.server.port(), milliseconds(40), 0);
  served.open(link.port());
  const RandomReads reads =
      read_at_random(served, contents, contents.size() * 400, milliseconds(40));
  BOOST_TEST(reads.median_requests == 1);
  BOOST_TEST(reads.median_round_trips <= 1.2);
  BOOST_TEST(reads.bytes_each <= 320 * kKiB);
}

BOOST_AUTO_TEST_CASE(large_chunks_at_random_take_one_round_trip) {
  const ByteVector contents = uneven_noise(8 * kMiB);
  ServedFrame served(frame_of_copies(contents, 64 * kKiB, 40));
  const SlowLink link(served.server.port(), milliseconds(40), 0);
  served.open(link.port());
  const RandomReads reads =
      read_at_random(served, contents, contents.size() * 40, milliseconds(40));
  BOOST_TEST(reads.median_requests <= 2);
  BOOST_TEST(reads.median_round_trips <= 1.2);
  BOOST_TEST(reads.bytes_each <= (256 + 64) * kKiB);
}

BOOST_AUTO_TEST_CASE(who_reads_a_frame_in_order_fills_the_link) {
  const ByteVector contents = make_contents("noise", 1, 4 * kMiB, 1);
  ServedFrame served(frame_of_copies(contents, 256 * kKiB, 64));
  constexpr std::uint64_t kRate = 100'000'000;
  const SlowLink link(served.server.port(), milliseconds(20), kRate);
  served.open(link.port());
  const auto then = Clock::now();
  for (std::size_t at = 0; at < 256 * kMiB; at += kMiB)
    BOOST_TEST_REQUIRE((served.read(at, kMiB) == part_of(contents, at % (4 * kMiB), kMiB)));
  const double share = 256.0 * kMiB / seconds_since(then) / kRate;
  BOOST_TEST_MESSAGE(
      fmt::format("{:.3f} of the link, {} requests", share, served.server.requests()));
}

/// Prints how much of the link's bandwidth is used. It is no assertion, since machines differ.
BOOST_AUTO_TEST_CASE(an_object_in_order_fills_the_link) {
  Served served(1);
  served.object = std::string(256 * kMiB, 'x');
  constexpr std::uint64_t kRate = 100'000'000;
  const SlowLink link(served.server.port(), milliseconds(20), kRate);
  const auto traffic = std::make_shared<frame::Traffic>();
  const auto object = frame::RemoteObject::open(
      quick_client(), {frame::parse_url(fmt::format("http://127.0.0.1:{}/x", link.port()))},
      nullptr, traffic);
  const auto then = Clock::now();
  std::uint64_t most = 0;
  for (std::size_t at = 0; at < 256 * kMiB; at += 256 * kKiB) {
    read(*object, at, 256 * kKiB);
    most = std::max(most, traffic->numbers().bytes_held);
  }
  const double share = 256.0 * kMiB / seconds_since(then) / kRate;
  BOOST_TEST_MESSAGE(fmt::format("{:.3f} of the link, {} requests, at most {} bytes held", share,
                                 served.server.requests(), most));
  BOOST_TEST(most <= traffic->budget() + kMiB);
}

BOOST_AUTO_TEST_SUITE_END()
