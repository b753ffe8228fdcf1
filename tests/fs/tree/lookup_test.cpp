// Which files lookups find by name, and how long the daemon remembers the result.

#include <cerrno>

#include <boost/test/unit_test.hpp>

#include "tests/fs/mount/in_process.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"

namespace bloscfs::test {

BOOST_AUTO_TEST_SUITE(lookup)

BOOST_AUTO_TEST_CASE(frames_are_files_of_their_contents) {
  const TempDir source;
  const ByteVector contents = make_contents("text", 1, 100000, 1);
  fs_std::create_directory(source / "d");
  write_file(source / "d/a.txt.b2frame", flat_frame(contents));
  write_sparse_frame(source / "s.b2frame", contents);
  write_file(source / "plain", contents);
  InProcess mount(source.path());
  BOOST_TEST(mount.names() == (Names{"d", "plain", "s"}), boost::test_tools::per_element());
  BOOST_TEST(mount.names("d") == Names{"a.txt"}, boost::test_tools::per_element());
  for (const char* path : {"d/a.txt", "s", "plain"}) BOOST_TEST_CONTEXT(path) {
      const struct stat st = mount.stat(path);
      BOOST_TEST(S_ISREG(st.st_mode));
      BOOST_TEST(st.st_size == 100000);
      BOOST_CHECK(mount.read(path) == contents);
    }
  BOOST_TEST(S_ISDIR(mount.stat("d").st_mode));
  for (const char* path : {"x", "d/x", "a.txt", "d/a.txt.b2frame", "s.b2frame"})
    BOOST_TEST(!mount.has(path), path);
  BOOST_TEST(error_of([&] { mount.find("x"); }) == ENOENT);
  BOOST_TEST(mount.log() == "");
}

BOOST_AUTO_TEST_CASE(nodes_are_known_until_they_are_forgotten) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame("one"));
  InProcess mount(source.path());
  fs::Request request;
  fs::NodeId known = 0;
  {
    const Reference first = mount.find("a"), second = mount.find("a");
    known = *first;
    BOOST_TEST(*second == known);
  }
  BOOST_TEST(error_of([&] { mount.local().tree().attributes(request, known); }) == ESTALE);
  BOOST_TEST(*mount.find("a") > known);
}

BOOST_AUTO_TEST_CASE(pinned_nodes_stay_though_they_are_forgotten) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame("one"));
  InProcess mount(source.path());
  fs::Request request;
  fs::NodeId known = 0;
  {
    const Reference node = mount.find("a");
    known = *node;
    mount.local().tree().pin(known);
  }
  BOOST_TEST(mount.local().tree().attributes(request, known).st_size == 3);
  mount.local().tree().unpin(known);
  BOOST_TEST(error_of([&] { mount.local().tree().attributes(request, known); }) == ESTALE);
}

BOOST_AUTO_TEST_CASE(parents_are_found_from_their_entries) {
  const TempDir source;
  fs_std::create_directories(source / "d/e");
  InProcess mount(source.path());
  const Reference outer = mount.find("d"), inner = mount.find("d/e");
  BOOST_TEST(mount.local().tree().parent(*inner) == *outer);
  BOOST_TEST(mount.local().tree().parent(*outer) == fs::kRootId);
  BOOST_TEST(mount.local().tree().parent(fs::kRootId) == fs::kRootId);
  BOOST_TEST(mount.local().tree().path(*inner).text() == "d/e");
}

BOOST_AUTO_TEST_CASE(new_state_of_a_frame_is_another_node) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame("one"));
  InProcess mount(source.path());
  const Reference old = mount.find("a");
  const InProcess::File file = mount.open("a", O_RDONLY);
  write_file(source / "new", flat_frame("three"));
  fs_std::rename(source / "new", source / "a.b2frame");
  const Reference now = mount.find("a");
  BOOST_TEST(*now != *old);
  BOOST_CHECK(file.contents() == bytes_of("one"));
  BOOST_CHECK(mount.read("a") == bytes_of("three"));
  BOOST_TEST(error_of([&] { mount->open(mount.request(), *old, O_RDONLY); }) == ESTALE);
}

BOOST_AUTO_TEST_CASE(own_changes_keep_the_node) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame("one"));
  InProcess mount(source.path());
  const Reference old = mount.find("a");
  mount.write("a", bytes_of("three"));
  BOOST_TEST(*mount.find("a") == *old);
  mount->commit_written();
  BOOST_TEST(*mount.find("a") == *old);
  mount.rename("a", "b");
  BOOST_TEST(*mount.find("b") == *old);
}

BOOST_AUTO_TEST_CASE(what_a_mount_keeps_for_itself_is_hidden) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame("one"));
  write_file(source / ".bloscfs-0123456789abcdef.tmp", bytes_of("x"));
  write_file(source / "a.b2frame.b2lock", bytes_of(""));
  InProcess mount(source.path());
  BOOST_TEST(mount.names() == Names{"a"}, boost::test_tools::per_element());
  for (const char* name : {".bloscfs-0123456789abcdef.tmp", ".bloscfs-lock", "a.b2frame.b2lock"})
    BOOST_TEST(!mount.has(name), name);
}

BOOST_AUTO_TEST_CASE(mount_of_one_container_shows_that_alone) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame("one"));
  write_file(source / "b.b2frame", flat_frame("two"));
  InProcess mount(source / "a.b2frame");
  BOOST_TEST(mount.names() == Names{"a"}, boost::test_tools::per_element());
  BOOST_TEST(!mount.has("b"));
  BOOST_TEST(S_ISDIR(mount.stat("").st_mode));
  BOOST_TEST(mount.local().tree().is_virtual(fs::kRootId));
  BOOST_TEST(error_of([&] { mount.create("c"); }) == EPERM);
  mount.write("a", bytes_of("three"));
  mount.end();
  BOOST_CHECK(shown_contents(source / "a.b2frame") == bytes_of("three"));
  BOOST_CHECK(shown_contents(source / "b.b2frame") == bytes_of("two"));
}

BOOST_AUTO_TEST_CASE(what_is_no_container_is_no_source) {
  const TempDir source;
  write_file(source / "a", bytes_of("no frame"));
  BOOST_CHECK_THROW(fs::open_source(source / "a", false, true), std::invalid_argument);
  BOOST_TEST(error_of([&] { fs::open_source(source / "b", false, true); }) == ENOENT);
}

BOOST_AUTO_TEST_CASE(owner_is_the_one_that_options_ask_for) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame("one"));
  InProcess mount(source.path(), "ro,uid=1234,gid=4321");
  const struct stat st = mount.stat("a");
  BOOST_TEST(st.st_uid == 1234u);
  BOOST_TEST(st.st_gid == 4321u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
