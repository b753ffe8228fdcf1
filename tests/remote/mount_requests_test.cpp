// Checks in the server's log which requests a mount sends.

#include <algorithm>
#include <cstdio>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/remote/mounted.hpp"
#include "tests/remote/nginx.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"

namespace {

using namespace bloscfs::test;
namespace utf = boost::unit_test;
using Lines = std::vector<std::string>;

constexpr std::size_t kLargeSize = 24 << 20;
constexpr std::size_t kPiece = 4096;
constexpr std::int64_t kMillion = 1'000'000;
constexpr std::size_t kDistinct = 1000;

/// Returns which of the distinct chunks stands at that position of the frame.
std::size_t distinct(std::int64_t chunk) { return static_cast<std::size_t>(chunk) % kDistinct; }
ByteVector distinct_contents(std::size_t which) {
  return make_contents("noise", 100 + which, kPiece, 1);
}

ByteVector million_chunks() {
  FramePlan plan;
  plan.chunksize = plan.blocksize = kPiece;
  plan.nbytes = kMillion * static_cast<std::int64_t>(kPiece);
  ByteVector area;
  std::vector<std::int64_t> places(kDistinct), entries(kMillion);
  for (std::size_t i = 0; i < kDistinct; i++) {
    places[i] = static_cast<std::int64_t>(area.size());
    const ByteVector chunk = encode_chunk(distinct_contents(i), 1, kPiece);
    area.insert(area.end(), chunk.begin(), chunk.end());
  }
  for (std::int64_t i = 0; i < kMillion; i++)
    entries[static_cast<std::size_t>(i)] = places[distinct(i)];
  return encode_frame(plan, area, entries);
}

struct RequestServer {
  RequestServer() {
    nginx.serve("large.b2frame", large_object(kLargeSize));
    nginx.serve("million.b2frame", million_chunks());
    nginx.serve("small.b2frame", flat_frame(text));
    fs_std::create_directories(nginx.www() / "folder" / "below");
    fs_std::permissions(nginx.www() / "folder", fs_std::perms(0755));
    fs_std::permissions(nginx.www() / "folder" / "below", fs_std::perms(0755));
    for (int i = 0; i < 12; i++)
      nginx.serve(fmt::format("folder/f{}.b2frame", i), flat_frame(text));
    nginx.serve("folder/large.b2frame", large_object(1 << 20));
    nginx.serve("folder/plain.txt", bytes_of("plain"));
  }
  const ByteVector text = make_contents("text", 1, 20000, 1);
  Nginx nginx;
};

RequestServer& request_server() {
  static RequestServer one;
  return one;
}

ByteVector piece_at(const fs_std::path& path, std::int64_t offset) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ByteVector bytes(kPiece);
  if (!file || ::pread(file.get(), bytes.data(), kPiece, offset) != static_cast<ssize_t>(kPiece))
    throw_errno(path.string());
  return bytes;
}

std::string joined(const Lines& lines) {
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}

/// Returns the sum of the requested ranges. Throws std::runtime_error for a request without a
/// range.
std::uint64_t bytes_asked(const Lines& lines) {
  std::uint64_t sum = 0;
  for (const std::string& line : lines) {
    unsigned long first = 0, last = 0;
    const std::size_t at = line.find("bytes=");
    if (at == std::string::npos ||
        std::sscanf(line.c_str() + at, "bytes=%lu-%lu", &first, &last) != 2)
      throw std::runtime_error("no range: " + line);
    sum += last + 1 - first;
  }
  return sum;
}

/// Checks that the mount sends no request for some seconds.
void check_silence(Nginx& nginx, unsigned seconds = 3) {
  nginx.forget_requests();
  usleep(seconds * 1'000'000);
  const Lines lines = nginx.wait_for_requests(0);
  BOOST_TEST(lines.empty(), joined(lines));
}

/// Reads a frame whose piece at `offset` must be `wanted`, and the piece after it `next`. Checks
/// the requests.
void check_reading(const char* name, std::int64_t offset, const ByteVector& wanted,
                   const ByteVector& next) {
  Nginx& nginx = request_server().nginx;
  nginx.forget_requests();
  Mount mount(nginx.url(fmt::format("{}.b2frame", name)), impatient({"revalidate=2"}));
  Lines lines = nginx.wait_for_requests(1);
  BOOST_TEST(lines.size() <= 2U, joined(lines));
  check_silence(nginx);

  nginx.forget_requests();
  BOOST_CHECK(piece_at(mount / name, offset) == wanted);
  lines = nginx.wait_for_requests(1);
  BOOST_TEST(lines.size() <= 4U, joined(lines));
  BOOST_TEST(bytes_asked(lines) <= (256U << 10) + kPiece, joined(lines));

  nginx.forget_requests();
  BOOST_CHECK(piece_at(mount / name, offset + std::int64_t{kPiece}) == next);
  lines = nginx.wait_for_requests(0);
  BOOST_TEST(lines.size() <= 1U, joined(lines));
  check_silence(nginx);
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

/// Checks that the mount's counters agree with the server's log since the last forget_requests().
void check_counters(const Mount& mount) {
  Nginx& nginx = request_server().nginx;
  // Requests for readahead may still be under way.
  comes_true(
      [&] { return mount.counter("network_requests") == nginx.wait_for_requests(0).size(); });
  const Lines lines = nginx.wait_for_requests(0);
  const nlohmann::json stats = mount.stats();
  BOOST_TEST(stats.at("network_requests").get<std::size_t>() == lines.size(), stats.dump());
  // nginx sends index pages in HTTP chunks, and counts their lengths as body bytes.
  const auto pages = std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find("/ ") != std::string::npos;
  });
  const auto received = stats.at("network_bytes_received").get<std::int64_t>();
  const std::int64_t more = static_cast<std::int64_t>(nginx.body_bytes_sent()) - received;
  BOOST_TEST((more >= 0 && more <= 32 * pages), stats.dump() << ", " << more << " more were sent");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(mount_requests, *utf::precondition(needs_fuse_and_nginx))

BOOST_AUTO_TEST_CASE(a_piece_of_a_large_frame_needs_few) {
  constexpr std::size_t kMiddle = kLargeSize / 2;
  const ByteVector contents = large_contents(kLargeSize);
  const auto piece = [&](std::size_t at) {
    const auto begin = contents.begin() + static_cast<std::ptrdiff_t>(at);
    return ByteVector(begin, begin + kPiece);
  };
  check_reading("large", kMiddle, piece(kMiddle), piece(kMiddle + kPiece));
}

BOOST_AUTO_TEST_CASE(a_piece_of_a_frame_of_a_million_chunks_needs_few) {
  constexpr std::int64_t kChunk = kMillion / 2;
  check_reading("million", kChunk * static_cast<std::int64_t>(kPiece),
                distinct_contents(distinct(kChunk)), distinct_contents(distinct(kChunk + 1)));
}

BOOST_AUTO_TEST_CASE(a_folder_needs_one_and_each_frame_in_it_one) {
  Nginx& nginx = request_server().nginx;
  nginx.forget_requests();
  Mount mount(nginx.url("folder/"), impatient({"revalidate=30"}));
  Lines lines = nginx.wait_for_requests(1);
  BOOST_TEST(lines.size() == 1U, joined(lines));
  BOOST_TEST(names_in(mount.path()).size() == 15U);
  lines = nginx.wait_for_requests(1);
  BOOST_TEST(lines.size() == 1U, joined(lines));

  nginx.forget_requests();
  const std::string listed = output_of({"ls", "-l", mount.path().string()});
  BOOST_TEST(listed.find(" 1048576 ") != std::string::npos, listed);
  lines = nginx.wait_for_requests(15);
  // The mount lists the folder "below", too, to find out that it is no sparse frame.
  BOOST_TEST(lines.size() == 15U, joined(lines));
  for (const std::string& line : lines)
    BOOST_TEST((line.find(" bytes=0-65535 ") != std::string::npos ||
                line.find("/folder/below/ ") != std::string::npos),
               line);

  nginx.forget_requests();
  usleep(1'200'000);  // the kernel's attributes expire
  BOOST_TEST(output_of({"ls", "-l", mount.path().string()}) == listed);
  const std::string text = cat(mount / "f1");
  BOOST_CHECK(text == std::string(request_server().text.begin(), request_server().text.end()));
  BOOST_TEST(cat(mount / "plain.txt") == "plain");
  lines = nginx.wait_for_requests(0);
  BOOST_TEST(lines.empty(), joined(lines));
}

BOOST_AUTO_TEST_CASE(a_file_that_was_read_is_asked_for_under_a_condition) {
  Nginx& nginx = request_server().nginx;
  for (const char* url : {"small.b2frame", "folder/"}) BOOST_TEST_CONTEXT(url) {
      Mount mount(nginx.url(url), impatient({"revalidate=2"}));
      const fs_std::path file = mount / (std::string(url) == "folder/" ? "f3" : "small");
      const std::string text = cat(file);
      for (int i = 0; i < 2; i++) {
        outlive_knowledge();
        nginx.forget_requests();
        BOOST_CHECK(cat(file) == text);
        const Lines lines = nginx.wait_for_requests(1);
        BOOST_TEST(lines.size() == 1U, joined(lines));
        BOOST_TEST(lines.at(0).starts_with("304 "), joined(lines));
      }
    }
}

BOOST_AUTO_TEST_CASE(a_mount_counts_what_the_server_logs) {
  Nginx& nginx = request_server().nginx;
  for (const char* url : {"large.b2frame", "million.b2frame", "folder/", "moved/folder/"})
    BOOST_TEST_CONTEXT(url) {
      nginx.forget_requests();
      Mount mount(nginx.url(url), impatient({"revalidate=0"}));
      run({"ls", "-lR", mount.path().string()});
      for (const std::string& name : names_in(mount.path()))
        run({"head", "-c", "3000000", (mount / name).string()});
      BOOST_TEST(description_of(mount / "nothing") == "ENOENT");
      check_counters(mount);
      BOOST_TEST(mount.counter("source_reads") > 0U);
      BOOST_TEST(mount.counter("source_bytes_read") > 0U);
    }
}

BOOST_AUTO_TEST_CASE(what_is_tried_again_is_counted_again) {
  Nginx& nginx = request_server().nginx;
  nginx.forget_requests();
  MountSettings settings;
  settings.options = {"revalidate=30", "retry_time=20"};
  Mount mount(nginx.url("busy/folder/"), settings);
  const std::string listed = output_of({"ls", "-l", mount.path().string()});
  BOOST_TEST(listed.find(" 1048576 ") != std::string::npos, listed);
  const Lines lines = nginx.wait_for_requests(17);
  BOOST_TEST(std::any_of(lines.begin(), lines.end(),
                         [](const std::string& line) { return line.starts_with("503 "); }));
  check_counters(mount);
}

BOOST_AUTO_TEST_CASE(a_mount_that_nobody_reads_asks_for_nothing) {
  Nginx& nginx = request_server().nginx;
  Mount mount(nginx.url("folder/"), impatient());
  output_of({"ls", "-lR", mount.path().string()});
  const Fd file(::open((mount / "large").c_str(), O_RDONLY | O_CLOEXEC));
  ByteVector bytes(300'000);
  BOOST_TEST(::pread(file.get(), bytes.data(), bytes.size(), 0) == std::ssize(bytes));
  usleep(1'000'000);  // readahead after that read ends
  check_silence(nginx, 5);
}

BOOST_AUTO_TEST_CASE(a_name_that_is_not_there_needs_a_listing_at_most) {
  Nginx& nginx = request_server().nginx;
  Mount mount(nginx.url("folder/"), impatient());
  nginx.forget_requests();
  for (const char* name : {"nothing", "nothing.b2frame", ".hidden", "f3.b2frame.npy"})
    BOOST_TEST(description_of(mount / name) == "ENOENT", name);
  const Lines lines = nginx.wait_for_requests(0);
  BOOST_TEST(lines.size() <= 2U, joined(lines));
}

BOOST_AUTO_TEST_CASE(rows_of_a_mapped_file_cost_little_more_than_those_that_are_read) {
  constexpr std::size_t kStride = 400'000, kRow = 1440, kRows = kLargeSize / kStride;
  const ByteVector contents = make_contents("noise", 3, kLargeSize, 1);
  Nginx& nginx = request_server().nginx;
  nginx.serve("rows.b2frame", flat_frame(contents, {1 << 20, 32 << 10, 1, {}, {}}));
  const auto bytes_received = [&](const auto& read) {
    Mount mount(nginx.url("rows.b2frame"), impatient());
    const auto opened = [&] { return Fd(::open((mount / "rows").c_str(), O_RDONLY | O_CLOEXEC)); };
    // NumPy reads the header, and opens the file again to map it.
    const Fd header = opened();
    char byte = 0;
    BOOST_TEST(::pread(header.get(), &byte, 1, 0) == 1);
    const Fd file = opened();
    const auto before = mount.counter("network_bytes_received");
    read(file.get());
    return mount.counter("network_bytes_received") - before;
  };
  const auto read = bytes_received([&](int fd) {
    ByteVector row(kRow);
    for (std::size_t i = 0; i < kRows; i++) {
      BOOST_TEST(::pread(fd, row.data(), kRow, static_cast<off_t>(i * kStride)) == ssize_t{kRow});
      BOOST_TEST(std::equal(row.begin(), row.end(), contents.data() + i * kStride));
    }
  });
  const auto mapped = bytes_received([&](int fd) {
    void* const bytes = ::mmap(nullptr, kLargeSize, PROT_READ, MAP_SHARED, fd, 0);
    BOOST_TEST_REQUIRE(bytes != MAP_FAILED);
    const auto* const first = static_cast<const std::uint8_t*>(bytes);
    for (std::size_t i = 0; i < kRows; i++)
      BOOST_TEST(std::equal(first + i * kStride, first + i * kStride + kRow,
                            contents.data() + i * kStride));
    ::munmap(bytes, kLargeSize);
  });
  BOOST_TEST(mapped <= 4 * read, mapped << " bytes for " << read);
  BOOST_TEST_MESSAGE(mapped << " bytes for " << read);
}

BOOST_AUTO_TEST_SUITE_END()
