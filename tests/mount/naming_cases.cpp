#include "tests/mount/naming_cases.hpp"

#include <sys/stat.h>

#include "tests/support/frame_writer.hpp"
#include "tests/support/npy.hpp"

namespace bloscfs::test {

namespace {

const std::vector<std::int64_t> kShape{3, 5};
const ByteVector kElements(60, 7);

}  // namespace

std::string flat_text() { return "the same text in every flat file of this test\n"; }
std::string element_text() { return {kElements.begin(), kElements.end()}; }
std::string npy_text() { return npy_header("<i4", kShape) + element_text(); }

Maker::Maker(fs_std::path directory) : directory_(std::move(directory)) {
  fs_std::create_directories(directory_);
}

void Maker::flat(const std::string& name) const { write_file(at(name), flat_frame(flat_text())); }

void Maker::array(const std::string& name) const {
  write_file(at(name), array_frame(kElements, kShape, "<i4", 4));
}

void Maker::sparse(const std::string& name) const {
  write_sparse_frame(at(name), bytes_of(flat_text()));
}

void Maker::sparse_array(const std::string& name) const {
  write_sparse_frame(at(name), kElements, array_cut(kShape, "<i4", 4));
}

void Maker::bloscpack(const std::string& name) const {
  write_file(at(name), bloscpack_file(bytes_of(flat_text()), 20));
}

void Maker::bloscpack_array(const std::string& name) const {
  const std::string metadata = R"({"dtype":"'<i4'","shape":[3,5],"order":"C","container":"numpy"})";
  write_file(at(name), bloscpack_file(kElements, kElements.size(), metadata));
}

void Maker::plain(const std::string& name) const { write_file(at(name), "plain " + name); }

void Maker::directory(const std::string& name) const { fs_std::create_directory(at(name)); }

void Maker::fifo(const std::string& name) const {
  if (mkfifo(at(name).c_str(), 0600) != 0) throw_errno("mkfifo " + name);
}

void Maker::link(const std::string& name, const std::string& target) const {
  fs_std::create_symlink(target, at(name));
}

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
         auto bytes = flat_frame(flat_text());
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

}  // namespace bloscfs::test
