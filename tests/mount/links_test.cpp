// Symlinks whose targets are stored names of frames.

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mount/errno_of.hpp"
#include "tests/mount/naming_cases.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

std::string text_of(const fs_std::path& link) { return fs_std::read_symlink(link).string(); }

std::int64_t size_of_link(const fs_std::path& path) {
  struct stat st {};
  if (lstat(path.c_str(), &st) != 0) throw_errno("lstat " + path.string());
  return st.st_size;
}

void check_link(const fs_std::path& link, const std::string& text) {
  BOOST_TEST_CONTEXT(link) {
    BOOST_TEST(text_of(link) == text);
    BOOST_TEST(size_of_link(link) == std::ssize(text));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(links)

BOOST_AUTO_TEST_CASE(links_to_frames_lead_to_what_is_shown, *precondition(needs_fuse)) {
  const TempDir source;
  fs_std::create_directories(source / "data/deep");
  const Maker top(source.path()), data(source / "data"), deep(source / "data/deep");
  top.flat("text.b2frame");
  data.array("run42.b2nd");
  data.sparse("s.b2frame");
  deep.bloscpack("p.blp");
  top.link("latest", "data/run42.b2nd");
  top.link("text", "text.b2frame");  // takes the name that the frame would be shown under
  top.link("sparse", "./data//s.b2frame");
  top.link("dir", "data/deep");
  top.link("through", "dir/../run42.b2nd");
  top.link("pack", "dir/p.blp");
  deep.link("up", "../../data/run42.b2nd");
  data.link("here", "run42.b2nd");
  Mount mount(source.path());
  // After a listing, the kernel has the sizes.
  BOOST_TEST(std::distance(fs_std::directory_iterator(mount.path()), {}) == 8);
  check_link(mount / "latest", "data/run42.npy");
  check_link(mount / "sparse", "./data//s");
  check_link(mount / "through", "dir/../run42.npy");
  check_link(mount / "pack", "dir/p");
  check_link(mount / "data/deep/up", "../../data/run42.npy");
  check_link(mount / "data/here", "run42.npy");
  check_link(mount / "dir", "data/deep");
  check_link(mount / "text", "text.b2frame");
  for (const char* link : {"latest", "through", "data/deep/up", "data/here"})
    BOOST_CHECK(read_file(mount / link) == bytes_of(npy_text()));
  for (const char* link : {"sparse", "pack", "text"})
    BOOST_CHECK(read_file(mount / link) == bytes_of(flat_text()));
}

BOOST_AUTO_TEST_CASE(other_links_keep_their_texts, *precondition(needs_fuse)) {
  const TempDir source, outside;
  fs_std::create_directory(source / "d");
  const Maker maker(source.path());
  Maker(outside.path()).flat("out.b2frame");
  maker.flat("a.b2frame");
  maker.sparse("s.b2frame");
  maker.plain("plain");
  maker.plain("both");
  maker.flat("both.b2");
  const std::string beside = "../" + source.path().filename().string() + "/a.b2frame";
  const std::map<std::string, std::string> links = {
      {"absolute", (source / "a.b2frame").string()},
      {"outside", "../" + outside.path().filename().string() + "/out.b2frame"},
      {"around", beside},
      {"dangling", "nothing.b2frame"},
      {"shown", "a"},
      {"to_plain", "plain"},
      {"collides", "both.b2"},
      {"as_directory", "a.b2frame/"},
      {"in_sparse", "s.b2frame/chunks.b2frame"},
      {"in_file", "plain/a.b2frame"},
      {"loop", "loop"},
      {"loops", "loop/a.b2frame"},
      {"temporary", ".bloscfs-0123456789abcdef.tmp"},
      {"deep", [] {
         std::string text;
         for (int i = 0; i < 600; i++) text += "d/../";
         return text + "a.b2frame";
       }()}};
  for (const auto& [name, text] : links) maker.link(name, text);
  write_file(source / ".bloscfs-0123456789abcdef.tmp", flat_frame(std::string("hidden")));
  MountSettings settings;
  settings.options = {"ro"};
  Mount mount(source.path(), settings);
  for (const auto& [name, text] : links) check_link(mount / name, text);
}

BOOST_AUTO_TEST_CASE(links_follow_the_names_that_frames_get, *precondition(needs_fuse)) {
  const TempDir source;
  const Maker maker(source.path());
  maker.flat("a.b2frame");
  Mount mount(source.path());
  BOOST_TEST(errno_of(symlink("a.b2frame", (mount / "link").c_str())) == 0);
  BOOST_TEST(text_of(source / "link") == "a.b2frame");
  check_link(mount / "link", "a");
  // Another frame wants the same shown name, so that both are shown under their full names.
  maker.flat("a.b2");
  BOOST_TEST(text_of(mount / "link") == "a.b2frame");
  BOOST_CHECK(read_file(mount / "link") == bytes_of(flat_text()));
  BOOST_TEST(errno_of(unlink((mount / "a.b2").c_str())) == 0);
  BOOST_TEST(text_of(mount / "link") == "a");
  // The link dangles, like any link whose file was renamed.
  BOOST_TEST(errno_of(rename((mount / "a").c_str(), (mount / "b").c_str())) == 0);
  BOOST_TEST(text_of(mount / "link") == "a.b2frame");
  // A new file counts before its first commit.
  write_file(mount / "a", "new");
  BOOST_TEST(text_of(mount / "link") == "a");
  BOOST_CHECK(read_file(mount / "link") == bytes_of("new"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
