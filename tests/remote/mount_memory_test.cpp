// Measures the memory of a mount of a URL while many threads read from it.

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "tests/remote/mounted.hpp"
#include "tests/remote/nginx.hpp"
#include "tests/remote/scripted_server.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/proc.hpp"

namespace {

using namespace bloscfs::test;
namespace utf = boost::unit_test;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kMebibyte = 1 << 20;
/// Memory in addition to the cache: for the daemon itself, and for bytes under way from the server.
constexpr std::uint64_t kBesidesCache = 48 * kMebibyte, kUnderWay = 16 * kMebibyte;
constexpr std::size_t kReadableSize = 40 * kMebibyte, kMostAtOnce = kMebibyte, kAlignment = 4096;

void serve_readable(const fs_std::path& root) {
  fs_std::permissions(root, fs_std::perms(0755));
  for (const auto& entry : fs_std::recursive_directory_iterator(root))
    fs_std::permissions(entry.path(), fs_std::perms(entry.is_directory() ? 0755 : 0644));
}

/// Reads with O_DIRECT, so that the kernel sends all reads to the daemon.
class DirectReader {
 public:
  DirectReader(const fs_std::path& path, const ByteVector& contents)
      : file_(::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC)),
        contents_(contents),
        bytes_(static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kMostAtOnce)), std::free) {
  }

  /// False if the read fails or gives wrong bytes.
  bool read(std::size_t offset, std::size_t size) {
    const ssize_t got = ::pread(file_.get(), bytes_.get(), size, static_cast<off_t>(offset));
    const std::size_t wanted = std::min(size, contents_.size() - offset);
    return got == static_cast<ssize_t>(wanted) &&
           std::equal(bytes_.get(), bytes_.get() + wanted,
                      contents_.begin() + static_cast<std::ptrdiff_t>(offset));
  }

 private:
  const Fd file_;
  const ByteVector& contents_;
  std::unique_ptr<std::uint8_t, void (*)(void*)> bytes_;
};

/// Reads until `end`: in order if the reader's number is even, otherwise at random. Returns the
/// number of bytes, or 0 if a read was wrong.
std::size_t read_for_a_while(const fs_std::path& path, const ByteVector& contents, unsigned reader,
                             Clock::time_point end) {
  DirectReader file(path, contents);
  std::mt19937 random(reader);
  const bool in_order = reader % 2 == 0;
  std::size_t sum = 0, at = kAlignment * (random() % (kReadableSize / kAlignment));
  while (Clock::now() < end) {
    const std::size_t size = in_order ? kMostAtOnce : kAlignment * (1 + random() % 32);
    if (!in_order || at >= kReadableSize)
      at = in_order ? 0 : kAlignment * (random() % (kReadableSize / kAlignment));
    if (!file.read(at, size)) return 0;
    at += size;
    sum += size;
  }
  return sum;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(mount_memory, *utf::precondition(needs_fuse_and_nginx) *
                                        utf::precondition(needs_fuse_unsanitized))

BOOST_DATA_TEST_CASE(of_sixteen_readers_stays_within_its_bounds,
                     boost::unit_test::data::make({32, 256}), mebibytes) {
  const ByteVector contents = make_contents("noise", 3, kReadableSize, 1);
  Nginx nginx;
  const fs_std::path folder = nginx.www() / "folder";
  fs_std::create_directory(folder);
  write_file(folder / "flat.b2frame", flat_frame(contents, {256 << 10, 32 << 10, 1, {}, {}}));
  write_sparse_frame(folder / "small.b2frame", contents, {64 << 10, 16 << 10, 1, {}, {}});
  write_sparse_frame(folder / "large.b2frame", contents, {4 << 20, 64 << 10, 1, {}, {}});
  write_file(folder / "pack.blp", bloscpack_file(contents, 1 << 20));
  serve_readable(folder);
  const auto cache = static_cast<std::uint64_t>(mebibytes) * kMebibyte;
  Mount mount(nginx.url("folder/"), impatient({fmt::format("cache_size={}M", mebibytes)}));
  const auto end = Clock::now() + std::chrono::seconds(4);
  std::vector<std::future<std::size_t>> readers;
  for (unsigned i = 0; i < 16; i++) {
    const char* const name = std::array{"flat", "small", "large", "pack"}.at(i / 4);
    readers.push_back(std::async(std::launch::async, [&, i, name] {
      return read_for_a_while(mount / name, contents, i, end);
    }));
  }
  std::size_t sum = 0;
  for (auto& reader : readers) {
    const std::size_t read = reader.get();
    BOOST_TEST(read > 0U);
    sum += read;
  }
  const std::uint64_t most = process_memory(mount.pid(), "VmHWM");
  BOOST_TEST_MESSAGE((sum / kMebibyte) << " MiB read, " << (most / kMebibyte) << " MiB at most, "
                                       << mount.stats().dump());
  BOOST_TEST(most <= cache + kBesidesCache + kUnderWay, (most / kMebibyte) << " MiB");
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_CASE(of_open_files_is_bounded_for_servers_without_ranges) {
  constexpr int kFiles = 60;
  const std::string object(3'400'000, 'x');
  ScriptedServer server(
      [&](const HttpRequest& request) -> HttpReply {
        std::string links;
        for (int i = 0; i < kFiles; i++) links += fmt::format("<a href=\"f{0}\">f{0}</a>\n", i);
        const bool is_page = request.head.find(" /d/ ") != std::string::npos;
        return {reply_of("200 OK", is_page ? "Content-Type: text/html\r\n" : "ETag: \"1\"\r\n",
                         is_page ? links : object)};
      },
      false);
  Mount mount(server.address("/d/"), impatient({"cache_size=64M"}));
  const auto open_file = [&](int i) {
    return Fd(::open((mount / fmt::format("f{}", i)).c_str(), O_RDONLY | O_CLOEXEC));
  };
  std::vector<Fd> files;
  int error = 0;
  for (int i = 0; i < kFiles && error == 0; i++) {
    files.push_back(open_file(i));
    if (!files.back()) error = errno;
  }
  BOOST_TEST(error == ENOMEM);
  BOOST_TEST(files.size() > 5U);
  BOOST_TEST(mount.log().find("open files take all the memory that one user may have: close files, "
                              "or mount with a larger cache_size") != std::string::npos,
             mount.log());
  files.clear();
  BOOST_TEST(!!open_file(kFiles - 1));
  const std::uint64_t most = process_memory(mount.pid(), "VmHWM");
  BOOST_TEST(most <= 64 * kMebibyte + kBesidesCache, (most / kMebibyte) << " MiB");
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_SUITE_END()
