// Symlinks lead to shown names.

#include <cerrno>

#include <boost/test/unit_test.hpp>

#include "tests/fs/mount/in_process.hpp"
#include "tests/support/frame_writer.hpp"

namespace bloscfs::test {

BOOST_AUTO_TEST_SUITE(symlinks)

BOOST_AUTO_TEST_CASE(texts_name_frames_as_they_are_shown) {
  const TempDir source;
  fs_std::create_directory(source / "d");
  write_file(source / "d/a.b2frame", flat_frame("one"));
  fs_std::create_symlink("d/a.b2frame", source / "stored");
  fs_std::create_symlink("../d/a.b2frame", source / "d/up");
  fs_std::create_symlink("d/a", source / "shown");
  fs_std::create_symlink("d/none.b2frame", source / "dangling");
  fs_std::create_symlink("/d/a.b2frame", source / "absolute");
  fs_std::create_symlink("../../d/a.b2frame", source / "d/outside");
  InProcess mount(source.path());
  BOOST_TEST(mount.read_link("stored") == "d/a");
  BOOST_TEST(mount.read_link("d/up") == "../d/a");
  BOOST_TEST(mount.read_link("shown") == "d/a");
  BOOST_TEST(mount.read_link("dangling") == "d/none.b2frame");
  BOOST_TEST(mount.read_link("absolute") == "/d/a.b2frame");
  BOOST_TEST(mount.read_link("d/outside") == "../../d/a.b2frame");
  BOOST_TEST(mount.stat("stored").st_size == 3);
  BOOST_TEST(S_ISLNK(mount.stat("stored").st_mode));
}

BOOST_AUTO_TEST_CASE(have_the_given_target) {
  const TempDir source;
  InProcess mount(source.path());
  mount.make_symlink("some/where", "link");
  BOOST_TEST(mount.read_link("link") == "some/where");
  BOOST_TEST(fs_std::read_symlink(source / "link") == "some/where");
  BOOST_TEST(error_of([&] { mount.make_symlink("x", "link"); }) == EEXIST);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
