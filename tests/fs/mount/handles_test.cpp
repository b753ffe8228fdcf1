// Operations on open files, which do the same for plain files and for containers.

#include <cerrno>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/support/request.hpp"
#include "tests/fs/mount/in_process.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"

namespace bloscfs::test {
namespace {

/// A SOURCE with the plain file `plain` and the frame `frame`, which have the same contents.
class TwoKinds {
 public:
  explicit TwoKinds(const ByteVector& contents, const std::string& options = {}) {
    write_file(source_ / "plain", contents);
    write_file(source_ / "frame.b2frame", flat_frame(contents));
    mount_.emplace(source_.path(), options);
  }

  InProcess* operator->() { return &*mount_; }
  InProcess::File open(std::string_view name, int flags = O_RDWR) {
    return mount_->open(name, flags);
  }
  fs::PagePool& pages() { return (*mount_)->cache().pages(); }
  ByteVector stored_plain() const { return read_file(source_ / "plain"); }
  ByteVector stored_frame() const { return shown_contents(source_ / "frame.b2frame"); }
  fs_std::path plain() const { return source_ / "plain"; }

 private:
  const TempDir source_;
  std::optional<InProcess> mount_;
};

constexpr const char* kKinds[] = {"plain", "frame"};

std::size_t write(const InProcess::File& file, const fs::WritePlace& place,
                  const std::string& text) {
  return file.handle().write(file.mount().request(), place, codec::Bytes(bytes_of(text)));
}

timespec modified(const InProcess::File& file) { return file.stat().st_mtim; }

bool same_time(const timespec& one, const timespec& other) {
  return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(handles_in_process)

BOOST_AUTO_TEST_CASE(bytes_come_from_memory_or_from_a_descriptor) {
  TwoKinds mount(bytes_of("contents"));
  BOOST_TEST(std::holds_alternative<fs::DescriptorRange>(
      mount.open("plain", O_RDONLY).handle().read(mount->request(), 0, 8)));
  BOOST_TEST(std::holds_alternative<fs::ReplyData>(
      mount.open("frame", O_RDONLY).handle().read(mount->request(), 0, 8)));
  for (const char* name : kKinds) BOOST_TEST_CONTEXT(name) {
      for (const int flags : {O_RDONLY, O_RDWR}) {
        const InProcess::File file = mount.open(name, flags);
        BOOST_CHECK(file.read(3, 4) == bytes_of("tent"));
        BOOST_CHECK(file.read(6, 100) == bytes_of("ts"));
        BOOST_TEST(file.read(8, 1).empty());
      }
    }
}

BOOST_AUTO_TEST_CASE(all_that_changes_a_file_is_refused_to_readers) {
  TwoKinds mount(bytes_of("contents"));
  for (const char* name : kKinds) BOOST_TEST_CONTEXT(name) {
      const InProcess::File file = mount.open(name, O_RDONLY);
      std::vector<fs::PooledBuffer> cells;
      cells.emplace_back(mount.pages());
      BOOST_TEST(error_of([&] { write(file, {}, "x"); }) == EBADF);
      BOOST_TEST(error_of([&] { write(file, {0, false, true}, "x"); }) == EBADF);
      BOOST_TEST(error_of([&] { file.handle().write(mount->request(), {}, std::span(cells)); }) ==
                 EBADF);
      BOOST_TEST(error_of([&] { file.truncate(0); }) == EBADF);
      BOOST_TEST(error_of([&] { file.allocate(0, 0, 10); }) == EBADF);
      BOOST_TEST(error_of([&] { file.sync(); }) == 0);
      BOOST_TEST(error_of([&] { file.flush(); }) == 0);
      BOOST_TEST(!file.handle().has_writers());
      BOOST_CHECK(file.contents() == bytes_of("contents"));
    }
}

BOOST_AUTO_TEST_CASE(writes_tell_how_much_they_have_taken) {
  TwoKinds mount(bytes_of("contents"));
  for (const char* name : kKinds) BOOST_TEST_CONTEXT(name) {
      const InProcess::File file = mount.open(name);
      BOOST_TEST(write(file, {3}, "TENT") == 4u);
      std::vector<fs::PooledBuffer> cells;
      cells.emplace_back(mount.pages(), codec::Bytes(ByteVector(fs::kCellSize, 'a')));
      cells.emplace_back(mount.pages(), codec::Bytes(bytes_of("bc")));
      BOOST_TEST(file.handle().write(mount->request(), {8}, std::span(cells)) == fs::kCellSize + 2);
      const ByteVector all =
          with_bytes(with_bytes(bytes_of("conTENTs"), 8, ByteVector(fs::kCellSize, 'a')),
                     8 + fs::kCellSize, bytes_of("bc"));
      BOOST_CHECK(file.contents() == all);
      BOOST_TEST(file.handle().has_writers());
    }
}

BOOST_AUTO_TEST_CASE(what_is_appended_goes_to_the_end_and_pages_stay_in_place) {
  TwoKinds mount(bytes_of("contents"));
  for (const char* name : kKinds) BOOST_TEST_CONTEXT(name) {
      const InProcess::File file = mount.open(name, O_RDWR | O_APPEND);
      const InProcess::File other = mount.open(name);
      write(other, {8}, "+");
      write(file, {8, true}, "end");
      write(file, {0, false, true}, "C");
      BOOST_CHECK(file.contents() == bytes_of("Contents+end"));
    }
}

// If a program sets O_APPEND later with fcntl(2), the daemon's descriptor is not open for
// appending. Then the offset that the kernel sends counts.
BOOST_AUTO_TEST_CASE(plain_file_that_is_appended_to_later_takes_the_offset) {
  TwoKinds mount(bytes_of("contents"));
  write(mount.open("plain"), {8, true}, "end");
  BOOST_CHECK(mount.stored_plain() == bytes_of("contentsend"));
}

BOOST_AUTO_TEST_CASE(kernel_with_a_writeback_cache_decides_on_ends_and_times) {
  for (const bool writeback : {true, false}) BOOST_TEST_CONTEXT("writeback " << writeback) {
      TwoKinds mount(bytes_of("contents"), writeback ? "writeback" : "");
      const timespec past[2] = {{1'000'000'000, 0}, {1'000'000'000, 5}};
      BOOST_REQUIRE(::utimensat(AT_FDCWD, mount.plain().c_str(), past, 0) == 0);
      const InProcess::File file = mount.open("plain", O_RDWR | O_APPEND);
      write(file, {0, false, true}, "C");
      BOOST_TEST(same_time(modified(file), past[1]) == writeback);
      write(file, {1}, "O");
      BOOST_TEST(!same_time(modified(file), past[1]));
      BOOST_CHECK(mount.stored_plain() ==
                  (writeback ? bytes_of("COntents") : bytes_of("ContentsO")));
    }
}

BOOST_AUTO_TEST_CASE(data_and_holes_are_found) {
  constexpr std::int64_t kHole = 1 << 20, kEnd = 2 * kHole;
  TwoKinds mount(make_contents("noise", 1, static_cast<std::size_t>(kHole), 1));
  for (const char* name : kKinds) BOOST_TEST_CONTEXT(name) {
      const InProcess::File file = mount.open(name);
      file.truncate(kEnd);
      write(file, {kEnd}, "end");
      file.sync();  // until its commit, all of a container counts as data
      const fs::FileHandle& handle = file.handle();
      BOOST_TEST(handle.seek(mount->request(), 1, SEEK_DATA) == 1);
      BOOST_TEST(handle.seek(mount->request(), 0, SEEK_HOLE) == kHole);
      BOOST_TEST(handle.seek(mount->request(), kHole, SEEK_DATA) == kEnd);
      BOOST_TEST(handle.seek(mount->request(), kEnd, SEEK_HOLE) == kEnd + 3);
      BOOST_TEST(error_of([&] { handle.seek(mount->request(), kEnd + 3, SEEK_DATA); }) == ENXIO);
      BOOST_TEST(error_of([&] { handle.seek(mount->request(), kEnd + 3, SEEK_HOLE); }) == ENXIO);
    }
}

BOOST_AUTO_TEST_CASE(room_is_allocated_and_holes_are_punched) {
  TwoKinds mount(bytes_of("contents"));
  for (const char* name : kKinds) BOOST_TEST_CONTEXT(name) {
      const InProcess::File file = mount.open(name);
      file.allocate(FALLOC_FL_KEEP_SIZE, 0, 100);
      BOOST_TEST(file.stat().st_size == 8);
      file.allocate(0, 0, 10);
      BOOST_TEST(file.stat().st_size == 10);
      file.allocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1, 3);
      BOOST_CHECK(file.contents() == ByteVector({'c', 0, 0, 0, 'e', 'n', 't', 's', 0, 0}));
    }
}

BOOST_AUTO_TEST_CASE(sizes_are_cut_and_what_is_synced_is_stored) {
  TwoKinds mount(bytes_of("contents"));
  for (const char* name : kKinds) {
    const InProcess::File file = mount.open(name);
    file.truncate(4);
    file.sync();
  }
  BOOST_CHECK(mount.stored_plain() == bytes_of("cont"));
  BOOST_CHECK(mount.stored_frame() == bytes_of("cont"));
  for (const char* name : kKinds) BOOST_TEST(mount.open(name).stat().st_size == 4);
}

BOOST_AUTO_TEST_CASE(ranges_are_copied_between_plain_files_alone) {
  TwoKinds mount(bytes_of("contents"));
  const InProcess::File plain = mount.open("plain"), frame = mount.open("frame");
  const InProcess::File reader = mount.open("plain", O_RDONLY);
  const fs::CopiedRange range{0, 8, 3, 0};
  BOOST_TEST(plain.handle().copy_from(mount->request(), reader.handle(), range) == 3u);
  BOOST_TEST(plain.handle().copy_from(mount->request(), plain.handle(), {8, 20, 100, 0}) == 3u);
  BOOST_CHECK(plain.contents() == with_bytes(bytes_of("contentscon"), 20, bytes_of("con")));
  struct Copy {
    const InProcess::File &to, &from;
  };
  for (const Copy& copy :
       {Copy{plain, frame}, Copy{frame, plain}, Copy{frame, frame}, Copy{reader, plain}})
    BOOST_TEST(error_of([&] {
                 copy.to.handle().copy_from(mount->request(), copy.from.handle(), range);
               }) == EOPNOTSUPP);
}

// A commit or a flush of SOURCE may take long, so each of them needs a slot.
BOOST_AUTO_TEST_CASE(what_has_to_store_something_takes_a_slot) {
  TwoKinds mount(bytes_of("contents"));
  const InProcess::File reader = mount.open("frame", O_RDONLY), plain = mount.open("plain");
  const InProcess::File writer = mount.open("frame");
  fs::RequestSlots slots(1);
  using Work = void (fs::FileHandle::*)(fs::Request&);
  const auto needs_slot = [&](const InProcess::File& file, Work work) {
    fs::Request request(&slots, {1001});
    (file.handle().*work)(request);
    if (request.has_slot()) slots.give_back(1001);
    return request.has_slot();
  };
  BOOST_TEST(!needs_slot(reader, &fs::FileHandle::sync));
  BOOST_TEST(!needs_slot(reader, &fs::FileHandle::flush));
  BOOST_TEST(!needs_slot(plain, &fs::FileHandle::flush));
  BOOST_TEST(needs_slot(plain, &fs::FileHandle::sync));
  BOOST_TEST(needs_slot(writer, &fs::FileHandle::flush));
  write(writer, {0}, "C");
  BOOST_TEST(needs_slot(reader, &fs::FileHandle::sync));
  BOOST_CHECK(mount.stored_frame() == bytes_of("Contents"));
}

BOOST_AUTO_TEST_CASE(open_file_keeps_its_attributes_without_a_name) {
  TwoKinds mount(bytes_of("contents"));
  for (const char* name : kKinds) BOOST_TEST_CONTEXT(name) {
      const InProcess::File file = mount.open(name);
      mount->remove(name);
      file.truncate(5);
      BOOST_TEST(file.stat().st_size == 5);
      BOOST_CHECK(file.contents() == bytes_of("conte"));
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
