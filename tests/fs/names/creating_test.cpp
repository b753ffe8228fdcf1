// New files, directories and links, and the names that they get in SOURCE.

#include <atomic>
#include <barrier>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <unistd.h>

#include "fs/source/local/files/source_root.hpp"
#include "fs/source/local/names/new_temporary.hpp"
#include "tests/fs/mount/in_process.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/npy.hpp"

namespace bloscfs::test {

BOOST_AUTO_TEST_SUITE(creating)

BOOST_AUTO_TEST_CASE(new_file_is_a_frame_once_it_is_committed) {
  const TempDir source;
  const ByteVector contents = make_contents("text", 1, 300000, 1);
  InProcess mount(source.path());
  {
    const InProcess::File file = mount.create("a.txt");
    file.write(0, contents);
    BOOST_TEST(stored_names(source.path()) == Names{".tmp"}, boost::test_tools::per_element());
    BOOST_TEST(mount.names() == Names{"a.txt"}, boost::test_tools::per_element());
    BOOST_CHECK(mount.read("a.txt") == contents);
    BOOST_TEST(file.stat().st_size == 300000);
  }
  mount->commit_written();
  BOOST_TEST(stored_names(source.path()) == Names{"a.txt.b2frame"},
             boost::test_tools::per_element());
  BOOST_CHECK(shown_contents(source / "a.txt.b2frame") == contents);
  BOOST_TEST(fs_std::file_size(source / "a.txt.b2frame") < contents.size() / 2);
  BOOST_TEST((mount.stat("a.txt").st_mode & 07777) == 0644u);
  BOOST_TEST(error_of([&] { mount.create("a.txt"); }) == EEXIST);
}

BOOST_AUTO_TEST_CASE(array_gets_the_name_of_one) {
  const TempDir source;
  InProcess mount(source.path());
  const std::string header = npy_header("<f4", {100, 50});
  const ByteVector elements = make_contents("floats", 2, 20000, 4);
  const ByteVector file = with_bytes(bytes_of(header), header.size(), elements);
  mount.write("a.npy", file);
  mount.write("no.npy", bytes_of("no array"));
  mount->commit_written();
  BOOST_TEST(stored_names(source.path()) == (Names{"a.b2nd", "no.npy.b2frame"}),
             boost::test_tools::per_element());
  BOOST_CHECK(mount.read("a.npy") == file);
  // New contents of the other kind change how the file is stored.
  mount.write("a.npy", bytes_of("text"));
  mount.write("no.npy", file);
  mount->commit_written();
  BOOST_TEST(stored_names(source.path()) == (Names{"a.npy.b2frame", "no.b2nd"}),
             boost::test_tools::per_element());
  BOOST_CHECK(mount.read("a.npy") == bytes_of("text"));
  BOOST_CHECK(shown_contents(source / "no.b2nd") == file);
}

BOOST_AUTO_TEST_CASE(names_are_free_or_refused) {
  const TempDir source;
  fs_std::create_directory(source / "d");
  write_file(source / "plain", bytes_of("text"));
  InProcess mount(source.path());
  mount.write("a", bytes_of("one"));
  for (const char* name : {"d", "plain", "a"}) BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(error_of([&] { mount.make_directory(name); }) == EEXIST);
      BOOST_TEST(error_of([&] { mount.make_symlink("x", name); }) == EEXIST);
    }
  BOOST_TEST(error_of([&] { mount.make_directory("plain/x"); }) == ENOTDIR);
  BOOST_TEST(error_of([&] { mount.create(std::string(256, 'x')); }) == ENAMETOOLONG);
  mount->commit_written();
  BOOST_TEST(error_of([&] { mount.make_directory("a"); }) == EEXIST);
}

BOOST_AUTO_TEST_CASE(what_is_refused_leaves_its_directory_as_it_was) {
  const TempDir source;
  write_file(source / "plain", bytes_of("text"));
  InProcess mount(source.path());
  const auto before = fs_std::last_write_time(source.path());
  BOOST_TEST(error_of([&] { mount.create("plain"); }) == EEXIST);
  BOOST_TEST((fs_std::last_write_time(source.path()) == before));
}

BOOST_AUTO_TEST_CASE(a_file_that_was_made_for_nothing_goes_again) {
  const TempDir source;
  fs_std::create_directory(source / "other");
  const fs::SourceRoot root(
      frame::UniqueFd(::open(source.path().c_str(), O_DIRECTORY | O_RDONLY | O_CLOEXEC)));
  const fs::SourceDirectory in = root.directory({}),
                            other = root.directory(fs::SourcePath("other"));
  const fs::Caller caller{::geteuid(), ::getegid(), 0, 0};
  fs::Request request(caller);
  const fs::Change change(request);
  const auto there = [&](const fs::NewTemporary& file) {
    return fs_std::exists(source / file.name());
  };
  std::string dropped, kept;
  {
    const fs::NewTemporary file(change, in, 0600);
    dropped = file.name();
    BOOST_TEST(there(file));
    BOOST_TEST(file.is_in(in));
    BOOST_TEST(!file.is_in(other));
    fs::NewTemporary known(change, in, 0600);
    kept = known.name();
    known.keep();
    // Another function, such as rmdir, may remove the temporary.
    const fs::NewTemporary cleared(change, in, 0600);
    fs_std::remove(source / cleared.name());
    BOOST_TEST(!cleared.is_in(in));
  }
  BOOST_TEST(!fs_std::exists(source / dropped));
  BOOST_TEST(fs_std::exists(source / kept));
}

BOOST_AUTO_TEST_CASE(of_many_who_make_a_file_at_once_one_has_made_it) {
  constexpr int kRounds = 20, kMakers = 8;
  const TempDir source;
  InProcess mount(source.path());
  for (int round = 0; round < kRounds; round++) {
    const std::string name = "x" + std::to_string(round);
    std::atomic<int> made = 0, refused = 0;
    {
      std::barrier together(kMakers);
      std::vector<std::jthread> makers;
      for (int i = 0; i < kMakers; i++)
        makers.emplace_back([&] {
          together.arrive_and_wait();
          const int error = error_of([&] { mount.create(name); });
          made += error == 0 ? 1 : 0;
          refused += error == EEXIST ? 1 : 0;
        });
    }
    BOOST_TEST(made == 1);
    BOOST_TEST(refused == kMakers - 1);
  }
  // The threads that came too late leave no temporary.
  BOOST_TEST(stored_names(source.path()) == Names(kRounds, ".tmp"),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_name_that_was_free_when_it_was_chosen_may_be_gone) {
  constexpr int kRounds = 300;
  const TempDir source;
  InProcess mount(source.path());
  // A file younger than 2 s has no verdict yet. So each operation that chooses a name reads the
  // file without the lock on names.
  write_file(source / "x.blp", bytes_of("none"));
  for (int round = 0; round < kRounds; round++) {
    if (round % 50 == 0) write_file(source / "x.blp", bytes_of("none"));
    // Keeps the suffix .b2f when it is renamed, and so gets another full name than the new file.
    write_file(source / "q.b2f", flat_frame("one"));
    std::barrier together(2);
    int create_error = 0, rename_error = 0;
    {
      const std::jthread maker([&] {
        together.arrive_and_wait();
        create_error = error_of([&] { mount.create("x"); });
      });
      together.arrive_and_wait();
      rename_error = error_of([&] { mount.rename("q", "x", RENAME_NOREPLACE); });
    }
    // If both got the name, the mount would show both under their full names.
    BOOST_REQUIRE_MESSAGE((create_error == 0) != (rename_error == 0), "round " << round);
    BOOST_TEST(mount.has("x"));
    mount.remove("x");
    fs_std::remove(source / "q.b2f");
  }
}

// A name of SOURCE that ends with .b2frame would be shown without its suffix.
BOOST_AUTO_TEST_CASE(file_with_the_suffix_of_frames_keeps_its_name) {
  const TempDir source;
  InProcess mount(source.path());
  mount.write("a.b2frame", bytes_of("one"));
  mount->commit_written();
  BOOST_TEST(mount.names() == Names{"a.b2frame"}, boost::test_tools::per_element());
  BOOST_TEST(stored_names(source.path()) == Names{"a.b2frame.b2frame"},
             boost::test_tools::per_element());
  BOOST_CHECK(mount.read("a.b2frame") == bytes_of("one"));
}

BOOST_AUTO_TEST_CASE(hard_links_to_frames_are_one_file) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame("one"));
  write_sparse_frame(source / "s.b2frame", bytes_of("two"));
  InProcess mount(source.path());
  mount.make_directory("d");
  mount.make_link("a", "d/b");
  BOOST_TEST(*mount.find("a") == *mount.find("d/b"));
  BOOST_TEST(mount.stat("a").st_nlink == 2u);
  mount.write("d/b", bytes_of("three"));
  BOOST_CHECK(mount.read("a") == bytes_of("three"));
  mount->commit_written();
  BOOST_CHECK(shown_contents(source / "a.b2frame") == bytes_of("three"));
  BOOST_TEST(fs_std::hard_link_count(source / "a.b2frame") == 2u);
  BOOST_TEST(error_of([&] { mount.make_link("s", "t"); }) == EPERM);
  BOOST_TEST(error_of([&] { mount.make_link("d", "e"); }) == EPERM);
  mount.remove("a");
  BOOST_CHECK(mount.read("d/b") == bytes_of("three"));
  BOOST_TEST(mount.stat("d/b").st_nlink == 1u);
}

BOOST_AUTO_TEST_CASE(new_file_has_its_name_before_it_is_linked) {
  const TempDir source;
  InProcess mount(source.path());
  mount.write("a", bytes_of("one"));
  mount.make_link("a", "b");
  BOOST_CHECK(shown_contents(source / "a.b2frame") == bytes_of("one"));
  BOOST_TEST(fs_std::equivalent(source / "a.b2frame", source / "b.b2frame"));
}

BOOST_AUTO_TEST_CASE(special_files_are_made_as_they_are) {
  const TempDir source;
  InProcess mount(source.path());
  fs::Request request(mount.caller);
  const auto found = mount.source().make_special(request, fs::kRootId, "pipe", S_IFIFO | 0600, 0);
  BOOST_TEST(S_ISFIFO(found.attributes.st_mode));
  BOOST_TEST(fs_std::is_fifo(source / "pipe"));
  // A regular file that was made but never opened is an empty frame.
  mount.source().make_special(request, fs::kRootId, "a", S_IFREG | 0600, 0);
  mount->commit_written();
  BOOST_CHECK(shown_contents(source / "a.b2frame").empty());
}

BOOST_AUTO_TEST_CASE(read_only_mount_changes_nothing) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame("one"));
  InProcess mount(source.path(), "ro");
  BOOST_TEST(error_of([&] { mount.open("a", O_RDWR); }) == EROFS);
  BOOST_TEST(error_of([&] { mount.resize("a", 1); }) == EROFS);
  BOOST_TEST(error_of([&] { mount->commit_written(); }) == EROFS);
  BOOST_TEST(stored_names(source.path()) == Names{"a.b2frame"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
