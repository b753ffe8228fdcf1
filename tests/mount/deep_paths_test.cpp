// Directories nested deeper than the longest path, which programs enter step by step.

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mount/errno_of.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

const std::string kStep(250, 's');
constexpr int kDeep = 20;  ///< steps, 5,020 bytes in all
constexpr std::size_t kLongestPath = 4095;

Fd open_directory(int directory, const std::string& name) {
  Fd fd(::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) throw_errno(name.substr(0, 20));
  return fd;
}

/// Goes down `steps` directories from `top`. Creates them first if `makes` is set.
Fd descend(const fs_std::path& top, int steps, bool makes) {
  Fd at = open_directory(AT_FDCWD, top);
  for (int i = 0; i < steps; ++i) {
    if (makes) BOOST_TEST_REQUIRE(errno_of(::mkdirat(at.get(), kStep.c_str(), 0755)) == 0);
    at = open_directory(at.get(), kStep);
  }
  return at;
}

std::string read_in(int directory, const char* name) {
  const Fd fd(::openat(directory, name, O_RDONLY | O_CLOEXEC));
  if (!fd) throw_errno(name);
  std::string text(100, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(fd.get(), text.data(), 100))));
  return text;
}

void write_in(int directory, const char* name, const std::string& text, bool syncs) {
  const Fd fd(::openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd) throw_errno(name);
  BOOST_TEST_REQUIRE(::write(fd.get(), text.data(), text.size()) ==
                     static_cast<ssize_t>(text.size()));
  if (syncs) BOOST_TEST_REQUIRE(::fsync(fd.get()) == 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(deep_paths)

BOOST_AUTO_TEST_CASE(files_below_the_longest_path_are_as_others, *precondition(needs_fuse)) {
  const TempDir source;
  {
    Mount mount(source.path());
    Fd deep = descend(mount.path(), kDeep, true);
    write_in(deep.get(), "f", "contents", true);
    write_in(deep.get(), "g", "waiting", false);
    BOOST_TEST(errno_of(::fchmodat(deep.get(), "f", 0600, 0)) == 0);
    BOOST_TEST(errno_of(::linkat(deep.get(), "f", deep.get(), "h", 0)) == 0);
    BOOST_TEST(errno_of(::symlinkat("f", deep.get(), "l")) == 0);
    BOOST_TEST(errno_of(::renameat(deep.get(), "f", deep.get(), "moved")) == 0);
    struct stat st {};
    BOOST_TEST(errno_of(::fstatat(deep.get(), "moved", &st, 0)) == 0);
    BOOST_TEST(st.st_nlink == 2u);
    BOOST_TEST(st.st_size == 8);
    BOOST_TEST(read_in(deep.get(), "h") == "contents");
    BOOST_TEST(read_in(deep.get(), "g") == "waiting");
    deep = {};
    BOOST_TEST(mount.unmount().ok(), mount.log());
  }
  {
    const Fd deep = descend(source.path(), kDeep, false);
    struct stat st {};
    for (const char* name : {"moved.b2frame", "h.b2frame", "g.b2frame", "l"})
      BOOST_TEST(errno_of(::fstatat(deep.get(), name, &st, AT_SYMLINK_NOFOLLOW)) == 0, name);
  }
  Mount mount(source.path());
  Fd deep = descend(mount.path(), kDeep, false);
  BOOST_TEST(read_in(deep.get(), "moved") == "contents");
  for (const char* name : {"moved", "h", "g", "l"})
    BOOST_TEST(errno_of(::unlinkat(deep.get(), name, 0)) == 0, name);
  Fd above = descend(mount.path(), kDeep - 1, false);
  BOOST_TEST(errno_of(::unlinkat(above.get(), kStep.c_str(), AT_REMOVEDIR)) == 0);
  deep = {};
  above = {};
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_CASE(paths_of_every_length_that_a_call_takes_work_below_any_directory,
                     *precondition(needs_fuse)) {
  const TempDir source;
  Mount mount(source.path());
  Fd top = descend(mount.path(), kDeep, true);
  std::string path;
  int steps = 0;
  for (; path.size() + kStep.size() + 3 < kLongestPath; ++steps) {
    path += kStep + "/";
    BOOST_TEST_REQUIRE(errno_of(::mkdirat(top.get(), path.c_str(), 0755)) == 0);
  }
  path += std::string(kLongestPath - path.size(), 'f');
  write_in(top.get(), path.c_str(), "contents", true);
  BOOST_TEST(read_in(top.get(), path.c_str()) == "contents");
  BOOST_TEST(errno_of(::unlinkat(top.get(), (path + "f").c_str(), 0)) == ENAMETOOLONG);
  BOOST_TEST(errno_of(::unlinkat(top.get(), path.c_str(), 0)) == 0);
  top = {};
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

/// A component of a long path that has become a symlink is not followed, just as in a short path.
BOOST_AUTO_TEST_CASE(no_step_of_a_long_path_follows_a_symlink, *precondition(needs_fuse)) {
  const TempDir source, outside;
  descend(source.path(), kDeep, true);
  {
    const Fd deep = descend(source.path(), kDeep, false);
    write_in(deep.get(), "plain", "inside", false);
  }
  Mount mount(source.path());
  Fd deep = descend(mount.path(), kDeep, false);
  BOOST_TEST(read_in(deep.get(), "plain") == "inside");
  descend(outside.path(), kDeep - 1, true);
  {
    const Fd elsewhere = descend(outside.path(), kDeep - 1, false);
    write_in(elsewhere.get(), "plain", "outside", false);
  }
  fs_std::rename(source / kStep, source / "aside");
  fs_std::create_directory_symlink(outside.path(), source / kStep);
  const auto opens = [&] {
    return static_cast<bool>(Fd(::openat(deep.get(), "plain", O_RDONLY | O_CLOEXEC)));
  };
  BOOST_TEST((!opens() || read_in(deep.get(), "plain") == "inside"));
  deep = {};
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
