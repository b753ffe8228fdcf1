// Another program changes a file in SOURCE while data written through the mount waits for its
// commit. The daemon saves that data as a conflict file next to the file, and reports ESTALE to its
// writer once. The file then continues from the new state.

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mount/one_frame.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
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

}  // namespace

BOOST_AUTO_TEST_SUITE(conflicts)

BOOST_AUTO_TEST_CASE(fsync_tells_once_and_keeps_what_was_written, *precondition(needs_fuse)) {
  for (const auto& change : foreign_changes()) BOOST_TEST_CONTEXT(change.name) {
      OneFrame one;
      const Fd& file = one.open_with_pending();
      change.make(one.stored(), new_state());
      BOOST_TEST(sync_error(file) == ESTALE);
      BOOST_TEST(sync_error(file) == 0);
      const auto kept = stored_contents(conflict_of(one.source.path(), "a"));
      BOOST_CHECK(kept == (change.keeps_old ? old_and_written() : zeros_and_written()));
      BOOST_TEST((one.mount->log().find("zeros") != std::string::npos) == !change.keeps_old);
      BOOST_CHECK(read_file(one.shown) == new_state());
      BOOST_CHECK(read_at(file, 0, new_state().size() + 1) == new_state());
      BOOST_TEST(write_error_of(file, 100, written()) == 0);
      BOOST_TEST(sync_error(file) == 0);
      BOOST_CHECK(stored_contents(one.stored()) == patched(new_state(), 100, written()));
      one.end();
    }
}

// A child process of this test closes its copies of the test's descriptors, so the child would get
// the error before the test does.
BOOST_AUTO_TEST_CASE(changes_in_the_frame_are_conflicts_too, *precondition(needs_fuse_and_peer)) {
  const TempDir home;
  const ByteVector chunk = make_contents("noise", 7, 65536, 1);
  write_file(home / "chunk", chunk);
  for (const bool locking : {false, true}) BOOST_TEST_CONTEXT("locking " << locking) {
      OneFrame one(locking ? std::vector<std::string>{"locking"} : std::vector<std::string>{});
      ByteVector now = make_contents("text", 8, 2 * 65536, 1);
      replace_by_rename(one.stored(), flat_frame(now));
      const Fd& file = one.open_with_pending();
      edit_frame(one.stored(), {{"append", home / "chunk", "", 0, 0}});
      now = patched(now, now.size(), chunk);
      sync_error(file);
      BOOST_TEST(sync_error(file) == 0);
      const auto kept = stored_contents(conflict_of(one.source.path(), "a"));
      BOOST_TEST(kept.size() == 2u * 65536);
      BOOST_CHECK(kept == patched(kept, kAt, written()));
      BOOST_CHECK(read_file(one.shown) == now);
      BOOST_TEST(write_error_of(file, 100, written()) == 0);
      BOOST_TEST(sync_error(file) == 0);
      one.files.clear();
      BOOST_TEST(one.mount->unmount().ok());
      one.check_log();
      BOOST_CHECK(stored_contents(one.stored()) == patched(now, 100, written()));
    }
}

// A child process may have closed a copy of the descriptor and ignored the error. So each close()
// reports the error until fsync() has.
BOOST_AUTO_TEST_CASE(each_close_tells_until_fsync_does, *precondition(needs_fuse)) {
  for (const auto& change : foreign_changes()) BOOST_TEST_CONTEXT(change.name) {
      OneFrame one;
      const Fd& file = one.open_with_pending();
      change.make(one.stored(), new_state());
      BOOST_TEST(close_error(file) == ESTALE);
      BOOST_TEST(close_error(file) == ESTALE);
      BOOST_TEST(sync_error(file) == ESTALE);
      BOOST_TEST(close_error(file) == 0);
      BOOST_TEST(sync_error(file) == 0);
      BOOST_CHECK(read_file(one.shown) == new_state());
      one.end();
      BOOST_CHECK(stored_contents(one.stored()) == new_state());
    }
}

BOOST_AUTO_TEST_CASE(each_writer_is_told_by_what_it_does_next, *precondition(needs_fuse)) {
  for (const auto& change : foreign_changes()) BOOST_TEST_CONTEXT(change.name) {
      OneFrame one;
      const Fd& first = one.open_with_pending();
      const Fd& second = one.open();
      const Fd& third = one.open();
      BOOST_TEST(write_error_of(second, 3, written()) == 0);
      BOOST_TEST(write_error_of(third, 300, written()) == 0);
      change.make(one.stored(), new_state());
      BOOST_TEST(sync_error(first) == ESTALE);
      BOOST_TEST(write_error_of(second, 20, written()) == ESTALE);
      BOOST_TEST(write_error_of(second, 20, written()) == 0);
      BOOST_TEST(errno_of(ftruncate(first.get(), 150000)) == 0);
      BOOST_TEST(close_error(third) == ESTALE);
      BOOST_TEST(sync_error(first) == 0);
      BOOST_TEST(sync_error(second) == 0);
      ByteVector now = patched(new_state(), 20, written());
      now.resize(150000);
      BOOST_CHECK(read_file(one.shown) == now);
      const Fd& fresh = one.open();
      BOOST_TEST(sync_error(fresh) == 0);
      one.end();
      BOOST_CHECK(stored_contents(one.stored()) == now);
    }
}

// Reading the file detects the change as well. The writer then gets the error when it next writes.
BOOST_AUTO_TEST_CASE(look_at_the_file_shows_the_new_state, *precondition(needs_fuse)) {
  for (const auto& change : foreign_changes()) BOOST_TEST_CONTEXT(change.name) {
      OneFrame one;
      const Fd& file = one.open_with_pending();
      change.make(one.stored(), new_state());
      BOOST_CHECK(read_file(one.shown) == new_state());
      BOOST_TEST(write_error_of(file, 0, written()) == ESTALE);
      BOOST_TEST(write_error_of(file, 0, written()) == 0);
      BOOST_TEST(sync_error(file) == 0);
      one.end();
      BOOST_CHECK(stored_contents(one.stored()) == patched(new_state(), 0, written()));
    }
}

BOOST_AUTO_TEST_CASE(file_can_be_overwritten_afterwards, *precondition(needs_fuse)) {
  for (const auto& change : foreign_changes()) BOOST_TEST_CONTEXT(change.name) {
      OneFrame one;
      const Fd& file = one.open_with_pending();
      change.make(one.stored(), new_state());
      BOOST_TEST(close_error(file) == ESTALE);
      const ByteVector last = make_contents("text", 9, 3000, 1);
      write_file(one.shown, last);
      BOOST_CHECK(read_file(one.shown) == last);
      one.end();
      BOOST_CHECK(stored_contents(one.stored()) == last);
    }
}

BOOST_AUTO_TEST_CASE(closed_file_is_kept_in_the_background_without_repeating_itself,
                     *precondition(needs_fuse)) {
  OneFrame one;
  one.open_with_pending();
  one.files.clear();
  replace_by_rename(one.stored(), flat_frame(new_state()));
  BOOST_TEST(comes_true([&] { return !conflicts_of(one.source.path(), "a").empty(); }));
  for (int i = 0; i < 5; ++i) {
    BOOST_TEST(sync_error(open_rw(one.shown)) == 0);
    BOOST_CHECK(read_file(one.shown) == new_state());
  }
  one.end();
}

BOOST_AUTO_TEST_CASE(unmount_keeps_what_waits, *precondition(needs_fuse)) {
  for (const auto& change : foreign_changes()) BOOST_TEST_CONTEXT(change.name) {
      OneFrame one;
      one.open_with_pending();
      one.files.clear();
      change.make(one.stored(), new_state());
      one.end();
      BOOST_CHECK(stored_contents(one.stored()) == new_state());
    }
}

BOOST_AUTO_TEST_CASE(removed_file_leaves_what_was_written_to_it, *precondition(needs_fuse)) {
  OneFrame one;
  const Fd& file = one.open_with_pending();
  fs_std::remove(one.stored());
  BOOST_TEST(sync_error(file) == ESTALE);
  BOOST_TEST(sync_error(file) == 0);
  BOOST_CHECK(stored_contents(conflict_of(one.source.path(), "a")) == old_and_written());
  BOOST_TEST(comes_true([&] { return !fs_std::exists(one.shown); }));
  // The file has no name now, but can still be written.
  BOOST_TEST(write_error_of(file, 0, written()) == 0);
  BOOST_TEST(sync_error(file) == 0);
  write_file(one.shown, new_state());
  BOOST_CHECK(read_file(one.shown) == new_state());
  one.end();
  BOOST_CHECK(stored_contents(one.stored()) == new_state());
}

BOOST_AUTO_TEST_CASE(file_that_is_no_frame_any_more_is_shown_as_it_is, *precondition(needs_fuse)) {
  OneFrame one;
  const Fd& file = one.open_with_pending();
  replace_by_rename(one.stored(), bytes_of("no frame"));
  BOOST_TEST(sync_error(file) == ESTALE);
  BOOST_TEST(sync_error(file) == 0);
  BOOST_TEST(write_error_of(file, 0, written()) == ESTALE);
  BOOST_TEST(write_error_of(file, 0, written()) == ESTALE);
  BOOST_CHECK(read_file(*one.mount / "a.b2frame") == bytes_of("no frame"));
  BOOST_CHECK(stored_contents(conflict_of(one.source.path(), "a")) == old_and_written());
  one.end();
}

BOOST_AUTO_TEST_CASE(new_file_whose_name_was_taken_is_kept, *precondition(needs_fuse)) {
  const SourceDir source;
  Mount mount(source.path());
  Fd file = open_rw(mount / "a", O_CREAT);
  write_at(file, 0, written());
  write_file(source / "a.b2frame", flat_frame(new_state()));
  BOOST_TEST(sync_error(file) == ESTALE);
  BOOST_TEST(sync_error(file) == 0);
  BOOST_CHECK(stored_contents(conflict_of(source.path(), "a")) == written());
  BOOST_CHECK(read_file(mount / "a") == new_state());
  BOOST_TEST(write_error_of(file, 0, written()) == 0);
  BOOST_TEST(sync_error(file) == 0);
  file = Fd();
  BOOST_TEST(mount.unmount().ok());
  BOOST_CHECK(stored_contents(source / "a.b2frame") == patched(new_state(), 0, written()));
  BOOST_TEST(std::distance(fs_std::directory_iterator(source.path()), {}) == 2);
}

// The mount has already shown the new file under its old name. That must not keep it from taking
// over the name `a`.
BOOST_AUTO_TEST_CASE(file_that_the_mount_knows_takes_the_name, *precondition(needs_fuse)) {
  for (const bool has_reader : {false, true}) BOOST_TEST_CONTEXT("with a reader " << has_reader) {
      OneFrame one;
      write_file(one.source / "b.b2frame", flat_frame(new_state()));
      const Fd& file = one.open_with_pending();
      BOOST_CHECK(read_file(*one.mount / "b") == new_state());
      if (has_reader)
        one.files.emplace_back(::open((*one.mount / "b").c_str(), O_RDONLY | O_CLOEXEC));
      fs_std::rename(one.source / "b.b2frame", one.stored());
      BOOST_TEST(sync_error(file) == ESTALE);
      BOOST_TEST(write_error_of(file, 100, written()) == 0);
      BOOST_TEST(sync_error(file) == 0);
      BOOST_CHECK(read_file(one.shown) == patched(new_state(), 100, written()));
      BOOST_TEST(comes_true([&] { return !fs_std::exists(*one.mount / "b"); }));
      one.end();
      BOOST_CHECK(stored_contents(one.stored()) == patched(new_state(), 100, written()));
    }
}

BOOST_AUTO_TEST_CASE(lookup_after_the_kernel_has_forgotten_finds_the_new_state,
                     *precondition(needs_fuse)) {
  OneFrame one;
  const Fd& file = one.open_with_pending();
  replace_by_rename(one.stored(), flat_frame(new_state()));
  // The kernel caches a name for a while.
  BOOST_CHECK(comes_true([&] { return read_file(one.shown) == new_state(); }));
  // Write before a child process starts: the child would close its copies of the descriptors, and
  // get the error instead.
  BOOST_TEST(write_error_of(file, 0, written()) == ESTALE);
  BOOST_TEST(write_error_of(file, 0, written()) == 0);
  BOOST_TEST(sync_error(file) == 0);
  BOOST_CHECK(stored_contents(conflict_of(one.source.path(), "a")) == old_and_written());
  one.end();
  BOOST_CHECK(stored_contents(one.stored()) == patched(new_state(), 0, written()));
}

BOOST_AUTO_TEST_CASE(removed_directory_leaves_what_was_written_in_source,
                     *precondition(needs_fuse) * precondition(kNeedsRemovalOfOpenFiles)) {
  const SourceDir source;
  fs_std::create_directory(source / "d");
  write_file(source / "d" / "a.b2frame", flat_frame(old_state()));
  Mount mount(source.path());
  Fd old_file = open_rw(mount / "d/a"), new_file = open_rw(mount / "d/n", O_CREAT);
  write_at(old_file, kAt, written());
  write_at(new_file, 0, written());
  fs_std::remove_all(source / "d");
  for (const Fd* file : {&old_file, &new_file}) {
    BOOST_TEST(sync_error(*file) == ESTALE);
    BOOST_TEST(sync_error(*file) == 0);
  }
  BOOST_CHECK(stored_contents(conflict_of(source.path(), "a")) == old_and_written());
  BOOST_CHECK(stored_contents(conflict_of(source.path(), "n")) == written());
  old_file = Fd();
  new_file = Fd();
  BOOST_TEST(mount.unmount().ok());
}

BOOST_AUTO_TEST_CASE(sparse_frame_and_array_are_kept_as_flat_frames, *precondition(needs_fuse)) {
  const SourceDir source;
  const ByteVector items(400000, 'i');
  write_sparse_frame(source / "s.b2frame", old_state());
  write_file(source / "t.b2nd", array_frame(items, {100000}, "<i4", 4));
  Mount mount(source.path());
  Fd sparse = open_rw(mount / "s"), array = open_rw(mount / "t.npy");
  write_at(sparse, kAt, written());
  const ByteVector old_array = read_file(mount / "t.npy");
  write_at(array, kAt, written());
  fs_std::rename(source / "s.b2frame", source / "away.b2frame");
  write_sparse_frame(source / "s.b2frame", new_state());
  replace_by_rename(source / "t.b2nd", array_frame(ByteVector(80000, 'n'), {20000}, "<i4", 4));
  BOOST_TEST(sync_error(sparse) == ESTALE);
  BOOST_TEST(sync_error(array) == ESTALE);
  BOOST_TEST(sync_error(sparse) == 0);
  BOOST_TEST(sync_error(array) == 0);
  BOOST_CHECK(stored_contents(conflict_of(source.path(), "t.npy")) ==
              patched(old_array, kAt, written()));
  const auto kept = stored_contents(conflict_of(source.path(), "s"));
  BOOST_CHECK((kept == old_and_written() || kept == zeros_and_written()));
  BOOST_CHECK(read_file(mount / "s") == new_state());
  BOOST_CHECK(read_file(mount / "away") == old_state());
  BOOST_TEST(fs_std::file_size(mount / "t.npy") == 80000 + npy_header("<i4", {20000}).size());
  BOOST_TEST(write_error_of(sparse, 0, written()) == 0);
  BOOST_TEST(sync_error(sparse) == 0);
  sparse = Fd();
  array = Fd();
  BOOST_TEST(mount.unmount().ok());
  BOOST_CHECK(stored_contents(source / "s.b2frame") == patched(new_state(), 0, written()));
}

// The old bytes are gone where the other program has changed the file in place. Zeros would look
// like data.
BOOST_AUTO_TEST_CASE(conflict_file_has_the_new_state_below, *precondition(needs_fuse)) {
  const ByteVector theirs = make_contents("noise", 9, kOldLength, 1);
  for (const auto& change : foreign_changes()) BOOST_TEST_CONTEXT(change.name) {
      OneFrame one;
      const Fd& file = one.open_with_pending();
      change.make(one.stored(), theirs);
      BOOST_TEST(sync_error(file) == ESTALE);
      const auto kept = stored_contents(conflict_of(one.source.path(), "a"));
      BOOST_CHECK(kept == (change.keeps_old ? old_and_written() : patched(theirs, kAt, written())));
      const bool is_named = one.mount->log().find(
                                "with the other program's bytes where nothing "
                                "was written") != std::string::npos;
      BOOST_TEST(is_named == !change.keeps_old, one.mount->log());
    }
}

BOOST_AUTO_TEST_CASE(mount_of_a_single_frame_leaves_it_beside_that, *precondition(needs_fuse)) {
  for (const auto& change : foreign_changes()) BOOST_TEST_CONTEXT(change.name) {
      const SourceDir source;
      write_file(source / "a.b2frame", flat_frame(old_state()));
      Mount mount(source / "a.b2frame");
      Fd file = open_rw(mount / "a");
      write_at(file, kAt, written());
      change.make(source / "a.b2frame", new_state());
      BOOST_TEST(sync_error(file) == ESTALE);
      BOOST_TEST(sync_error(file) == 0);
      const auto kept = stored_contents(conflict_of(source.path(), "a"));
      BOOST_CHECK(kept == (change.keeps_old ? old_and_written() : zeros_and_written()));
      BOOST_CHECK(read_file(mount / "a") == new_state());
      BOOST_TEST(std::distance(fs_std::directory_iterator(mount.path()), {}) == 1);
      file = Fd();
      BOOST_TEST(mount.unmount().ok());
    }
}

BOOST_AUTO_TEST_CASE(truncated_and_lengthened_files_are_kept_so, *precondition(needs_fuse)) {
  for (const std::size_t size : {std::size_t{0}, kAt, kOldLength + 100000}) {
    OneFrame one;
    BOOST_TEST(errno_of(truncate(one.shown.c_str(), static_cast<off_t>(size))) == 0);
    replace_by_rename(one.stored(), flat_frame(new_state()));
    BOOST_CHECK(read_file(one.shown) == new_state());
    ByteVector expected = old_state();
    expected.resize(size);
    BOOST_CHECK(stored_contents(conflict_of(one.source.path(), "a")) == expected);
    one.end();
  }
}

BOOST_AUTO_TEST_CASE(keeping_a_file_costs_what_was_written_and_not_its_size,
                     *precondition(needs_fuse)) {
  constexpr off_t kSize = off_t{1} << 40;
  constexpr off_t kEnd = kSize - 10000;
  OneFrame one;
  const Fd& file = one.open();
  BOOST_TEST(errno_of(ftruncate(file.get(), kSize)) == 0);
  BOOST_TEST(
      errno_of(fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kSize)) == 0);
  write_at(file, kEnd, written());
  replace_by_rename(one.stored(), flat_frame(new_state()));
  // If the daemon saved all of the 1 TiB, this would not end.
  BOOST_CHECK(read_file(one.shown) == new_state());
  const fs_std::path kept = *one.mount / conflict_of(one.source.path(), "a").stem();
  BOOST_TEST(fs_std::file_size(kept) == static_cast<std::uintmax_t>(kSize));
  {
    const Fd there(open(kept.c_str(), O_RDONLY | O_CLOEXEC));
    ByteVector bytes(written().size());
    BOOST_TEST(errno_of(static_cast<int>(pread(there.get(), bytes.data(), bytes.size(), kEnd))) ==
               0);
    BOOST_CHECK(bytes == written());
    BOOST_TEST(pread(there.get(), bytes.data(), 100, 0) == 100);
    BOOST_TEST(std::count(bytes.begin(), bytes.begin() + 100, 0) == 100);
  }
  one.end();
}

BOOST_AUTO_TEST_CASE(names_that_are_taken_get_a_number, *precondition(needs_fuse)) {
  OneFrame one;
  const Fd& file = one.open_with_pending();
  const std::time_t now = std::time(nullptr);
  for (std::time_t time = now; time < now + 20; ++time) {
    char text[40];
    std::strftime(text, sizeof text, "a.conflict-%Y%m%dT%H%M%S", std::gmtime(&time));
    write_file(one.source / (std::string(text) + ".b2frame"), "taken");
  }
  replace_by_rename(one.stored(), flat_frame(new_state()));
  BOOST_TEST(sync_error(file) == ESTALE);
  std::vector<std::string> numbered;
  for (const auto& name : conflicts_of(one.source.path(), "a"))
    if (name.ends_with("-2.b2frame")) numbered.push_back(name);
  BOOST_REQUIRE(numbered.size() == 1u);
  BOOST_CHECK(stored_contents(one.source / numbered.front()) == old_and_written());
  one.files.clear();
  BOOST_TEST(one.mount->unmount().ok());
}

BOOST_AUTO_TEST_CASE(nobody_may_read_it_who_could_not_read_both,
                     *precondition(needs_fuse_as_root)) {
  OneFrame one;
  BOOST_REQUIRE(chown(one.stored().c_str(), nobody(), 54321) == 0);
  BOOST_REQUIRE(chmod(one.stored().c_str(), 06754) == 0);
  const Fd& file = one.open_with_pending();
  // Writing cleared the set-user-ID bits of the file. Set them again: the conflict file must have
  // only the permissions that both files give.
  BOOST_REQUIRE(chmod(one.stored().c_str(), 06754) == 0);
  const fs_std::path fresh = one.source / ".fresh";
  write_file(fresh, flat_frame(new_state()));
  BOOST_REQUIRE(chmod(fresh.c_str(), 0646) == 0);
  fs_std::rename(fresh, one.stored());
  BOOST_TEST(sync_error(file) == ESTALE);
  struct stat st {};
  BOOST_REQUIRE(stat(conflict_of(one.source.path(), "a").c_str(), &st) == 0);
  BOOST_TEST(st.st_uid == nobody());
  BOOST_TEST(st.st_gid == 54321u);
  BOOST_TEST((st.st_mode & 07777) == 0644u);
  one.end();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
