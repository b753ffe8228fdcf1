// Tests the names that a mount shows, in listings and lookups.

#include <cstring>
#include <map>
#include <set>

#include <boost/test/unit_test.hpp>
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mount/errno_of.hpp"
#include "tests/mount/naming_cases.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

std::string as_text(const ByteVector& bytes) { return {bytes.begin(), bytes.end()}; }

bool right_type(Kind kind, mode_t mode) {
  switch (kind) {
    case Kind::directory:
      return S_ISDIR(mode);
    case Kind::fifo:
      return S_ISFIFO(mode);
    case Kind::link:
      return S_ISLNK(mode);
    default:
      return S_ISREG(mode);
  }
}

unsigned char listed_type(Kind kind) {
  switch (kind) {
    case Kind::directory:
      return DT_DIR;
    case Kind::fifo:
      return DT_FIFO;
    case Kind::link:
      return DT_LNK;
    default:
      return DT_REG;
  }
}

std::string expected_text(Kind kind, const fs_std::path& source, const std::string& name) {
  switch (kind) {
    case Kind::flat:
      return flat_text();
    case Kind::array:
      return npy_text();
    case Kind::raw_array:
      return element_text();
    case Kind::plain:
      return "plain " + name;
    default:
      return as_text(read_file(source / name));
  }
}

std::map<std::string, unsigned char> listing(const fs_std::path& path) {
  std::map<std::string, unsigned char> names;
  DIR* const directory = opendir(path.c_str());
  if (directory == nullptr) throw_errno("opendir " + path.string());
  while (const dirent* entry = readdir(directory))
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
      names[entry->d_name] = entry->d_type;
  closedir(directory);
  return names;
}

void check_shown(const Directory& directory, const fs_std::path& source,
                 const fs_std::path& mounted) {
  BOOST_TEST_CONTEXT(directory.name) {
    for (const auto& [name, kind] : directory.shown) {
      struct stat st {};
      BOOST_TEST(lstat((mounted / name).c_str(), &st) == 0, name);
      BOOST_TEST(right_type(kind, st.st_mode), name);
      if (!S_ISREG(st.st_mode)) continue;
      const auto text = as_text(read_file(mounted / name));
      BOOST_TEST(text.size() == static_cast<std::size_t>(st.st_size), name);
      BOOST_CHECK_MESSAGE(text == expected_text(kind, source, name), name);
    }
    const auto listed = listing(mounted);
    BOOST_TEST(listed.size() == directory.shown.size());
    for (const auto& [name, kind] : directory.shown) {
      BOOST_TEST(listed.count(name) == 1, "listed: " << name);
      if (listed.count(name) == 1 && listed.at(name) != DT_UNKNOWN)
        BOOST_TEST(listed.at(name) == listed_type(kind), "type of " << name);
    }
  }
}

void check_absent(const Directory& directory, const fs_std::path& mounted) {
  for (const auto& name : directory.absent) {
    if (name.empty()) continue;
    struct stat st {};
    const int result = lstat((mounted / name).c_str(), &st);
    const int error = result == 0 ? 0 : errno;
    BOOST_TEST((error == ENOENT || error == ENOTDIR),
               directory.name << ": " << name << " is there, or errno " << error);
  }
}

void make_all(const std::vector<Directory>& directories, const TempDir& source) {
  for (const auto& directory : directories) directory.make(Maker(source / directory.name));
}

void check_all(const std::vector<Directory>& directories) {
  const TempDir source;
  make_all(directories, source);
  Mount mount(source.path());
  // The first round looks names up before any listing, the second one after it.
  for (int round = 0; round < 2; ++round)
    for (const auto& directory : directories) {
      check_absent(directory, mount / directory.name);
      check_shown(directory, source / directory.name, mount / directory.name);
    }
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(naming)

BOOST_AUTO_TEST_CASE(shows_the_names_of_the_table, *precondition(needs_fuse)) {
  check_all(directories_of_the_table());
}

BOOST_AUTO_TEST_CASE(shows_the_names_of_odd_directories, *precondition(needs_fuse)) {
  BOOST_TEST(more_directories().size() >= 20);
  check_all(more_directories());
}

BOOST_AUTO_TEST_CASE(raw_shows_arrays_under_their_stem, *precondition(needs_fuse)) {
  const TempDir source;
  const Directory directory{"raw",
                            [](const Maker& m) {
                              m.array("u.b2nd");
                              m.bloscpack_array("q.blp");
                              m.array("a.npy.b2nd");
                              m.sparse_array("s.b2nd");
                            },
                            {{"u", Kind::raw_array},
                             {"q", Kind::raw_array},
                             {"a.npy", Kind::raw_array},
                             {"s", Kind::raw_array}},
                            {"u.npy", "q.npy", "u.b2nd", "s.npy"}};
  make_all({directory}, source);
  MountSettings settings;
  settings.options = {"raw"};
  Mount mount(source.path(), settings);
  check_shown(directory, source / directory.name, mount / directory.name);
  check_absent(directory, mount / directory.name);
}

BOOST_AUTO_TEST_CASE(names_follow_the_directory_content, *precondition(needs_fuse)) {
  const TempDir source;
  const Maker maker(source.path());
  maker.flat("a.b2");
  Mount mount(source.path());
  BOOST_TEST(fs_std::exists(mount / "a"));
  maker.plain("a");
  // The kernel may cache names for a moment.
  const auto goes = [&mount](const char* name) {
    return comes_true([&] { return listing(mount.path()).count(name) == 0; });
  };
  comes_true([&] { return listing(mount.path()).size() == 2; });
  BOOST_TEST(listing(mount.path()).count("a.b2") == 1);
  fs_std::remove(source / "a");
  BOOST_TEST(goes("a.b2"));
  BOOST_TEST(listing(mount.path()).count("a") == 1);
}

BOOST_AUTO_TEST_CASE(single_sources_give_a_root_with_one_file, *precondition(needs_fuse)) {
  const TempDir source;
  const Maker maker(source.path());
  maker.flat("a.b2frame");
  maker.array("t.b2nd");
  maker.sparse("s.b2frame");
  maker.bloscpack_array("q.blp");
  maker.link("link.b2", "a.b2frame");
  for (const auto& [name, shown] :
       {std::pair{"a.b2frame", "a"}, {"t.b2nd", "t.npy"}, {"s.b2frame", "s"}, {"q.blp", "q.npy"}}) {
    Mount mount(source / name);
    const auto listed = listing(mount.path());
    BOOST_TEST(listed.size() == 1u, name);
    BOOST_TEST(listed.count(shown) == 1u, name);
    BOOST_TEST(errno_of_reading(mount / shown) == 0, name);
    const int created = open((mount / "new").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    BOOST_TEST(created < 0);
    BOOST_TEST((errno == EPERM || errno == EROFS), name << ": errno " << errno);
  }
  Mount mount(source / "link.b2");
  BOOST_TEST(listing(mount.path()).size() == 1u);
}

BOOST_AUTO_TEST_CASE(frames_have_no_second_name, *precondition(needs_fuse)) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame(bytes_of("one")));
  write_sparse_frame(source / "s.b2frame", bytes_of("two"));
  const Mount mount(source.path());
  for (const char* stored : {"a.b2frame", "s.b2frame"}) {
    struct stat st {};
    BOOST_TEST(errno_of(lstat((mount / stored).c_str(), &st)) == ENOENT);
  }
  MountSettings settings;
  settings.options = {"frames"};
  try {
    const Mount refused(source.path(), settings);
    BOOST_ERROR("-o frames is accepted");
  } catch (const MountRefused& error) {
    BOOST_TEST(error.result.err.find("unknown option frames") != std::string::npos,
               error.result.err);
  }
}

BOOST_AUTO_TEST_CASE(damaged_frame_is_shown_untouched_and_without_attributes,
                     *precondition(needs_fuse)) {
  const TempDir source;
  auto bytes = flat_frame(flat_text());
  bytes[0x2f + 4] = 0;  // typesize 0
  write_file(source / "bad.b2frame", bytes);
  Mount mount(source.path());
  BOOST_TEST((read_file(mount / "bad.b2frame") == bytes));
  for (int i = 0; i < 3; ++i) listing(mount.path());
  BOOST_TEST(mount.unmount().ok());
  const auto log = mount.log();
  const auto first = log.find("bad.b2frame");
  BOOST_TEST(first != std::string::npos, "not logged: " << log);
  BOOST_TEST(log.find("bad.b2frame", first + 20) == std::string::npos, "logged twice: " << log);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
