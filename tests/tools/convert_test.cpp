// Tests `convert`, which stores the same contents and metalayers in another way.

#include <algorithm>
#include <csignal>
#include <set>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/xattr.hpp"
#include "tests/tools/program.hpp"

namespace {

using namespace bloscfs::test;
using nlohmann::json;

struct Originals {
  Originals() {
    const std::vector<std::int64_t> shape{37, 29, 11};
    const ByteVector items = make_contents("ramp", 1, 37 * 29 * 11 * 4, 4);
    write_file(home / "a.npy", npy_header("<i4", shape) + std::string(items.begin(), items.end()));
    write_file(home / "m.json", std::string_view("{\"a\": 1}"));
    make({"create", "--chunk-shape", "10,29,4", "--block-shape", "3,8,4", "--meta",
          "m=" + at("m.json"), "--vlmeta", "v=" + at("m.json"), at("a.npy"), "-o", array()});
    Cut cut;
    cut.typesize = 8;
    cut.vlmetalayers = {{"note", bytes_of("\xa2ok")}};
    write_file(home / "f.b2frame", flat_frame(make_contents("islands", 2, 700003, 8), cut));
  }
  static void make(const Arguments& arguments) {
    const ProcessResult result = b2frame(arguments);
    BOOST_TEST(result.ok(), result.description());
  }
  std::string at(const std::string& name) const { return (home / name).string(); }
  std::string array() const { return at("a.b2nd"); }
  std::string flat() const { return at("f.b2frame"); }

  TempDir home;
};

void check_same(const std::string& a, const std::string& b) {
  const ProcessResult result = b2frame({"diff", a, b});
  BOOST_TEST(result.ok(), result.out + result.description());
  BOOST_TEST(info_of(a).at("vlmetalayers") == info_of(b).at("vlmetalayers"));
  json metalayers = info_of(a).at("metalayers"), others = info_of(b).at("metalayers");
  metalayers.erase("b2nd");
  others.erase("b2nd");
  BOOST_TEST(metalayers == others);
  BOOST_TEST(b2frame({"verify", b}).ok());
}

std::string names_in(const fs_std::path& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs_std::directory_iterator(directory))
    names.insert(entry.path().filename().string());
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  return text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(b2frame_convert)

BOOST_AUTO_TEST_CASE(keeps_contents_and_metalayers_whatever_is_changed) {
  const Originals files;
  const auto convert = [&](const std::string& file, const Arguments& options) {
    const std::string out = files.at("out");
    fs_std::remove_all(out);
    files.make(Arguments{"convert"} + options + Arguments{file, "-o", out});
    check_same(file, out);
    return info_of(out);
  };
  const json recoded = convert(files.array(), {"--codec", "lz4", "--clevel", "7"});
  BOOST_TEST(recoded.at("codec") == "lz4");
  BOOST_TEST(recoded.at("clevel") == 7);
  BOOST_TEST(recoded.at("chunkshape") == (json{10, 29, 4}));
  BOOST_TEST(recoded.at("blockshape") == (json{3, 8, 4}));
  for (const char* shape : {"5,7,3", "37,1,1", "1,1,11", "40,40,40", "2,29,11"})
    BOOST_TEST(convert(files.array(), {"--chunk-shape", shape}).at("codec") == "zstd");
  BOOST_TEST(convert(files.array(), {"--block-shape", "10,29,1"}).at("chunkshape") ==
             (json{10, 29, 4}));
  BOOST_TEST(convert(files.array(), {"--filters", "bitshuffle"}).at("filters") ==
             json{"bitshuffle"});
  BOOST_TEST(convert(files.array(), {"--sparse"}).at("kind") == "sframe");
  const json flat = convert(files.flat(), {"--chunk-size", "100000", "--sparse"});
  BOOST_TEST(flat.at("chunksize") == 100000);
  BOOST_TEST(flat.at("typesize") == 8);
  const ProcessResult typed =
      b2frame({"convert", "--typesize", "4", files.flat(), "-o", files.at("t")});
  BOOST_TEST(typed.ok(), typed.description());
  BOOST_TEST((extracted(files.at("t")) == extracted(files.flat())));
  BOOST_TEST(info_of(files.at("t")).at("typesize") == 4);
}

BOOST_AUTO_TEST_CASE(copies_chunks_where_only_the_container_changes) {
  const Originals files;
  files.make({"convert", "--sparse", files.array(), "-o", files.at("s.b2nd")});
  files.make({"convert", "--contiguous", files.at("s.b2nd"), "-o", files.at("c.b2nd")});
  BOOST_TEST(b2frame({"diff", "--meta", files.array(), files.at("c.b2nd")}).ok());
  // Chunks that cannot be decoded are copied too.
  ByteVector damaged = flat_frame(make_contents("text", 1, 200000, 1));
  for (std::size_t at = 500; at < 900; at++) damaged[at] = 0xa5;
  write_file(files.home / "d.b2frame", damaged);
  files.make({"convert", "--sparse", files.at("d.b2frame"), "-o", files.at("d")});
  BOOST_TEST(b2frame({"diff", files.at("d.b2frame"), files.at("d")}).ok());
  BOOST_TEST(
      b2frame({"convert", "--codec", "lz4", files.at("d.b2frame"), "-o", files.at("e")}).status ==
      1);
  BOOST_TEST(!fs_std::exists(files.home / "e"));
}

// What changed on a disk can still decode. Copies must not get a checksum that makes it look sound.
BOOST_AUTO_TEST_CASE(wrong_checksums_are_not_replaced) {
  const TempDir home;
  const auto at = [&](const char* name) { return (home / name).string(); };
  const ByteVector contents = make_contents("noise", 1, 200'000, 1);
  write_file(home / "in", contents);
  Originals::make({"create", "--checksum", "--chunk-size", "64K", at("in"), "-o", at("f.b2frame")});
  ByteVector stored = read_file(home / "f.b2frame");
  // Noise is stored as it is.
  const auto found = std::search(stored.begin(), stored.end(), contents.begin() + 70'000,
                                 contents.begin() + 70'064);
  BOOST_REQUIRE(found != stored.end());
  *found ^= 1;
  write_file(home / "f.b2frame", stored);
  const std::string frame = at("f.b2frame"), out = at("out");
  for (const Arguments& command :
       {Arguments{"convert", "--codec", "lz4", frame, "-o", out},
        Arguments{"convert", "--sparse", frame, "-o", out},
        Arguments{"convert", "--in-place", "--codec", "lz4", frame}, Arguments{"cat", frame},
        Arguments{"extract", frame, "-o", out}, Arguments{"info", "--stats", frame}}) {
    const ProcessResult result = b2frame(command);
    BOOST_TEST(result.status == 1, result.description());
    BOOST_TEST(result.err.find("chunk 1: checksum ") != std::string::npos, result.err);
    BOOST_TEST(result.err.find("b2frame repair") != std::string::npos, result.err);
    BOOST_TEST(!fs_std::exists(out));
    BOOST_TEST((read_file(home / "f.b2frame") == stored));
  }
  BOOST_TEST(b2frame({"diff", frame, at("in")}).status == 2);
  BOOST_TEST(b2frame({"info", frame}).ok());
  // repair saves the chunk, says that it is doubtful, and gives it no checksum.
  const ProcessResult repaired = b2frame({"repair", frame, "-o", at("r.b2frame")});
  BOOST_TEST(repaired.out.find("doubtful") != std::string::npos, repaired.description());
  Originals::make({"convert", "--codec", "lz4", at("r.b2frame"), "-o", at("c.b2frame")});
  ByteVector changed = contents;
  changed[70'000] ^= 1;
  BOOST_TEST((bytes_of(extracted(at("c.b2frame"))) == changed));
}

BOOST_AUTO_TEST_CASE(in_place_keeps_what_belongs_to_the_file) {
  const Originals files;
  fs_std::copy_file(files.array(), files.home / "copy");
  fs_std::create_directory_symlink("a.b2nd", files.home / "link");
  BOOST_TEST(::chmod(files.array().c_str(), 0640) == 0);
  BOOST_TEST(errno_of_set_xattr(files.array(), "user.note", "kept") == 0);
  const timespec times[2] = {{1000000000, 0}, {1000000000, 5}};
  BOOST_TEST(::utimensat(AT_FDCWD, files.array().c_str(), times, 0) == 0);
  for (const char* container : {"--sparse", "--contiguous"}) {
    files.make({"convert", "--in-place", container, "--clevel", "1", files.at("link")});
    check_same(files.at("copy"), files.array());
    BOOST_TEST(fs_std::is_symlink(files.home / "link"));
    const bool is_sparse = fs_std::is_directory(files.array());
    BOOST_TEST(is_sparse == (container == std::string("--sparse")));
    const std::string file = files.array() + (is_sparse ? "/chunks.b2frame" : "");
    struct stat st {};
    BOOST_TEST(::stat(file.c_str(), &st) == 0);
    BOOST_TEST((st.st_mode & 07777) == 0640u);
    BOOST_TEST(st.st_mtim.tv_sec == 1000000000);
    BOOST_TEST(get_xattr(file, "user.note").value_or("") == "kept");
  }
  fs_std::create_hard_link(files.flat(), files.home / "other");
  const ProcessResult linked = b2frame({"convert", "--in-place", files.flat()});
  BOOST_TEST(linked.status == 1);
  BOOST_TEST(linked.err.find("hard links") != std::string::npos, linked.err);
}

BOOST_AUTO_TEST_CASE(takes_several_files_and_goes_on_behind_a_bad_one) {
  const Originals files;
  write_file(files.home / "old.blp", bloscpack_file(make_contents("text", 1, 9000, 1), 1000));
  write_file(files.home / "plain", std::string_view("no frame"));
  const std::string into = files.at("into");
  const ProcessResult result = b2frame(
      {"convert", "-d", into, files.array(), files.at("plain"), files.at("old.blp"), files.flat()});
  BOOST_TEST(result.status == 1);
  BOOST_TEST(is_message_about(result.err, files.at("plain")), result.err);
  BOOST_TEST(names_in(into) == "a.b2nd\nf.b2frame\nold.b2frame\n");
  check_same(files.array(), into + "/a.b2nd");
  BOOST_TEST(b2frame({"diff", files.at("old.blp"), into + "/old.b2frame"}).ok());
  fs_std::create_directory(files.home / "x");
  fs_std::copy_file(files.array(), files.home / "x/a.b2nd");
  const ProcessResult twice = b2frame({"convert", "-d", into, files.array(), files.at("x/a.b2nd")});
  BOOST_TEST(twice.status == 2);
  BOOST_TEST(twice.err.find("another file becomes") != std::string::npos, twice.err);
}

/// The frame's own filters do not count for a codec that takes none.
BOOST_AUTO_TEST_CASE(leaves_out_the_filters_for_a_codec_that_takes_none) {
  const Originals files;
  const ByteVector items = make_contents("floats", 1, 16 * 16 * 8, 8);
  write_file(files.home / "z.npy",
             npy_header("<f8", {16, 16}) + std::string(items.begin(), items.end()));
  files.make({"create", files.at("z.npy"), "-o", files.at("z.b2nd")});
  files.make({"convert", "--codec", "zfp_accuracy:-3", files.at("z.b2nd"), "-o", files.at("y")});
  BOOST_TEST(info_of(files.at("y")).at("codec").get<std::string>().starts_with("zfp_accuracy"));
  const ProcessResult given = b2frame({"convert", "--codec", "zfp_accuracy:-3", "--filters",
                                       "shuffle", files.at("z.b2nd"), "-o", files.at("x")});
  BOOST_TEST(given.err.find("takes no filters") != std::string::npos, given.err);
}

BOOST_AUTO_TEST_CASE(refuses_what_would_lose_something) {
  const Originals files;
  files.make({"create", "--codec", "zfp_accuracy:-2", "--chunk-shape", "8,8", "--block-shape",
              "8,8",
              [&] {
                const ByteVector items = make_contents("floats", 1, 16 * 16 * 8, 8);
                write_file(files.home / "z.npy",
                           npy_header("<f8", {16, 16}) + std::string(items.begin(), items.end()));
                return files.at("z.npy");
              }(),
              "-o", files.at("z.b2nd")});
  BOOST_TEST(b2frame({"convert", "--chunk-shape", "16,16", files.at("z.b2nd"), "-o", files.at("y")})
                 .status == 2);
  files.make({"convert", "--codec", "zstd", files.at("z.b2nd"), "-o", files.at("y")});
  BOOST_TEST(b2frame({"diff", files.at("z.b2nd"), files.at("y")}).ok());
  for (const Arguments& nonsense :
       {Arguments{"--in-place", "-o", files.at("y"), files.array()}, Arguments{files.array()},
        Arguments{"-o", files.array(), files.array()},
        Arguments{"-o", files.at("y"), files.array(), files.flat()},
        Arguments{"--typesize", "2", "-o", files.at("y"), files.array()},
        Arguments{"--sparse", "--contiguous", "--in-place", files.array()}})
    BOOST_TEST(b2frame(Arguments{"convert"} + nonsense).status == 2);
}

BOOST_AUTO_TEST_CASE(an_interrupted_one_leaves_the_old_frame_and_nothing_else) {
  const Originals files;
  write_file(files.home / "big", make_contents("text", 3, 64 << 20, 1));
  files.make({"create", "--codec", "lz4", files.at("big"), "-o", files.at("big.b2frame")});
  const std::string names = names_in(files.home.path());
  const ByteVector before = read_file(files.home / "big.b2frame");
  Child child({B2FRAME, "convert", "--codec", "zstd", "--clevel", "9", "--in-place",
               files.at("big.b2frame")},
              files.at("log"));
  const auto has_temporary = [&] {
    return names_in(files.home.path()).find(".bloscfs-") != std::string::npos;
  };
  comes_true([&] { return !child.running() || has_temporary(); });
  child.signal(SIGTERM);
  BOOST_TEST(child.wait(Seconds{60}));
  BOOST_TEST(child.result().signal == SIGTERM);
  fs_std::remove(files.home / "log");
  BOOST_TEST(names_in(files.home.path()) == names);
  BOOST_TEST((read_file(files.home / "big.b2frame") == before));
}

BOOST_AUTO_TEST_SUITE_END()
