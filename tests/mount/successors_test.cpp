// Another program changes a file that is open for writing. The mount cannot continue from the new
// state at once.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mount/one_frame.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/manifest.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/pause.hpp"
#include "tests/support/source_dir.hpp"
#include "tests/support/xattr.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

/// Writes half of a frame, like a program that is still writing it in place.
void write_half(const fs_std::path& stored, const ByteVector& frame) {
  write_file(stored, ByteVector(frame.begin(), frame.begin() + std::ssize(frame) / 2));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(successors)

BOOST_AUTO_TEST_CASE(frame_that_is_being_written_is_waited_for, *precondition(needs_fuse)) {
  DaemonTime time;
  OneFrame one({}, time);
  const Fd& file = one.open();
  const ByteVector frame = flat_frame(new_state());
  write_half(one.stored(), frame);
  std::jthread writer([&] {
    BOOST_TEST(comes_true([&] { return one.mount->serves("write") > 0; }));
    write_file(one.stored(), frame);
  });
  const int error = write_error_of(file, kAt, written());
  writer.join();
  BOOST_TEST(error == 0);
  BOOST_TEST(sync_error(file) == 0);
  one.files.clear();
  BOOST_TEST(one.mount->unmount().ok());
  BOOST_CHECK(stored_contents(one.stored()) == patched(new_state(), kAt, written()));
}

// A file that stays damaged refuses writes, whose data could not be stored.
BOOST_AUTO_TEST_CASE(damaged_frame_refuses_what_is_written, *precondition(needs_fuse)) {
  OneFrame one;
  const Fd& file = one.open();
  const ByteVector frame = flat_frame(new_state());
  write_half(one.stored(), frame);
  // At first the daemon waits, since the frame may still be incomplete.
  BOOST_TEST(comes_true([&] { return write_error_of(file, kAt, written()) == ESTALE; }));
  write_file(one.stored(), frame);
  BOOST_TEST(write_error_of(file, kAt, written()) == ESTALE);
  BOOST_TEST(write_error_of(open_rw(one.shown), kAt, written()) == 0);
  one.files.clear();
  BOOST_TEST(one.mount->unmount().ok());
  BOOST_CHECK(stored_contents(one.stored()) == patched(new_state(), kAt, written()));
}

// A commit in the background that finds a half-written frame is retried. No program gets an error.
BOOST_AUTO_TEST_CASE(attributes_wait_until_a_frame_is_written, *precondition(needs_fuse)) {
  OneFrame one;
  const ByteVector frame = flat_frame(new_state());
  const std::string name = "user.blosc2.vlmeta.note";
  BOOST_TEST(errno_of_set_xattr(one.shown, name, "kept") == 0);
  const std::uint64_t failures = one.mount->counter("commit_failures");
  BOOST_TEST(comes_true([&] {
    write_half(one.stored(), frame);
    return one.mount->counter("commit_failures") > failures;
  }));
  write_file(one.stored(), frame);
  {
    const Fd file = open_rw(one.shown);
    BOOST_TEST(sync_error(file) == 0);
  }
  BOOST_CHECK(read_file(one.shown) == new_state());
  BOOST_TEST(one.mount->unmount().ok());
  const Mount again(one.source.path());
  BOOST_TEST(get_xattr(again / "a", name).has_value());
}

// While the file cannot continue from the new state, its contents are saved only once.
BOOST_AUTO_TEST_CASE(conflict_is_kept_once, *precondition(needs_fuse)) {
  OneFrame one;
  const Fd& file = one.open_with_pending();
  const ByteVector frame = flat_frame(new_state());
  write_half(one.stored(), frame);
  std::jthread writer([&](const std::stop_token& end) {
    std::minstd_rand random{1};
    while (!end.stop_requested()) {
      write_half(one.stored(), frame);
      pause_at_random(random, std::chrono::milliseconds(200));
    }
    write_file(one.stored(), frame);
  });
  BOOST_TEST(sync_error(file) == ESTALE);
  look_at(one.shown);
  writer.request_stop();
  writer.join();
  BOOST_TEST(comes_true([&] { return sync_error(file) == 0; }));
  BOOST_CHECK(read_file(one.shown) == new_state());
  one.files.clear();
  BOOST_TEST(one.mount->unmount().ok());
  BOOST_CHECK(stored_contents(conflict_of(one.source.path(), "a")) == zeros_and_written());
}

// Both files wait for the same commit when `c` is renamed over `a`, which so loses its name.
BOOST_AUTO_TEST_CASE(files_that_both_changed_are_both_kept, *precondition(needs_fuse) *
                                                                precondition(kNeedsSingleTimes) *
                                                                precondition(kNeedsFineTimes)) {
  for (int i = 0; i < 4; i++) {
    OneFrame one;
    write_file(one.source / "c.b2frame", flat_frame(new_state()));
    one.open_with_pending();
    write_at(one.files.emplace_back(open_rw(*one.mount / "c")), 100, written());
    one.files.clear();
    fs_std::rename(one.source / "c.b2frame", one.stored());
    fs_std::last_write_time(one.stored(), fs_std::file_time_type::clock::now());
    // If the commit of `c` comes first, its data is saved under that name.
    BOOST_TEST(comes_true([&] {
      return conflicts_of(one.source.path(), "a").size() +
                 conflicts_of(one.source.path(), "c").size() ==
             2;
    }));
    BOOST_TEST(one.mount->unmount().ok());
    BOOST_CHECK(stored_contents(one.stored()) == new_state());
  }
}

BOOST_AUTO_TEST_CASE(attributes_of_a_replaced_file_are_discarded, *precondition(needs_fuse)) {
  const auto moved = [](const OneFrame& one) {
    fs_std::rename(one.stored(), one.source / "moved.b2frame");
  };
  const auto replaced = [](const OneFrame& one) {
    replace_by_rename(one.stored(), bytes_of("no frame"));
  };
  const auto replaced_by_frame = [](const OneFrame& one) {
    replace_by_rename(one.stored(), flat_frame(new_state()));
  };
  for (const auto& change :
       {std::function<void(const OneFrame&)>(moved), {replaced}, {replaced_by_frame}}) {
    OneFrame one;
    const Fd& file = one.open();
    BOOST_TEST(errno_of_set_xattr(one.shown, "user.blosc2.vlmeta.note", "kept") == 0);
    change(one);
    BOOST_TEST(sync_error(file) == ESTALE);
    BOOST_TEST(sync_error(file) == 0);
    one.files.clear();
    BOOST_TEST(one.mount->unmount().ok());
    BOOST_TEST(occurrences(one.mount->log(), "attributes that were set are discarded") == 1);
  }
}

BOOST_AUTO_TEST_CASE(directory_that_is_gone_takes_no_contents_along,
                     *precondition(needs_fuse) * precondition(kNeedsRemovalOfOpenFiles)) {
  const SourceDir source;
  fs_std::create_directory(source / "d");
  write_file(source / "d" / "a.b2frame", flat_frame(old_state()));
  Mount mount(source.path());
  Fd file = open_rw(mount / "d" / "a");
  write_at(file, kAt, written());
  fs_std::remove(source / "d" / "a.b2frame");
  fs_std::remove(mount / "d");
  BOOST_TEST(sync_error(file) == ESTALE);
  BOOST_TEST(sync_error(file) == 0);
  file = Fd();
  BOOST_TEST(mount.unmount().ok());
  BOOST_CHECK(stored_contents(conflict_of(source.path(), "a")) == old_and_written());
}

// A file whose name was taken may be renamed while its contents are being saved as a conflict file.
BOOST_AUTO_TEST_CASE(renamed_while_it_is_kept, *precondition(needs_fuse)) {
  const ByteVector contents = make_contents("noise", 3, std::size_t{48} << 20, 1);
  const SourceDir source;
  Mount mount(source.path());
  Fd file = open_rw(mount / "a", O_CREAT);
  write_at(file, 0, contents);
  write_file(source / "a.b2frame", flat_frame(new_state()));
  std::jthread syncer([&] { sync_error(file); });
  std::minstd_rand random{std::random_device{}()};
  pause_at_random(random, std::chrono::milliseconds(100));
  const int error = errno_of(rename((mount / "a").c_str(), (mount / "b").c_str()));
  syncer.join();
  if (error == 0 && fs_std::exists(mount / "b")) {
    const ByteVector found = read_file(mount / "b");
    BOOST_CHECK(found == contents || found == new_state());
  }
  sync_error(file);
  BOOST_TEST(sync_error(file) == 0);
  if (error == 0) BOOST_TEST(fs_std::exists(mount / "b"));
  file = Fd();
  BOOST_TEST(mount.unmount().ok());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(own_programs)

// A mount and b2frame exclude each other while they change a frame.
BOOST_AUTO_TEST_CASE(leave_a_frame_whole_that_both_change, *precondition(needs_fuse)) {
  for (const char* command : {"set-meta", "compact"}) BOOST_TEST_CONTEXT(command) {
      OneFrame one;
      std::jthread changer([&](const std::stop_token& end) {
        for (int i = 0; !end.stop_requested(); i++) {
          std::vector<std::string> arguments{b2frame_program(), command, one.stored().string()};
          if (command == std::string("set-meta")) arguments.push_back("n:=" + std::to_string(i));
          const ProcessResult result = run(arguments);
          BOOST_CHECK_MESSAGE(result.ok(), result.description());
        }
      });
      for (int i = 0; i < 100; i++) {
        const Fd file = open_rw(one.shown);
        // If b2frame has changed the frame in between, this write becomes a conflict.
        const int error = write_error_of(file, 100 * i, ByteVector(8, 7));
        if (error == 0) sync_error(file);
      }
      changer.request_stop();
      changer.join();
      BOOST_TEST(one.mount->unmount().ok());
      const ProcessResult result = run({b2frame_program(), "verify", one.stored().string()});
      BOOST_TEST(result.ok(), result.description());
      BOOST_TEST(stored_contents(one.stored()).size() == kOldLength);
    }
}

// b2frame has the mount commit what waits, so that its change does not conflict with that.
BOOST_AUTO_TEST_CASE(change_a_frame_for_which_changes_wait, *precondition(needs_fuse)) {
  using Words = std::vector<std::string>;
  for (const Words& command :
       {Words{"set-meta", "n:=1"}, Words{"compact"}, Words{"convert", "--checksum", "--in-place"}})
    for (const bool is_mapped : {false, true}) BOOST_TEST_CONTEXT(command.front() << is_mapped) {
        OneFrame one;
        Fd file = open_rw(one.shown);
        if (is_mapped) {
          void* const pages =
              ::mmap(nullptr, kOldLength, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
          BOOST_REQUIRE(pages != MAP_FAILED);
          const ByteVector bytes = written();
          std::copy(bytes.begin(), bytes.end(), static_cast<std::uint8_t*>(pages) + kAt);
          ::munmap(pages, kOldLength);
        } else {
          BOOST_TEST(write_error_of(file, kAt, written()) == 0);
        }
        Words arguments = command;
        arguments.insert(arguments.begin(), b2frame_program());
        arguments.push_back(one.stored().string());
        if (command.front() == "set-meta") std::swap(arguments[2], arguments[3]);
        const ProcessResult result = run(arguments);
        BOOST_TEST(result.ok(), result.description());
        file = Fd();
        BOOST_TEST(one.mount->unmount().ok());
        BOOST_CHECK(stored_contents(one.stored()) == old_and_written());
        BOOST_TEST(one.mount->log().find("changed by another program") == std::string::npos,
                   one.mount->log());
      }
}

BOOST_AUTO_TEST_CASE(change_no_frame_beside_a_stopped_daemon, *precondition(needs_fuse)) {
  OneFrame one;
  const std::string stored = one.stored().string();
  one.mount->signal(SIGSTOP);
  const ProcessResult set = run({b2frame_program(), "set-meta", stored, "n:=1"});
  const ProcessResult converted = run({b2frame_program(), "convert", "--in-place", stored});
  one.mount->signal(SIGCONT);
  for (const ProcessResult& result : {set, converted}) {
    BOOST_TEST(result.status == 1);
    BOOST_TEST(
        result.err.find(stored + ": is in the source of the mount at " +
                        one.mount->path().string() + ", and its daemon") != std::string::npos,
        result.err);
  }
  BOOST_TEST(one.mount->unmount().ok());
  BOOST_TEST(stored_contents(one.stored()).size() == kOldLength);
}

BOOST_AUTO_TEST_SUITE_END()

// A part that can only be replaced as a whole refuses writes at once, not only at the commit.
BOOST_AUTO_TEST_SUITE(unchangeable_parts)

BOOST_AUTO_TEST_CASE(are_refused_when_they_are_written, *precondition(needs_fuse)) {
  const SourceDir source;
  for (const fs_std::path& root : data_roots())
    if (root.filename() == "frame") {
      fs_std::copy(root / "cframe" / "vlblocks-zlib.b2frame", source / "a.b2frame");
      fs_std::copy(root.parent_path() / "python" / "ndlz8.b2nd", source / "b.b2nd");
      constexpr off_t kCodecOfFrame = 0x4D;
      write_at(open_rw(source / "b.b2nd"), kCodecOfFrame, ByteVector{37});  // Grok
    }
  const ByteVector bytes = written();
  for (const char* name : {"a", "b.npy"}) BOOST_TEST_CONTEXT(name) {
      Mount mount(source.path());
      const fs_std::path shown = mount / name;
      const auto size = static_cast<off_t>(fs_std::file_size(shown));
      {
        const Fd file = open_rw(shown);
        BOOST_TEST(write_error_of(file, 10, bytes) == EOPNOTSUPP);
        BOOST_TEST(write_error_of(file, size, bytes) == EOPNOTSUPP);
        BOOST_TEST(errno_of(ftruncate(file.get(), size - 1)) == EOPNOTSUPP);
        BOOST_TEST(errno_of_set_xattr(shown, "user.blosc2.vlmeta.note", "kept") == 0);
        BOOST_TEST(sync_error(file) == 0);
      }
      BOOST_TEST(static_cast<off_t>(fs_std::file_size(shown)) == size);
      write_file(shown, bytes);
      BOOST_CHECK(read_file(shown) == bytes);
      BOOST_TEST(mount.unmount().ok());
      Mount again(source.path());
      BOOST_CHECK(read_file(again / name) == bytes);
    }
}

BOOST_AUTO_TEST_SUITE_END()

// An open that fails after the file has counted its writer would keep the file from being
// committed.
BOOST_AUTO_TEST_SUITE(failed_opens)

BOOST_AUTO_TEST_CASE(leave_no_writer, *precondition(needs_fuse)) {
  const SourceDir source;
  const ByteVector values = make_contents("noise", 5, 8000, 1);
  write_file(source / "a.b2nd", array_frame(values, {1000}, "<f8", 8));
  MountSettings settings;
  settings.options = {"raw"};
  Mount mount(source.path(), settings);
  BOOST_TEST(errno_of(open((mount / "a").c_str(), O_WRONLY | O_TRUNC)) == EINVAL);
  const std::uint64_t commits = mount.counter("commits");
  write_at(open_rw(mount / "a"), 80, ByteVector(16, 7));
  BOOST_TEST(comes_true([&] { return mount.counter("commits") > commits; }));
  BOOST_TEST(mount.unmount().ok());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
