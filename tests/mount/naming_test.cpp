// Names that a mount shows, listed and looked up.

#include <cstring>
#include <functional>
#include <map>

#include <boost/test/unit_test.hpp>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/npy.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

const std::string kText = "the same text in every flat file of this test\n";
const std::vector<std::int64_t> kShape{3, 5};
const ByteVector kElements(60, 7);

std::string as_text(const ByteVector& bytes) { return {bytes.begin(), bytes.end()}; }
std::string npy_text() { return npy_header("<i4", kShape) + as_text(kElements); }

/// What to put into a directory of SOURCE.
class Maker {
 public:
  explicit Maker(fs_std::path directory) : directory_(std::move(directory)) {
    fs_std::create_directories(directory_);
  }
  fs_std::path at(const std::string& name) const { return directory_ / name; }
  void flat(const std::string& name) const { write_file(at(name), flat_frame(kText)); }
  void array(const std::string& name) const {
    write_file(at(name), array_frame(kElements, kShape, "<i4", 4));
  }
  void sparse(const std::string& name) const { write_sparse_frame(at(name), bytes_of(kText)); }
  void sparse_array(const std::string& name) const {
    write_sparse_frame(at(name), kElements, array_cut(kShape, "<i4", 4));
  }
  void bloscpack(const std::string& name) const {
    write_file(at(name), bloscpack_file(bytes_of(kText), 20));
  }
  void bloscpack_array(const std::string& name) const {
    write_file(at(name), bloscpack_file(kElements, kElements.size(),
                                        R"({"dtype":"'<i4'","shape":[3,5],"order":"C",)"
                                        R"("container":"numpy"})"));
  }
  void plain(const std::string& name) const { write_file(at(name), "plain " + name); }
  void directory(const std::string& name) const { fs_std::create_directory(at(name)); }
  void fifo(const std::string& name) const { mkfifo(at(name).c_str(), 0600); }
  void link(const std::string& name, const std::string& target) const {
    fs_std::create_symlink(target, at(name));
  }

 private:
  fs_std::path directory_;
};

/// What is behind a shown name.
enum class Kind { flat, array, raw_array, plain, directory, fifo, link, frame_bytes };
using Shown = std::map<std::string, Kind>;

struct Directory {
  std::string name;
  std::function<void(const Maker&)> make;
  Shown shown;
  std::vector<std::string> absent;  ///< names that lookup must not find either
};

std::vector<Directory> directories_of_the_table() {
  using K = Kind;
  return {
      {"flat and array",
       [](const Maker& m) {
         m.flat("a.b2frame");
         m.array("t.b2nd");
       },
       {{"a", K::flat}, {"t.npy", K::array}},
       {"a.b2frame", "t.b2nd", "t"}},
      {"sframes",
       [](const Maker& m) {
         m.sparse("s.b2frame");
         m.sparse_array("s.b2nd");
       },
       {{"s", K::flat}, {"s.npy", K::array}},
       {"s.b2frame", "s.b2nd", "s.npy.npy"}},
      {"arrays without suffix, or with npy in the stem",
       [](const Maker& m) {
         m.array("n");
         m.array("a.npy.b2nd");
       },
       {{"n.npy", K::array}, {"a.npy", K::array}},
       {"n", "a.npy.b2nd", "a.npy.npy"}},
      {"bloscpack",
       [](const Maker& m) {
         m.bloscpack("p.blp");
         m.bloscpack_array("q.blp");
       },
       {{"p", K::flat}, {"q.npy", K::array}},
       {"p.blp", "q.blp", "q"}},
      {"suffixes without frames",
       [](const Maker& m) {
         m.plain("x.b2frame");
         m.directory("d.b2frame");
       },
       {{"x.b2frame", K::plain}, {"d.b2frame", K::directory}},
       {"x", "d"}},
      {"two collide",
       [](const Maker& m) {
         m.plain("a");
         m.flat("a.b2");
       },
       {{"a", K::plain}, {"a.b2", K::flat}},
       {}},
      {"a collision of collisions",
       [](const Maker& m) {
         m.plain("a");
         m.flat("a.b2");
         m.flat("a.b2.b2frame");
       },
       {{"a", K::plain}, {"a.b2", K::flat}, {"a.b2.b2frame", K::flat}},
       {}},
      {"two frames collide",
       [](const Maker& m) {
         m.flat("m.b2frame");
         m.bloscpack("m.blp");
       },
       {{"m.b2frame", K::flat}, {"m.blp", K::flat}},
       {"m"}},
  };
}

std::vector<Directory> more_directories() {
  using K = Kind;
  return {
      {"all suffixes",
       [](const Maker& m) {
         m.flat("a.b2frame");
         m.flat("b.b2f");
         m.flat("c.b2");
         m.flat("d.b2nd");
         m.flat("e.blp");
       },
       {{"a", K::flat}, {"b", K::flat}, {"c", K::flat}, {"d", K::flat}, {"e", K::flat}},
       {}},
      {"one suffix only",
       [](const Maker& m) {
         m.flat("a.b2.b2frame");
         m.flat("b.b2nd.blp");
       },
       {{"a.b2", K::flat}, {"b.b2nd", K::flat}},
       {"a", "b"}},
      {"nothing would be left",
       [](const Maker& m) {
         m.flat(".b2");
         m.array(".b2nd");
       },
       {{".b2", K::flat}, {".b2nd.npy", K::array}},
       {"", ".npy"}},
      {"case matters",
       [](const Maker& m) {
         m.flat("a.B2");
         m.flat("A.b2");
         m.flat("a.b2");
       },
       {{"a.B2", K::flat}, {"A", K::flat}, {"a", K::flat}},
       {"A.b2", "a.b2"}},
      {"frame without suffix",
       [](const Maker& m) { m.flat("plain.txt"); },
       {{"plain.txt", K::flat}},
       {"plain"}},
      {"bloscpack with frame suffix",
       [](const Maker& m) { m.bloscpack("a.b2frame"); },
       {{"a", K::flat}},
       {"a.b2frame"}},
      {"array and flat of one stem",
       [](const Maker& m) {
         m.array("a.b2nd");
         m.flat("a.b2");
       },
       {{"a.npy", K::array}, {"a", K::flat}},
       {"a.b2nd", "a.b2"}},
      {"array and plain npy",
       [](const Maker& m) {
         m.array("a.b2nd");
         m.plain("a.npy");
       },
       {{"a.b2nd", K::array}, {"a.npy", K::plain}},
       {"a"}},
      {"two arrays of one stem",
       [](const Maker& m) {
         m.array("a.b2nd");
         m.bloscpack_array("a.blp");
       },
       {{"a.b2nd", K::array}, {"a.blp", K::array}},
       {"a", "a.npy"}},
      {"three collide",
       [](const Maker& m) {
         m.flat("a.b2");
         m.flat("a.b2f");
         m.sparse("a.b2frame");
       },
       {{"a.b2", K::flat}, {"a.b2f", K::flat}, {"a.b2frame", K::flat}},
       {"a"}},
      {"a fallback that collides",
       [](const Maker& m) {
         m.flat("a.b2");
         m.flat("a.blp");
         m.flat("a.b2.blp");
       },
       {{"a.b2", K::flat}, {"a.blp", K::flat}, {"a.b2.blp", K::flat}},
       {"a"}},
      {"chain of fallbacks",
       [](const Maker& m) {
         m.directory("a");
         m.flat("a.b2");
         m.flat("a.b2.b2");
         m.flat("a.b2.b2.b2");
       },
       {{"a", K::directory}, {"a.b2", K::flat}, {"a.b2.b2", K::flat}, {"a.b2.b2.b2", K::flat}},
       {"a.b2.b2.b2.b2"}},
      {"directory collides with frame",
       [](const Maker& m) {
         m.directory("d");
         m.flat("d.b2");
       },
       {{"d", K::directory}, {"d.b2", K::flat}},
       {}},
      {"fifos",
       [](const Maker& m) {
         m.fifo("f");
         m.fifo("g.b2frame");
         m.flat("f.b2");
       },
       {{"f", K::fifo}, {"g.b2frame", K::fifo}, {"f.b2", K::flat}},
       {"g"}},
      {"symlinks keep their names",
       [](const Maker& m) {
         m.flat("a.b2");
         m.link("dangling.b2frame", "nowhere");
         m.link("to-a.b2", "a.b2");
       },
       {{"a", K::flat}, {"dangling.b2frame", K::link}, {"to-a.b2", K::link}},
       {"dangling", "to-a", "a.b2"}},
      {"symlink collides with frame",
       [](const Maker& m) {
         m.link("a", "x");
         m.flat("a.b2");
       },
       {{"a", K::link}, {"a.b2", K::flat}},
       {}},
      {"lock sidecars are hidden",
       [](const Maker& m) {
         m.flat("a.b2");
         m.plain("a.b2.b2lock");
         m.plain("lonely.b2lock");
         m.sparse("s.b2");
         m.plain("s.b2/.b2lock");
       },
       {{"a", K::flat}, {"lonely.b2lock", K::plain}, {"s", K::flat}},
       {"a.b2.b2lock", "a.b2lock", "s/.b2lock"}},
      {"lock beside a plain file is shown",
       [](const Maker& m) {
         m.plain("p");
         m.plain("p.b2lock");
       },
       {{"p", K::plain}, {"p.b2lock", K::plain}},
       {}},
      {"temporaries are hidden",
       [](const Maker& m) {
         m.plain(".bloscfs-0123456789abcdef.tmp");
         m.plain(".bloscfs-0123456789abcde.tmp");
         m.plain(".bloscfs-0123456789abcdeg.tmp");
         m.plain("bloscfs-0123456789abcdef.tmp");
       },
       {{".bloscfs-0123456789abcde.tmp", K::plain},
        {".bloscfs-0123456789abcdeg.tmp", K::plain},
        {"bloscfs-0123456789abcdef.tmp", K::plain}},
       {".bloscfs-0123456789abcdef.tmp"}},
      {"insides of an sframe are hidden",
       [](const Maker& m) { m.sparse("s"); },
       {{"s", K::flat}},
       {"s/chunks.b2frame", "s/00000000.chunk", "s.b2frame"}},
      {"sframe inside a sframe's directory is hidden",
       [](const Maker& m) {
         m.sparse("s.b2frame");
         m.sparse("s.b2frame/inner.b2frame");
       },
       {{"s", K::flat}},
       {"s.b2frame", "s/inner"}},
      {"nested directories",
       [](const Maker& m) {
         m.directory("x.b2nd");
         m.flat("x.b2nd/y.b2");
       },
       {{"x.b2nd", K::directory}},
       {"x", "x.b2nd/y.b2"}},
      {"names that are not UTF-8",
       [](const Maker& m) {
         m.flat("\xff\xfe.b2");
         m.plain("\xc3\x28");
         m.array("\x80.b2nd");
       },
       {{"\xff\xfe", K::flat}, {"\xc3\x28", K::plain}, {"\x80.npy", K::array}},
       {"\xff\xfe.b2", "\x80"}},
      {"frames that are cut short",
       [](const Maker& m) {
         auto bytes = flat_frame(kText);
         bytes.resize(bytes.size() - 10);
         write_file(m.at("short.b2frame"), bytes);
       },
       {{"short.b2frame", K::frame_bytes}},
       {"short"}},
      {"index file of a sparse frame alone",
       [](const Maker& m) {
         m.sparse("s");
         fs_std::rename(m.at("s/chunks.b2frame"), m.at("index.b2frame"));
       },
       {{"index.b2frame", K::frame_bytes}, {"s", K::directory}},
       {"index"}},
      {"long names",
       [](const Maker& m) {
         m.flat(std::string(250, 'n') + ".b2");
         m.plain(std::string(255, 'p'));
       },
       {{std::string(250, 'n'), K::flat}, {std::string(255, 'p'), K::plain}},
       {}},
      {"names with line breaks and blanks",
       [](const Maker& m) {
         m.flat("a b\n.b2");
         m.plain(" ");
       },
       {{"a b\n", K::flat}, {" ", K::plain}},
       {"a b\n.b2"}},
  };
}

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
      return kText;
    case Kind::array:
      return npy_text();
    case Kind::raw_array:
      return as_text(kElements);
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
  // Looked up before anything was listed, and again after.
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
  // The kernel may remember names for a moment.
  const auto gone_within = [&mount](const char* name) {
    for (int i = 0; i < 300; ++i) {
      if (listing(mount.path()).count(name) == 0) return true;
      usleep(10000);
    }
    return false;
  };
  for (int i = 0; i < 300 && listing(mount.path()).size() != 2; ++i) usleep(10000);
  BOOST_TEST(listing(mount.path()).count("a.b2") == 1);
  fs_std::remove(source / "a");
  BOOST_TEST(gone_within("a.b2"));
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

BOOST_AUTO_TEST_CASE(damaged_frame_is_shown_untouched_and_without_attributes,
                     *precondition(needs_fuse)) {
  const TempDir source;
  auto bytes = flat_frame(kText);
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
