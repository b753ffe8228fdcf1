// Files that get other names, which other files may have.

#include <cerrno>

#include <boost/test/unit_test.hpp>
#include <stdio.h>

#include "tests/fs/mount/in_process.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/npy.hpp"

namespace bloscfs::test {
namespace {

/// One object of each kind. Its shown name has one letter.
struct AllKinds {
  AllKinds() {
    write_file(source / "f.b2frame", flat_frame("flat"));
    write_sparse_frame(source / "s.b2frame", bytes_of("sparse"));
    write_file(source / "p", bytes_of("plain"));
    fs_std::create_symlink("nowhere", source / "l");
    fs_std::create_directory(source / "d");
    mount.emplace(source.path());
    mount->write("n", bytes_of("new"));
  }
  const TempDir source;
  std::optional<InProcess> mount;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(renaming)

BOOST_AUTO_TEST_CASE(everything_goes_over_everything) {
  for (const std::string from : {"f", "s", "p", "l", "d", "n"})
    for (const std::string to : {"f", "s", "p", "l", "d", "n", "x"})
      BOOST_TEST_CONTEXT(from << " to " << to) {
        AllKinds all;
        InProcess& mount = *all.mount;
        const Reference moved = mount.find(from);
        const bool is_directory = from == "d", onto_directory = to == "d";
        const int expected = from == to || to == "x" ? 0
                             : onto_directory        ? EISDIR
                             : is_directory          ? ENOTDIR
                                                     : 0;
        BOOST_TEST(error_of([&] { mount.rename(from, to); }) == expected);
        Names names{"d", "f", "l", "n", "p", "s"};
        if (expected == 0 && from != to) {
          std::erase(names, from);
          std::erase(names, to);
          names.push_back(to);
          std::sort(names.begin(), names.end());
        }
        BOOST_TEST(mount.names() == names, boost::test_tools::per_element());
        BOOST_TEST(*mount.find(expected == 0 ? to : from) == *moved);
        if (expected != 0) continue;
        const ByteVector contents = is_directory || from == "l" ? ByteVector() : mount.read(to);
        mount.end();
        InProcess again(all.source.path());
        BOOST_TEST(again.names() == names, boost::test_tools::per_element());
        if (!is_directory && from != "l") BOOST_CHECK(again.read(to) == contents);
        BOOST_TEST(again.log() == "");
      }
}

BOOST_AUTO_TEST_CASE(flags_are_those_of_renameat2) {
  AllKinds all;
  InProcess& mount = *all.mount;
  BOOST_TEST(error_of([&] { mount.rename("f", "s", RENAME_NOREPLACE); }) == EEXIST);
  mount.rename("f", "g", RENAME_NOREPLACE);
  BOOST_TEST(error_of([&] { mount.rename("g", "x", RENAME_EXCHANGE); }) == ENOENT);
  BOOST_TEST(error_of([&] { mount.rename("g", "s", RENAME_WHITEOUT); }) == EINVAL);
  mount.rename("g", "s", RENAME_EXCHANGE);
  BOOST_CHECK(mount.read("g") == bytes_of("sparse"));
  BOOST_CHECK(mount.read("s") == bytes_of("flat"));
  BOOST_TEST(fs_std::is_directory(all.source / "g.b2frame"));
  BOOST_CHECK(shown_contents(all.source / "s.b2frame") == bytes_of("flat"));
}

BOOST_AUTO_TEST_CASE(new_files_move_with_their_directories) {
  const TempDir source;
  InProcess mount(source.path());
  mount.make_directory("d");
  const ByteVector contents = make_contents("text", 1, 50000, 1);
  {
    const InProcess::File file = mount.create("d/a");
    file.write(0, contents);
    mount.rename("d", "e");
    BOOST_CHECK(mount.read("e/a") == contents);
    mount.rename("e/a", "b");
    file.sync();
  }
  BOOST_CHECK(shown_contents(source / "b.b2frame") == contents);
  BOOST_TEST(mount.names("e").empty());
}

BOOST_AUTO_TEST_CASE(array_is_named_for_what_it_is_shown_as) {
  const TempDir source;
  const ByteVector contents = make_contents("floats", 1, 4000, 8);
  write_file(source / "a.b2nd", array_frame(contents, {500}, "<f8", 8));
  InProcess mount(source.path());
  const ByteVector file = mount.read("a.npy");
  mount.rename("a.npy", "b.npy");
  BOOST_TEST(stored_names(source.path()) == Names{"b.b2nd"}, boost::test_tools::per_element());
  mount.rename("b.npy", "c");
  BOOST_TEST(mount.names() == Names{"c"}, boost::test_tools::per_element());
  BOOST_CHECK(mount.read("c") == file);
  mount.end();
  InProcess again(source.path());
  BOOST_CHECK(again.read("c") == file);
}

BOOST_AUTO_TEST_CASE(directories_go_over_empty_ones_and_not_into_themselves) {
  const TempDir source;
  InProcess mount(source.path());
  for (const char* path : {"d", "d/e", "f"}) mount.make_directory(path);
  mount.write("d/e/a", bytes_of("one"));
  BOOST_TEST(error_of([&] { mount.rename("d", "d/e/x"); }) == EINVAL);
  BOOST_TEST(error_of([&] { mount.rename("f", "d"); }) == ENOTEMPTY);
  mount.rename("d", "f");
  BOOST_TEST(mount.names() == Names{"f"}, boost::test_tools::per_element());
  BOOST_CHECK(mount.read("f/e/a") == bytes_of("one"));
}

BOOST_AUTO_TEST_CASE(replaced_file_stays_for_who_has_it_open) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame("one"));
  InProcess mount(source.path());
  const InProcess::File old = mount.open("a");
  mount.write("b", bytes_of("two"));
  mount.rename("b", "a");
  BOOST_CHECK(old.contents() == bytes_of("one"));
  old.write(0, bytes_of("three"));
  BOOST_CHECK(old.contents() == bytes_of("three"));
  BOOST_TEST(old.stat().st_nlink == 0u);
  old.sync();
  BOOST_CHECK(mount.read("a") == bytes_of("two"));
  mount->commit_written();
  BOOST_CHECK(shown_contents(source / "a.b2frame") == bytes_of("two"));
}

BOOST_AUTO_TEST_CASE(lock_sidecar_follows_its_frame) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame("one"));
  write_file(source / "a.b2frame.b2lock", ByteVector());
  InProcess mount(source.path());
  mount.rename("a", "b");
  BOOST_TEST(stored_names(source.path()) == (Names{"b.b2frame", "b.b2frame.b2lock"}),
             boost::test_tools::per_element());
  mount.remove("b");
  BOOST_TEST(stored_names(source.path()).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
