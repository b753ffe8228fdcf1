// Every way of reading a file gives the same bytes.

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/manifest.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr std::size_t kReadSize = 3000001;
constexpr std::size_t kPage = 4096;

/// A mounted frame of several chunks, the last of which is short, and its contents.
struct Sample {
  Sample() : contents(make_contents("islands", 5, kReadSize, 1)) {
    write_file(source / "a.b2frame", flat_frame(contents));
    mount = std::make_unique<Mount>(source.path());
    fd = open_flags(O_RDONLY);
  }

  Fd open_flags(int flags) const {
    Fd opened(open((*mount / "a").c_str(), flags | O_CLOEXEC));
    if (!opened) throw_errno("open");
    return opened;
  }

  bool equal(const std::uint8_t* bytes, std::size_t offset, std::size_t size) const {
    return offset + size <= contents.size() &&
           std::equal(bytes, bytes + size, contents.begin() + static_cast<std::ptrdiff_t>(offset));
  }

  TempDir source;
  ByteVector contents;
  std::unique_ptr<Mount> mount;
  Fd fd;
};

/// Reads at random places. Returns true if all bytes are right.
bool random_reads_agree(const Sample& sample, std::uint64_t seed, int reads) {
  std::mt19937_64 random(seed);
  ByteVector buffer;
  for (int i = 0; i < reads; ++i) {
    const std::size_t offset = random() % kReadSize;
    buffer.assign(1 + random() % 200000, 0xee);
    const std::size_t expected = std::min(buffer.size(), kReadSize - offset);
    const ssize_t got =
        pread(sample.fd.get(), buffer.data(), buffer.size(), static_cast<off_t>(offset));
    if (got != static_cast<ssize_t>(expected) || !sample.equal(buffer.data(), offset, expected))
      return false;
  }
  return true;
}

struct AlignedFree {
  void operator()(void* memory) const { std::free(memory); }
};
using AlignedBytes = std::unique_ptr<std::uint8_t, AlignedFree>;

AlignedBytes aligned_bytes(std::size_t size) {
  return AlignedBytes(static_cast<std::uint8_t*>(std::aligned_alloc(kPage, size)));
}

/// Returns the ranges [begin, end) of data that lseek reports.
std::vector<std::pair<off_t, off_t>> data_extents(int fd, off_t size) {
  std::vector<std::pair<off_t, off_t>> extents;
  off_t at = 0;
  while (at < size) {
    const off_t data = lseek(fd, at, SEEK_DATA);
    if (data < 0) break;
    at = lseek(fd, data, SEEK_HOLE);
    if (at <= data) break;
    extents.emplace_back(data, at);
  }
  return extents;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(reading)

BOOST_AUTO_TEST_CASE(reads_at_random_places, *precondition(needs_fuse)) {
  const Sample sample;
  BOOST_CHECK(random_reads_agree(sample, 11, 300));
}

BOOST_AUTO_TEST_CASE(reads_on_several_threads, *precondition(needs_fuse)) {
  const Sample sample;
  std::atomic<int> right{0};
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < 6; ++i)
    threads.emplace_back([&sample, &right, i] { right += random_reads_agree(sample, i, 60); });
  for (auto& thread : threads) thread.join();
  BOOST_TEST(right == 6);
}

BOOST_AUTO_TEST_CASE(reads_nothing_at_and_behind_the_end, *precondition(needs_fuse)) {
  const Sample sample;
  std::uint8_t byte = 0;
  BOOST_TEST(pread(sample.fd.get(), &byte, 1, kReadSize) == 0);
  BOOST_TEST(pread(sample.fd.get(), &byte, 1, kReadSize + (1LL << 40)) == 0);
  BOOST_TEST(pread(sample.fd.get(), &byte, 1, kReadSize - 1) == 1);
}

BOOST_AUTO_TEST_CASE(direct_reads_agree, *precondition(needs_fuse)) {
  const Sample sample;
  const Fd direct = sample.open_flags(O_RDONLY | O_DIRECT);
  const auto buffer = aligned_bytes(64 * kPage);
  for (std::size_t offset = 0; offset < kReadSize; offset += 37 * kPage) {
    const std::size_t expected = std::min<std::size_t>(64 * kPage, kReadSize - offset);
    const ssize_t got = pread(direct.get(), buffer.get(), 64 * kPage, static_cast<off_t>(offset));
    BOOST_TEST(got == static_cast<ssize_t>(expected));
    BOOST_CHECK(sample.equal(buffer.get(), offset, expected));
  }
}

BOOST_AUTO_TEST_CASE(mapped_memory_agrees, *precondition(needs_fuse)) {
  const Sample sample;
  void* const memory = mmap(nullptr, kReadSize, PROT_READ, MAP_SHARED, sample.fd.get(), 0);
  BOOST_REQUIRE(memory != MAP_FAILED);
  const auto* bytes = static_cast<const std::uint8_t*>(memory);
  for (std::size_t at = kReadSize - 1; at > 50000; at -= 50000)
    BOOST_CHECK(sample.equal(bytes + at, at, 1));
  BOOST_CHECK(sample.equal(bytes, 0, kReadSize));
  munmap(memory, kReadSize);
}

BOOST_AUTO_TEST_CASE(scattered_reads_agree, *precondition(needs_fuse)) {
  const Sample sample;
  ByteVector first(1000), second(100001), third(7);
  const iovec parts[] = {
      {first.data(), first.size()}, {second.data(), second.size()}, {third.data(), third.size()}};
  const std::size_t offset = 123456, all = first.size() + second.size() + third.size();
  BOOST_TEST(preadv(sample.fd.get(), parts, 3, static_cast<off_t>(offset)) ==
             static_cast<ssize_t>(all));
  BOOST_CHECK(sample.equal(first.data(), offset, first.size()));
  BOOST_CHECK(sample.equal(second.data(), offset + first.size(), second.size()));
  BOOST_CHECK(sample.equal(third.data(), offset + all - third.size(), third.size()));
}

BOOST_AUTO_TEST_CASE(copies_inside_the_kernel_agree, *precondition(needs_fuse)) {
  const Sample sample;
  const TempDir target;
  const auto copy_with = [&](const char* name, auto copy_some) {
    const Fd out(open((target / name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    const Fd in = sample.open_flags(O_RDONLY);
    std::size_t left = kReadSize;
    while (left > 0) {
      const ssize_t got = copy_some(in.get(), out.get(), left);
      if (got < 0 && errno == EXDEV) return;  // some kernels do not copy between mounts
      if (got <= 0) break;
      left -= static_cast<std::size_t>(got);
    }
    BOOST_CHECK_MESSAGE(read_file(target / name) == sample.contents, name);
  };
  copy_with("copy_file_range", [](int in, int out, std::size_t size) {
    return copy_file_range(in, nullptr, out, nullptr, size, 0);
  });
  copy_with("sendfile",
            [](int in, int out, std::size_t size) { return sendfile(out, in, nullptr, size); });
  copy_with("splice", [](int in, int out, std::size_t size) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return ssize_t{-1};
    const Fd from(ends[0]), to(ends[1]);
    const ssize_t got =
        splice(in, nullptr, to.get(), nullptr, std::min<std::size_t>(size, 60000), 0);
    if (got <= 0) return got;
    return splice(from.get(), nullptr, out, nullptr, static_cast<std::size_t>(got), 0);
  });
}

BOOST_AUTO_TEST_CASE(runs_of_zero_chunks_are_holes, *precondition(needs_fuse)) {
  constexpr off_t kChunk = 65536;
  const auto at_chunk = [](int n) { return n * kChunk; };
  ByteVector contents(static_cast<std::size_t>(at_chunk(20)), 0);
  for (const int chunk : {0, 1, 7, 12}) contents[static_cast<std::size_t>(at_chunk(chunk)) + 5] = 1;
  const TempDir source;
  Cut cut;
  cut.chunksize = kChunk;
  write_file(source / "a.b2frame", flat_frame(contents, cut));
  write_sparse_frame(source / "s.b2frame", contents, cut);
  write_file(source / "zeros.b2frame", flat_frame(ByteVector(1 << 20), cut));
  Mount mount(source.path());
  for (const char* name : {"a", "s"}) {
    const Fd fd(open((mount / name).c_str(), O_RDONLY | O_CLOEXEC));
    const auto extents = data_extents(fd.get(), at_chunk(20));
    const std::vector<std::pair<off_t, off_t>> expected{
        {0, at_chunk(2)}, {at_chunk(7), at_chunk(8)}, {at_chunk(12), at_chunk(13)}};
    BOOST_CHECK_MESSAGE(extents == expected, name);
    BOOST_TEST(lseek(fd.get(), at_chunk(13) + 1, SEEK_DATA) == -1);
    BOOST_TEST(errno == ENXIO);
    BOOST_TEST(lseek(fd.get(), at_chunk(3), SEEK_HOLE) == at_chunk(3));
    BOOST_TEST(lseek(fd.get(), at_chunk(21), SEEK_HOLE) == -1);
    BOOST_TEST(errno == ENXIO);
    BOOST_CHECK(read_file(mount / name) == contents);
  }
  const Fd zeros(open((mount / "zeros").c_str(), O_RDONLY | O_CLOEXEC));
  BOOST_TEST(lseek(zeros.get(), 0, SEEK_DATA) == -1);
  BOOST_TEST(lseek(zeros.get(), 0, SEEK_HOLE) == 0);
}

BOOST_AUTO_TEST_CASE(files_without_holes_end_in_one, *precondition(needs_fuse)) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame(make_contents("noise", 1, 200000, 1)));
  Mount mount(source.path());
  const Fd fd(open((mount / "a").c_str(), O_RDONLY | O_CLOEXEC));
  BOOST_TEST(lseek(fd.get(), 1000, SEEK_DATA) == 1000);
  BOOST_TEST(lseek(fd.get(), 1000, SEEK_HOLE) == 200000);
}

BOOST_AUTO_TEST_CASE(empty_frames_are_empty_files, *precondition(needs_fuse)) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame(std::string()));
  Mount mount(source.path());
  BOOST_TEST(read_file(mount / "a").empty());
  BOOST_TEST(fs_std::file_size(mount / "a") == 0u);
}

BOOST_AUTO_TEST_CASE(plain_files_and_links_of_a_tree_are_themselves, *precondition(needs_fuse)) {
  const TempDir source;
  const auto noise = make_contents("noise", 3, 500000, 1);
  write_file(source / "plain", noise);
  fs_std::create_symlink("plain", source / "link");
  fs_std::create_symlink("/no/such/../place", source / "dangling");
  Mount mount(source.path());
  BOOST_CHECK(read_file(mount / "plain") == noise);
  BOOST_CHECK(read_file(mount / "link") == noise);
  BOOST_TEST(fs_std::read_symlink(mount / "dangling").string() == "/no/such/../place");
}

BOOST_AUTO_TEST_CASE(numpy_maps_arrays, *precondition(needs_numpy)) {
  const TempDir source;
  const auto contents = make_contents("floats", 1, 60 * 80 * 8, 8);
  write_file(source / "t.b2nd", array_frame(contents, {60, 80}, "<f8", 8));
  Mount mount(source.path());
  const auto result = run({numpy_python(), "-c",
                           "import numpy, sys\n"
                           "a = numpy.load(sys.argv[1], mmap_mode='r')\n"
                           "assert a.shape == (60, 80) and a.dtype.str == '<f8', a.dtype\n"
                           "sys.stdout.buffer.write(a.tobytes())",
                           (mount / "t.npy").string()});
  BOOST_TEST(result.ok(), result.description());
  BOOST_CHECK(bytes_of(result.out) == contents);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
