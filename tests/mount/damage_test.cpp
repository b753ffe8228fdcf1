// Damaged chunks affect only reads of themselves.

#include <algorithm>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <unistd.h>

#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr std::size_t kDamagedChunk = 65536, kDamagedBlock = 16384, kChunks = 8, kBadChunk = 3,
                      kBadBlock = 2;

/// Returns a frame of equal chunks. `damage` may change one of them.
template <typename Damage>
ByteVector damaged_frame(const ByteVector& contents, Damage damage) {
  FramePlan plan;
  plan.chunksize = kDamagedChunk;
  plan.blocksize = kDamagedBlock;
  plan.nbytes = static_cast<std::int64_t>(contents.size());
  ByteVector area;
  std::vector<std::int64_t> entries;
  for (std::size_t i = 0; i < kChunks; ++i) {
    const auto begin = contents.begin() + static_cast<std::ptrdiff_t>(i * kDamagedChunk);
    auto chunk = encode_chunk({begin, begin + kDamagedChunk}, 1, kDamagedBlock);
    if (i == kBadChunk) damage(chunk);
    entries.push_back(static_cast<std::int64_t>(area.size()));
    area.insert(area.end(), chunk.begin(), chunk.end());
  }
  return encode_frame(plan, area, entries);
}

/// Returns 0 if a read gives the expected bytes, -1 if it gives others, or the errno if it fails.
int outcome(int fd, const ByteVector& contents, std::size_t offset, std::size_t size) {
  ByteVector bytes(size);
  const ssize_t got = pread(fd, bytes.data(), size, static_cast<off_t>(offset));
  if (got < 0) return errno;
  const bool right = got == static_cast<ssize_t>(size) &&
                     std::equal(bytes.begin(), bytes.end(),
                                contents.begin() + static_cast<std::ptrdiff_t>(offset));
  return right ? 0 : -1;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

/// Reads page by page. Reads of the bad block must fail. Other reads may fail only in the bad
/// chunk.
void check_pages(const fs_std::path& path, const ByteVector& contents, int expected_errno,
                 std::size_t first_bad, std::size_t last_bad) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  BOOST_REQUIRE(fd.get() >= 0);
  constexpr std::size_t kPage = 4096;
  for (std::size_t at = 0; at < contents.size(); at += kPage) {
    const int result = outcome(fd.get(), contents, at, kPage);
    if (at >= first_bad && at < last_bad)
      BOOST_TEST(result == expected_errno, "at " << at << ": " << result);
    else if (at / kDamagedChunk == kBadChunk)
      BOOST_TEST((result == 0 || result == expected_errno), "at " << at << ": " << result);
    else
      BOOST_TEST(result == 0, "at " << at << ": " << result);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(damage)

BOOST_AUTO_TEST_CASE(bad_block_gives_eio_for_its_chunk_alone, *precondition(needs_fuse)) {
  const TempDir source;
  const auto contents = make_contents("text", 1, kChunks * kDamagedChunk, 1);
  write_file(source / "a.b2frame", damaged_frame(contents, [](ByteVector& chunk) {
               const auto start = block_extent(chunk, kBadBlock).first;
               chunk[start + 3] = 0x7f;  // a stream that is longer than the chunk
             }));
  Mount mount(source.path());
  constexpr std::size_t kFirst = kBadChunk * kDamagedChunk + kBadBlock * kDamagedBlock;
  for (int round = 0; round < 2; ++round)
    check_pages(mount / "a", contents, EIO, kFirst, kFirst + kDamagedBlock);
  BOOST_TEST(mount.counter("io_errors") > 0u);
  BOOST_TEST(mount.unmount().ok());
  BOOST_TEST(count(mount.log(), "a.b2frame") == 1u, "not logged once: " << mount.log());
  BOOST_TEST(mount.log().find("chunk " + std::to_string(kBadChunk)) != std::string::npos,
             mount.log());
  BOOST_TEST(mount.log().find("block " + std::to_string(kBadBlock)) != std::string::npos,
             mount.log());
}

BOOST_AUTO_TEST_CASE(bad_chunk_header_gives_eio_for_the_chunk, *precondition(needs_fuse)) {
  const TempDir source;
  const auto contents = make_contents("text", 1, kChunks * kDamagedChunk, 1);
  write_file(source / "size.b2frame",
             damaged_frame(contents, [](ByteVector& chunk) { chunk[4] = 1; }));
  write_file(source / "typesize.b2frame",
             damaged_frame(contents, [](ByteVector& chunk) { chunk[3] = 0; }));
  Mount mount(source.path());
  for (const char* name : {"size", "typesize"})
    check_pages(mount / name, contents, EIO, kBadChunk * kDamagedChunk,
                (kBadChunk + 1) * kDamagedChunk);
}

BOOST_AUTO_TEST_CASE(codec_that_is_missing_gives_eopnotsupp, *precondition(needs_fuse)) {
  const TempDir source;
  const auto contents = make_contents("text", 1, kChunks * kDamagedChunk, 1);
  write_file(source / "a.b2frame", damaged_frame(contents, [](ByteVector& chunk) {
               chunk[2] = static_cast<std::uint8_t>((chunk[2] & 0x1f) | 6 << 5);
               chunk[0x16] = 33;  // ZFP
             }));
  Mount mount(source.path());
  check_pages(mount / "a", contents, EOPNOTSUPP, kBadChunk * kDamagedChunk,
              (kBadChunk + 1) * kDamagedChunk);
  BOOST_TEST(mount.unmount().ok());
  auto log = mount.log();
  std::transform(log.begin(), log.end(), log.begin(),
                 [](char c) { return static_cast<char>(std::tolower(c)); });
  BOOST_TEST(log.find("zfp") != std::string::npos, "not named: " << log);
}

BOOST_AUTO_TEST_CASE(missing_chunk_file_gives_eio_for_the_chunk, *precondition(needs_fuse)) {
  const TempDir source;
  const auto contents = make_contents("text", 1, kChunks * kDamagedChunk, 1);
  Cut cut;
  cut.chunksize = kDamagedChunk;
  write_sparse_frame(source / "s.b2frame", contents, cut);
  fs_std::remove(source / "s.b2frame/00000003.chunk");
  Mount mount(source.path());
  check_pages(mount / "s", contents, EIO, kBadChunk * kDamagedChunk,
              (kBadChunk + 1) * kDamagedChunk);
}

BOOST_AUTO_TEST_CASE(block_beyond_the_budget_gives_efbig, *precondition(needs_fuse)) {
  const TempDir source;
  constexpr std::size_t kLarge = 8 << 20;
  Cut cut;
  cut.chunksize = kLarge;
  cut.blocksize = kLarge;
  const auto contents = make_contents("text", 1, kLarge, 1);
  write_file(source / "a.b2frame", flat_frame(contents, cut));
  MountSettings settings;
  settings.options = {"cache_size=8M"};
  Mount mount(source.path(), settings);
  BOOST_TEST(errno_of_reading(mount / "a") == EFBIG);
  BOOST_TEST(mount.log().find("cache_size") != std::string::npos, mount.log());
  mount.unmount();
  Mount larger(source.path());
  BOOST_CHECK(read_file(larger / "a") == contents);
}

BOOST_AUTO_TEST_CASE(file_that_cannot_be_decoded_costs_programs_one_error,
                     *precondition(needs_fuse)) {
  const TempDir source, copies;
  fs_std::create_directory(source / "sub");
  for (const char* name : {"a.b2frame", "sub/z.b2frame"})
    write_file(source / name, flat_frame("needle in " + std::string(name)));
  write_file(source / "sub/m.b2frame",
             with_unknown_codec(flat_frame("needle" + std::string(1000, 'x'))));
  const Mount mount(source.path());
  const std::string odd = (mount / "sub/m").string();
  const ProcessResult found = run({"grep", "-rc", "needle", mount.path().string()});
  const ProcessResult copied = run({"cp", "-r", mount.path().string(), (copies / "tree").string()});
  for (const ProcessResult& result : {found, copied}) {
    BOOST_TEST(count(result.err, "\n") == 1u, result.err);
    BOOST_TEST(result.err.find(odd) != std::string::npos, result.err);
  }
  BOOST_TEST(count(found.out, ":1\n") == 2u, found.out);
  BOOST_CHECK(read_file(copies / "tree/a") == bytes_of("needle in a.b2frame"));
  BOOST_CHECK(read_file(copies / "tree/sub/z") == bytes_of("needle in sub/z.b2frame"));
}

BOOST_AUTO_TEST_CASE(file_that_cannot_be_decoded_is_hidden_or_raw_on_demand,
                     *precondition(needs_fuse)) {
  const TempDir source;
  const ByteVector frame = with_unknown_codec(flat_frame(std::string(1000, 'x')));
  write_file(source / "m.b2frame", frame);
  MountSettings settings;
  settings.options = {"unsupported=hide"};
  {
    const Mount mount(source.path(), settings);
    BOOST_TEST(fs_std::is_empty(mount.path()));
    BOOST_TEST(!fs_std::exists(mount / "m"));
    BOOST_TEST(mount.log().find("left out: codec codec254") != std::string::npos, mount.log());
  }
  settings.options = {"unsupported=raw"};
  const Mount mount(source.path(), settings);
  BOOST_CHECK(read_file(mount / "m.b2frame") == frame);
  BOOST_TEST(!fs_std::exists(mount / "m"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
