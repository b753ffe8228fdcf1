// Another program changes a file in SOURCE while pages, sizes, attributes, locks or renames of it
// are pending. None of them may bring old bytes into the new state, and none may be lost.

#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/xattr.h>

#include "tests/mount/one_frame.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/pause.hpp"
#include "tests/support/source_dir.hpp"
#include "tests/support/xattr.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

}  // namespace

BOOST_AUTO_TEST_SUITE(take_overs)

// A page that was changed in a mapping also holds bytes of the state that it was read from.
BOOST_AUTO_TEST_CASE(page_of_the_old_state_is_kept_with_that, *precondition(needs_fuse)) {
  for (const bool looks_first : {false, true}) BOOST_TEST_CONTEXT("looks first " << looks_first) {
      OneFrame one;
      const Fd& file = one.open();
      void* const memory =
          mmap(nullptr, kOldLength, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
      BOOST_REQUIRE(memory != MAP_FAILED);
      const ByteVector bytes = written();
      std::memcpy(static_cast<std::uint8_t*>(memory) + kAt, bytes.data(), bytes.size());
      replace_by_rename(one.stored(), flat_frame(new_state()));
      // The look makes the file continue from the new state before the page is written back.
      if (looks_first) BOOST_TEST(look_at(one.shown) == 0);
      BOOST_TEST(errno_of(msync(memory, kOldLength, MS_SYNC)) != 0);
      munmap(memory, kOldLength);
      BOOST_CHECK(read_file(one.shown) == new_state());
      one.files.clear();
      BOOST_TEST(one.mount->unmount().ok());
      BOOST_CHECK(stored_contents(one.stored()) == new_state());
      const auto conflicts = conflicts_of(one.source.path(), "a");
      if (!looks_first) BOOST_TEST(conflicts.size() == 1u);
      for (const std::string& name : conflicts)
        BOOST_CHECK(stored_contents(one.source / name) == old_and_written());
    }
}

// A size that is set during the change must not become the size of the new state.
BOOST_AUTO_TEST_CASE(size_is_set_of_the_state_that_was_open, *precondition(needs_fuse)) {
  constexpr std::size_t kLarge = std::size_t{48} << 20;  // saving it takes a while
  OneFrame one({"cache_size=512M"});                     // so that it waits in memory
  const Fd& file = one.open();
  write_at(file, 0, make_contents("noise", 3, kLarge, 1));
  replace_by_rename(one.stored(), flat_frame(new_state()));
  std::jthread looker([&] { look_at(one.shown); });
  std::minstd_rand random{std::random_device{}()};
  pause_at_random(random, std::chrono::milliseconds(100));
  // Sets the size of the old state, or fails with ESTALE.
  const int error = errno_of(ftruncate(file.get(), 1000));
  looker.join();
  if (error != ESTALE) BOOST_TEST(sync_error(file) == ESTALE);
  BOOST_TEST(sync_error(file) == 0);
  BOOST_CHECK(read_file(one.shown) == new_state());
  BOOST_CHECK(stored_contents(one.stored()) == new_state());
}

BOOST_AUTO_TEST_CASE(open_file_that_takes_the_name_gets_no_attributes, *precondition(needs_fuse)) {
  OneFrame one;
  write_file(one.source / "c.b2frame", flat_frame(new_state()));
  const Fd& file = one.open();
  const Fd& other = one.files.emplace_back(open_rw(*one.mount / "c"));
  BOOST_TEST(errno_of_set_xattr(one.shown, "user.blosc2.vlmeta.note", "lost") == 0);
  fs_std::rename(one.source / "c.b2frame", one.stored());
  BOOST_TEST(look_at(one.shown) == 0);
  BOOST_TEST(!get_xattr(one.shown, "user.blosc2.vlmeta.note"));
  BOOST_TEST(sync_error(other) == 0);
  BOOST_TEST(write_error_of(file, 0, written()) == ESTALE);
  BOOST_CHECK(read_file(one.shown) == new_state());
  one.files.clear();
  BOOST_TEST(one.mount->unmount().ok());
  BOOST_TEST(occurrences(one.mount->log(), "attributes that were set are discarded") == 1);
  BOOST_CHECK(stored_contents(one.stored()) == new_state());
}

// Another program may hold a frame's lock for long. Other files must not wait for that.
BOOST_AUTO_TEST_CASE(lock_of_one_frame_does_not_stop_the_others, *precondition(needs_fuse)) {
  OneFrame one;
  write_file(one.source / "b.b2frame", flat_frame(old_state()));
  write_file(one.source / "a.b2frame.b2lock", ByteVector(16, 0));
  const Fd& file = one.open_with_pending();
  const Fd lock = open_rw(one.source / "a.b2frame.b2lock");
  BOOST_REQUIRE(flock(lock.get(), LOCK_EX) == 0);
  std::jthread syncer([&] { sync_error(file); });
  BOOST_TEST(comes_true([&] { return one.mount->requests_waiting() > 0; }));
  BOOST_TEST(look_at(*one.mount / "b") == 0);
  BOOST_TEST(look_at(one.shown) == 0);
  BOOST_TEST(std::distance(fs_std::directory_iterator(one.mount->path()), {}) == 2);
  BOOST_TEST(one.mount->requests_waiting() > 0u);
  flock(lock.get(), LOCK_UN);
  syncer.join();
  BOOST_TEST(sync_error(file) == 0);
  BOOST_CHECK(stored_contents(one.stored()) == old_and_written());
}

// After the lock of a frame is released, its commit is retried soon, without the 5 s of a group
// commit.
BOOST_AUTO_TEST_CASE(lock_that_is_given_back_is_not_waited_for_any_more,
                     *precondition(needs_fuse)) {
  const SourceDir source;
  const fs_std::path stored = source / "a.b2frame";
  write_file(stored, flat_frame(old_state()));
  const fs_std::path other = source / "b.b2frame";
  write_file(other, flat_frame(old_state()));
  write_file(source / "a.b2frame.b2lock", ByteVector(16, 0));
  DaemonTime time;
  Mount mount(source.path(), time.of());
  const ByteVector before = read_file(stored);
  for (const char* name : {"a", "b"})
    BOOST_TEST(setxattr((mount / name).c_str(), "user.blosc2.vlmeta.a", "1", 1, 0) == 0);
  const Fd lock = open_rw(source / "a.b2frame.b2lock");
  BOOST_REQUIRE(flock(lock.get(), LOCK_EX) == 0);
  // The commit is due for both files. It does not wait for the lock of one.
  time.move(std::chrono::seconds(5));
  BOOST_TEST(comes_true([&] { return mount.counter("commits") > 0; }));
  BOOST_CHECK(read_file(stored) == before);
  flock(lock.get(), LOCK_UN);
  time.move(std::chrono::seconds(1));
  BOOST_TEST(comes_true([&] { return read_file(stored) != before; }));
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

// A new file that waits to replace another one may replace only the state that it was renamed over,
// not a later change by another program.
BOOST_AUTO_TEST_CASE(change_of_what_a_waiting_file_has_replaced, *precondition(needs_fuse)) {
  for (const ForeignChange& change : foreign_changes()) BOOST_TEST_CONTEXT(change.name) {
      OneFrame one;
      const Fd& file = one.files.emplace_back(open_rw(*one.mount / "new", O_CREAT));
      write_at(file, 0, written());
      fs_std::rename(*one.mount / "new", one.shown);
      BOOST_CHECK(read_file(one.shown) == written());
      change.make(one.stored(), new_state());
      BOOST_TEST(sync_error(file) == ESTALE);
      BOOST_CHECK(stored_contents(conflict_of(one.source.path(), "a")) == written());
      BOOST_CHECK(read_file(one.shown) == new_state());
      write_at(file, 100, written());
      BOOST_TEST(sync_error(file) == 0);
      one.end();
      BOOST_CHECK(stored_contents(one.stored()) == patched(new_state(), 100, written()));
    }
}

BOOST_AUTO_TEST_CASE(removal_of_what_a_waiting_file_has_replaced, *precondition(needs_fuse)) {
  const SourceDir source;
  write_file(source / "a.b2frame", flat_frame(old_state()));
  Mount mount(source.path());
  Fd file = open_rw(mount / "new", O_CREAT);
  write_at(file, 0, written());
  fs_std::rename(mount / "new", mount / "a");
  fs_std::remove(source / "a.b2frame");
  BOOST_TEST(sync_error(file) == 0);
  BOOST_CHECK(read_file(mount / "a") == written());
  file = Fd();
  BOOST_TEST(mount.unmount().ok());
  BOOST_CHECK(stored_contents(source / "a.b2frame") == written());
  BOOST_TEST(std::distance(fs_std::directory_iterator(source.path()), {}) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
