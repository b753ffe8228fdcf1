// Changes of frames whose chunks do not match their checksums.

#include <algorithm>

#include <boost/test/unit_test.hpp>
#include <unistd.h>

#include "tests/mount/asked_mounts.hpp"
#include "tests/mount/foreign_changes.hpp"
#include "tests/mount/one_frame.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/npy.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr std::size_t kSummedChunk = 65536, kChunks = 8, kBadChunk = 3;

}  // namespace

BOOST_AUTO_TEST_SUITE(checksums_of_changes)

// A new checksum over bytes that do not match their old one would make the damage look sound.
BOOST_AUTO_TEST_CASE(change_does_not_hide_a_wrong_checksum, *precondition(needs_fuse)) {
  const TempDir source;
  const auto contents = make_contents("noise", 1, kChunks * kSummedChunk, 1);
  MountSettings settings;
  settings.options = {"checksum", "chunk_size=64K"};
  {
    Mount mount(source.path(), settings);
    write_file(mount / "a", contents);
    BOOST_TEST(mount.unmount().ok());
  }
  ByteVector stored = read_file(source / "a.b2frame");
  // Noise is stored as it is. One bit changes in each of two chunks.
  for (const std::size_t chunk : {kBadChunk, kChunks - 1}) {
    const auto begin = contents.begin() + static_cast<std::ptrdiff_t>(chunk * kSummedChunk);
    const auto found = std::search(stored.begin(), stored.end(), begin, begin + 64);
    BOOST_REQUIRE(found != stored.end());
    *found ^= 1;
  }
  write_file(source / "a.b2frame", stored);
  settings.options.clear();
  Mount mount(source.path(), settings);
  {
    const Fd file = open_rw(mount / "a");
    write_at(file, kBadChunk * kSummedChunk + 5000, ByteVector(10, 1));
    BOOST_TEST(sync_error(file) == EIO);
    BOOST_CHECK(read_file(source / "a.b2frame") == stored);
    BOOST_TEST(mount.counter("checksum_failures") > 0u);
    const ProcessResult refused = bloscfs({"--unmount", mount.path().string()});
    BOOST_TEST(!refused.ok());
    for (const char* const part :
         {"the file in SOURCE is damaged: chunk 3: checksum ",
          "write the whole chunk again, restore the file, or save with b2frame repair"}) {
      BOOST_TEST(refused.err.find(part) != std::string::npos, refused.description());
      BOOST_TEST(mount.log().find(part) != std::string::npos, mount.log());
    }
    BOOST_TEST(sync_error(file) == EIO);
    // What replaces the whole chunk needs none of its old bytes.
    write_at(file, kBadChunk * kSummedChunk, ByteVector(kSummedChunk, 2));
    BOOST_TEST(sync_error(file) == 0);
    // A chunk that is cut is encoded anew.
    BOOST_REQUIRE(ftruncate(file.get(), kChunks * kSummedChunk - 100) == 0);
    BOOST_TEST(sync_error(file) == EIO);
    BOOST_REQUIRE(ftruncate(file.get(), (kChunks - 1) * kSummedChunk) == 0);
    BOOST_TEST(sync_error(file) == 0);
  }
  BOOST_TEST(mount.unmount().ok());
  BOOST_TEST(mount.log().find("checksum") != std::string::npos, mount.log());
  settings.options = {"verify"};
  const Mount checked(source.path(), settings);
  const ByteVector whole(kSummedChunk, 2);
  BOOST_CHECK(read_file(checked / "a") == patched({contents.begin(), contents.end() - kSummedChunk},
                                                  kBadChunk * kSummedChunk, whole));
}

// No write reaches the padding of blocks that do not divide the chunk.
BOOST_AUTO_TEST_CASE(damaged_chunk_with_padding_can_be_written_anew, *precondition(needs_fuse)) {
  constexpr std::size_t kRow = 400, kRows = 30, kChunkRows = 8;
  const TempDir source, home;
  const ByteVector items = make_contents("noise", 1, kRows * kRow, 1);
  const std::string header = npy_header("<i4", {kRows, kRow / 4});
  write_file(home / "x.npy", header + std::string(items.begin(), items.end()));
  const std::string frame = (source / "x.b2nd").string();
  const ProcessResult made = run({b2frame_program(), "create", "--checksum", "--filters", "none",
                                  "--codec", "lz4", "--chunk-shape", "8,100", "--block-shape",
                                  "3,100", (home / "x.npy").string(), "-o", frame});
  BOOST_TEST_REQUIRE(made.ok(), made.description());
  ByteVector stored = read_file(frame);
  // Noise is stored as it is. Chunk 1, and the last one, which the array does not fill.
  for (const std::size_t row : {kChunkRows, 3 * kChunkRows}) {
    const auto begin = items.begin() + static_cast<std::ptrdiff_t>(row * kRow);
    const auto found = std::search(stored.begin(), stored.end(), begin, begin + 64);
    BOOST_TEST_REQUIRE((found != stored.end()));
    *found ^= 1;
  }
  write_file(frame, stored);
  Mount mount(source.path());
  {
    const Fd file = open_rw(mount / "x.npy");
    write_at(file, static_cast<off_t>(header.size() + kChunkRows * kRow), ByteVector(8, 1));
    BOOST_TEST(sync_error(file) == EIO);
    write_at(file, static_cast<off_t>(header.size()), items);
    BOOST_TEST(sync_error(file) == 0);
  }
  BOOST_TEST(mount.unmount().ok());
  BOOST_TEST(run({b2frame_program(), "verify", frame}).ok());
  Mount again(source.path());
  const std::string whole = header + std::string(items.begin(), items.end());
  BOOST_CHECK(read_file(again / "x.npy") == bytes_of(whole));
}

BOOST_AUTO_TEST_CASE(frame_that_is_replaced_keeps_having_checksums, *precondition(needs_fuse)) {
  const TempDir source;
  const auto array = [](std::int64_t rows) {
    const ByteVector items = make_contents("noise", 1, static_cast<std::size_t>(rows) * 4, 1);
    return npy_header("<i4", {rows}) + std::string(items.begin(), items.end());
  };
  const auto has_checksums = [&](const char* name) {
    const ByteVector stored = read_file(source / name);
    return std::string_view(reinterpret_cast<const char*>(stored.data()), stored.size())
               .find("bloscfs.xxh3") != std::string_view::npos;
  };
  MountSettings settings;
  settings.options = {"checksum"};
  {
    Mount mount(source.path(), settings);
    write_file(mount / "x.npy", array(30'000));
    BOOST_TEST(mount.unmount().ok());
  }
  BOOST_TEST(has_checksums("x.b2nd"));
  Mount mount(source.path());
  // Another shape needs a new frame, and so do contents that are no array.
  write_file(mount / "x.npy", array(20'000));
  BOOST_CHECK(read_file(mount / "x.npy") == bytes_of(array(20'000)));
  BOOST_TEST(mount.unmount().ok());
  BOOST_TEST(has_checksums("x.b2nd"));
  Mount again(source.path());
  write_file(again / "x.npy", std::string_view("no array, but some text"));
  BOOST_TEST(again.unmount().ok());
  BOOST_TEST(has_checksums("x.npy.b2frame"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
