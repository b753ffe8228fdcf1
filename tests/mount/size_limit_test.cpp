// A change that could not be committed is refused at once, and everything else is committed.

#include <cerrno>
#include <string>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/header/frame_limits.hpp"
#include "tests/mount/errno_of.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/source_dir.hpp"
#include "tests/support/xattr.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

/// The chunk size of new files.
constexpr std::int64_t kChunkSize = 128 << 10;

/// Checks that every way to make a file larger than `limit` fails with EFBIG.
void check_refused(const fs_std::path& file, std::int64_t limit) {
  const Fd fd(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  BOOST_REQUIRE(fd);
  struct stat before {};
  fstat(fd.get(), &before);
  for (const std::int64_t beyond : {limit + 1, 2 * limit, INT64_MAX - 4096}) {
    BOOST_TEST(errno_of(truncate(file.c_str(), beyond)) == EFBIG);
    BOOST_TEST(errno_of(ftruncate(fd.get(), beyond)) == EFBIG);
    BOOST_TEST(errno_of(fallocate(fd.get(), 0, 0, beyond)) == EFBIG);
    BOOST_TEST(errno_of(static_cast<int>(pwrite(fd.get(), "x", 1, beyond - 1))) == EFBIG);
  }
  struct stat after {};
  fstat(fd.get(), &after);
  BOOST_TEST(after.st_size == before.st_size);
  BOOST_TEST(fsync(fd.get()) == 0);
}

void check_zeros(const fs_std::path& file, std::int64_t size) {
  const Fd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat st {};
  fstat(fd.get(), &st);
  BOOST_TEST(st.st_size == size);
  for (const std::int64_t at : {std::int64_t{4096}, size / 2, size - 4096}) {
    ByteVector bytes(4096, 1);
    BOOST_TEST(pread(fd.get(), bytes.data(), bytes.size(), at) == 4096);
    if (at == size - 4096) {
      BOOST_TEST(bytes.back() == '!');
      bytes.back() = 0;
    }
    BOOST_TEST((bytes == ByteVector(4096)));
  }
}

/// Checks that a file of the largest size is committed after every refused change, and can be read
/// in a new mount.
void check_largest(const fs_std::path& source, const std::string& name, std::int64_t size) {
  {
    Mount mount(source);
    check_refused(mount / name, size);
    {
      const Fd fd(open((mount / name).c_str(), O_RDWR | O_CLOEXEC));
      BOOST_TEST(errno_of(ftruncate(fd.get(), size)) == 0);
      BOOST_TEST(fsync(fd.get()) == 0);
      BOOST_TEST(pwrite(fd.get(), "!", 1, size - 1) == 1);
      BOOST_TEST(fsync(fd.get()) == 0);
    }
    BOOST_TEST(mount.counter("commit_failures") == 0u);
    mount.unmount();
  }
  const Mount again(source);
  check_zeros(again / name, size);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(size_limit)

BOOST_AUTO_TEST_CASE(new_files_can_be_as_large_as_a_frame, *precondition(needs_fuse_unsanitized)) {
  const SourceDir source;
  check_largest(source.path(), "a", kChunkSize * frame::max_chunk_count(false));
}

BOOST_AUTO_TEST_CASE(frames_of_small_chunks_have_a_smaller_limit,
                     *precondition(needs_fuse_unsanitized)) {
  const SourceDir source;
  Cut cut;
  cut.chunksize = cut.blocksize = 205;
  write_file(source / "small.b2frame", flat_frame(std::string(1000, 0), cut));
  check_largest(source.path(), "small", 205 * frame::max_chunk_count(false));
}

BOOST_AUTO_TEST_CASE(checksums_leave_room_for_fewer_chunks, *precondition(needs_fuse)) {
  const SourceDir source;
  MountSettings settings;
  settings.options = {"checksum"};
  Mount mount(source.path(), settings);
  const std::int64_t limit = kChunkSize * frame::max_chunk_count(true);
  check_refused(mount / "a", limit);
  BOOST_TEST(errno_of(truncate((mount / "a").c_str(), limit)) == 0);
  const Fd fd(open((mount / "a").c_str(), O_RDONLY | O_CLOEXEC));
  BOOST_TEST(fsync(fd.get()) == 0);
  check_refused(mount / "a", limit);
  BOOST_TEST(mount.counter("commit_failures") == 0u);
}

BOOST_AUTO_TEST_CASE(arrays_with_too_many_chunks_stay_flat, *precondition(needs_fuse)) {
  // Each row of the array takes a whole chunk and a few bytes of another one. So the array would
  // need twice as many chunks as a flat frame.
  constexpr std::int64_t kRow = kChunkSize + 8, kRows = 150'000'000;
  const std::string start = npy_header("|u1", {kRows, kRow});
  const SourceDir source;
  const std::int64_t size = static_cast<std::int64_t>(start.size()) + kRow * kRows;
  {
    Mount mount(source.path());
    write_file(mount / "a.npy", start);
    BOOST_TEST(errno_of(truncate((mount / "a.npy").c_str(), size)) == 0);
    mount.unmount();
  }
  BOOST_TEST(fs_std::exists(source / "a.npy.b2frame"));
  const Mount again(source.path());
  BOOST_TEST(static_cast<std::int64_t>(fs_std::file_size(again / "a.npy")) == size);
}

BOOST_AUTO_TEST_CASE(metalayers_that_no_trailer_holds_are_refused, *precondition(needs_fuse)) {
  const SourceDir source;
  Mount mount(source.path());
  write_file(mount / "a", "contents");
  const std::string prefix = "user.blosc2.vlmeta.";
  BOOST_TEST(errno_of_set_xattr(mount / "a", prefix + std::string(32, 'n'), "1") != 0);
  int error = 0, count = 0;
  for (; error == 0 && count < 10'000; count++) {
    std::string name = std::to_string(count);
    name.insert(0, 31 - name.size(), 'n');
    error = errno_of_set_xattr(mount / "a", prefix + name, "1");
  }
  BOOST_TEST(error == ENOSPC);
  const Fd fd(open((mount / "a").c_str(), O_RDWR | O_CLOEXEC));
  BOOST_TEST(pwrite(fd.get(), "C", 1, 0) == 1);
  BOOST_TEST(fsync(fd.get()) == 0);
  BOOST_TEST(mount.counter("commit_failures") == 0u);
}

BOOST_AUTO_TEST_CASE(zeros_over_a_huge_hole_cost_next_to_nothing,
                     *precondition(needs_fuse_unsanitized)) {
  const SourceDir source;
  const Mount mount(source.path());
  constexpr std::int64_t kSize = std::int64_t{30} << 40;
  const Fd fd(open((mount / "a").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  // fallocate() would refuse to grow the file, for which there is not enough space.
  BOOST_TEST(errno_of(ftruncate(fd.get(), kSize)) == 0);
  BOOST_TEST(errno_of(fallocate(fd.get(), FALLOC_FL_ZERO_RANGE, 0, kSize)) == 0);
  BOOST_TEST(fsync(fd.get()) == 0);
  BOOST_TEST(pwrite(fd.get(), "x", 1, kSize / 2) == 1);
  BOOST_TEST(fsync(fd.get()) == 0);
  constexpr int kPunch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  BOOST_TEST(errno_of(fallocate(fd.get(), kPunch, 0, kSize)) == 0);
  BOOST_TEST(fsync(fd.get()) == 0);
  char byte = 1;
  BOOST_TEST(pread(fd.get(), &byte, 1, kSize / 2) == 1);
  BOOST_TEST(byte == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
