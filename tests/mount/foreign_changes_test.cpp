// Another program changes a file in SOURCE while no written data waits for a commit. The mount
// takes the new state without a conflict, even if programs have the file open.

#include "tests/mount/foreign_changes.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/mount/errno_of.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/source_dir.hpp"
#include "tests/support/xattr.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr std::size_t kStateSize = 200000;
constexpr const char* kNoteLayer = "user.blosc2.vlmeta.note";

ByteVector first_state() { return make_contents("text", 1, kStateSize, 1); }
ByteVector second_state() { return make_contents("noise", 2, kStateSize + 70000, 1); }
ByteVector third_state() { return make_contents("text", 3, kStateSize / 2, 1); }
ByteVector own_bytes() { return make_contents("noise", 4, 5000, 1); }

/// A mount in which `a` was written and committed. The writer has closed the file or keeps it open.
struct WrittenFile {
  explicit WrittenFile(bool stays_open, const MountSettings& settings = {})
      : mount(source.path(), settings) {
    Fd file = open_rw(mount / "a", O_CREAT);
    write_at(file, 0, first_state());
    BOOST_REQUIRE(fsync(file.get()) == 0);
    if (stays_open) writer = std::move(file);
  }
  fs_std::path stored() const { return source / "a.b2frame"; }
  /// Checks that every reader sees these contents, and that the writer sees them and can change
  /// them.
  void check(const ByteVector& expected) {
    BOOST_CHECK(read_file(mount / "a") == expected);
    BOOST_TEST(fs_std::file_size(mount / "a") == expected.size());
    if (writer) {
      BOOST_CHECK(read_at(writer, 0, expected.size() + 1) == expected);
      write_at(writer, 1000, own_bytes());
      BOOST_TEST(errno_of(fsync(writer.get())) == 0);
    }
    const ByteVector now = writer ? patched(expected, 1000, own_bytes()) : expected;
    BOOST_CHECK(read_file(mount / "a") == now);
    BOOST_TEST(conflicts_of(source.path(), "a").empty());
    BOOST_CHECK(stored_contents(stored()) == now);
  }
  /// Unmounts. The log must have `discarded` lines about discarded attributes, and no other lines.
  void end(int discarded = 0) {
    writer = Fd();
    const auto result = mount.unmount();
    BOOST_TEST(result.ok(), result.description());
    const std::string log = mount.complaints();
    BOOST_TEST(std::count(log.begin(), log.end(), '\n') == discarded, log);
    BOOST_TEST((log.find("attributes that were set are discarded") != std::string::npos) ==
               (discarded > 0));
  }

  SourceDir source;
  Mount mount;
  Fd writer;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(foreign_changes_taken)

BOOST_AUTO_TEST_CASE(new_contents_are_shown_at_once_and_can_be_changed, *precondition(needs_fuse)) {
  for (const auto& change : foreign_changes())
    for (const bool stays_open : {false, true})
      BOOST_TEST_CONTEXT(change.name << (stays_open ? ", with a writer" : "")) {
        WrittenFile file(stays_open);
        change.make(file.stored(), second_state());
        file.check(second_state());
        change.make(file.stored(), third_state());
        file.check(third_state());
        write_file(file.mount / "a", first_state());
        BOOST_CHECK(read_file(file.mount / "a") == first_state());
        file.end();
        BOOST_CHECK(stored_contents(file.stored()) == first_state());
      }
}

BOOST_AUTO_TEST_CASE(write_goes_to_the_new_state_without_a_look_at_it,
                     *precondition(needs_fuse) * precondition(kNeedsFineTimes)) {
  for (const auto& change : foreign_changes()) BOOST_TEST_CONTEXT(change.name) {
      WrittenFile file(true);
      change.make(file.stored(), second_state());
      write_at(file.writer, 10, own_bytes());
      BOOST_TEST(errno_of(fsync(file.writer.get())) == 0);
      const ByteVector now = patched(second_state(), 10, own_bytes());
      BOOST_CHECK(read_at(file.writer, 0, now.size() + 1) == now);
      BOOST_TEST(conflicts_of(file.source.path(), "a").empty());
      file.end();
      BOOST_CHECK(stored_contents(file.stored()) == now);
    }
}

BOOST_AUTO_TEST_CASE(frame_that_the_peer_changes_is_followed, *precondition(needs_fuse_and_peer)) {
  for (const bool stays_open : {false, true}) BOOST_TEST_CONTEXT("with a writer: " << stays_open) {
      WrittenFile file(stays_open);
      const TempDir home;
      // As large as a chunk of flat_frame().
      const ByteVector other = make_contents("noise", 7, 65536, 1);
      const ByteVector base = make_contents("text", 8, 2 * 65536, 1);
      write_file(home / "chunk", other);
      replace_by_rename(file.stored(), flat_frame(base));
      BOOST_CHECK(read_file(file.mount / "a") == base);
      edit_frame(file.stored(), {{"append", home / "chunk", "", 0, 0}});
      const ByteVector longer = patched(base, base.size(), other);
      file.check(longer);
      edit_frame(file.stored(), {{"overwrite", home / "chunk", "", 65536, 0}});
      file.check(patched(stays_open ? patched(longer, 1000, own_bytes()) : longer, 65536, other));
      file.end();
    }
}

BOOST_AUTO_TEST_CASE(metalayer_that_b2frame_sets_is_shown, *precondition(needs_fuse)) {
  for (const bool locking : {false, true})
    for (const bool stays_open : {false, true})
      BOOST_TEST_CONTEXT("locking " << locking << ", with a writer " << stays_open) {
        MountSettings settings;
        if (locking) settings.options = {"locking"};
        WrittenFile file(stays_open, settings);
        set_note(file.stored(), "one");
        BOOST_TEST(get_xattr(file.mount / "a", kNoteLayer).value_or("") == "one");
        file.check(first_state());
        set_note(file.stored(), "two");
        file.check(stays_open ? patched(first_state(), 1000, own_bytes()) : first_state());
        BOOST_TEST(get_xattr(file.mount / "a", kNoteLayer).value_or("") == "two");
        file.end();
      }
}

// The kernel's pages are shared. If a writer continues from the new state, readers may get its
// pages.
BOOST_AUTO_TEST_CASE(reader_keeps_its_snapshot_or_fails, *precondition(needs_fuse)) {
  const ByteVector old = first_state(), now = second_state();
  for (const auto& change : foreign_changes())
    for (const bool stays_open : {false, true}) BOOST_TEST_CONTEXT(change.name) {
        WrittenFile file(stays_open);
        const Fd reader(open((file.mount / "a").c_str(), O_RDONLY | O_CLOEXEC));
        BOOST_CHECK(read_at(reader, 0, 4096) == ByteVector(old.begin(), old.begin() + 4096));
        change.make(file.stored(), now);
        BOOST_CHECK(read_file(file.mount / "a") == now);
        for (off_t at = 0; at + 4096 < std::ssize(old); at += 4096) {
          ByteVector bytes(4096);
          const ssize_t got = pread(reader.get(), bytes.data(), 4096, at);
          const int error = errno_of(static_cast<int>(got));
          const auto is_of = [&](const ByteVector& state) {
            return got == 4096 && std::equal(bytes.begin(), bytes.end(), state.begin() + at);
          };
          BOOST_CHECK(error == EIO || is_of(old) || (stays_open && is_of(now)));
        }
        file.check(now);
      }
}

// A pending attribute is merged into a new state that was written in place. A file that replaces
// this one by rename keeps its own attributes instead.
BOOST_AUTO_TEST_CASE(pending_metalayer_goes_to_a_state_made_in_place, *precondition(needs_fuse)) {
  for (const auto& change : foreign_changes())
    for (const bool stays_open : {false, true})
      BOOST_TEST_CONTEXT(change.name << ", with a writer: " << stays_open) {
        const std::string expected = change.keeps_old ? "" : "kept";
        WrittenFile file(stays_open);
        BOOST_TEST(errno_of_set_xattr(file.mount / "a", kNoteLayer, "kept") == 0);
        change.make(file.stored(), second_state());
        BOOST_CHECK(read_file(file.mount / "a") == second_state());
        BOOST_TEST(get_xattr(file.mount / "a", kNoteLayer).value_or("") == expected);
        file.end(change.keeps_old ? 1 : 0);
        const Mount again(file.source.path());
        BOOST_TEST(get_xattr(again / "a", kNoteLayer).value_or("") == expected);
        BOOST_CHECK(read_file(again / "a") == second_state());
      }
}

BOOST_AUTO_TEST_CASE(fsync_commits_a_pending_metalayer_to_a_state_made_in_place,
                     *precondition(needs_fuse)) {
  for (const auto& change : foreign_changes()) BOOST_TEST_CONTEXT(change.name) {
      WrittenFile file(false);
      const Fd reader(open((file.mount / "a").c_str(), O_RDONLY | O_CLOEXEC));
      BOOST_TEST(errno_of_set_xattr(file.mount / "a", kNoteLayer, "kept") == 0);
      change.make(file.stored(), second_state());
      BOOST_TEST(errno_of(fsync(reader.get())) == 0);
      MountSettings settings;
      settings.options = {"ro"};
      const Mount other(file.source.path(), settings);
      BOOST_TEST(get_xattr(other / "a", kNoteLayer).value_or("") ==
                 (change.keeps_old ? "" : "kept"));
      BOOST_CHECK(read_file(other / "a") == second_state());
    }
}

BOOST_AUTO_TEST_CASE(time_that_was_set_hides_no_change, *precondition(needs_fuse)) {
  for (const auto& change : foreign_changes())
    for (const bool stays_open : {false, true})
      BOOST_TEST_CONTEXT(change.name << ", with a writer: " << stays_open) {
        WrittenFile file(stays_open);
        const timespec times[] = {{1000000000, 0}, {1000000001, 0}};
        BOOST_TEST(utimensat(AT_FDCWD, (file.mount / "a").c_str(), times, 0) == 0);
        change.make(file.stored(), second_state());
        file.check(second_state());
        file.end();
      }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
