// The built b2frame on stores of python-blosc2: keys, leaves, tables, packing and unpacking.

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "tests/support/digest.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/sanitizers.hpp"
#include "tests/tools/program.hpp"

namespace {

using namespace bloscfs::test;
using nlohmann::json;

const fs_std::path kStores = BLOSCFS_TEST_SOURCE_ROOT "/tests/data/stores";

std::vector<json> stores_of_kind(const std::string& kind) {
  std::ifstream file(kStores / "manifest.json");
  std::vector<json> found;
  for (const json& entry : json::parse(file))
    if (entry.at("kind") == kind) found.push_back(entry);
  return found;
}

std::string store(const json& entry) { return (kStores / entry.at("path")).string(); }

/// Returns the argument for listing a store's keys. A directory needs ":/", and a file only its
/// name.
std::string root_of(const std::string& path) {
  return fs_std::is_directory(path) ? path + ":/" : path;
}

std::string sum_of_text(const std::string& text) {
  return sha256({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

std::string recorded_sum(const json& member) {
  return member.value("raw_sha256", member.value("sha256", ""));
}

/// Returns the files below a directory, and their contents.
std::map<std::string, ByteVector> files_below(const fs_std::path& directory) {
  std::map<std::string, ByteVector> files;
  for (const auto& entry : fs_std::recursive_directory_iterator(directory))
    if (entry.is_regular_file())
      files[fs_std::relative(entry.path(), directory).string()] = read_file(entry.path());
  return files;
}

std::size_t count_files(const fs_std::path& directory) {
  return static_cast<std::size_t>(
      std::distance(fs_std::directory_iterator(directory), fs_std::directory_iterator()));
}

ProcessResult unpack(const fs_std::path& from, const fs_std::path& to) {
  return b2frame({"unpack", from.string(), "-o", to.string()});
}

ProcessResult pack(const fs_std::path& from, const fs_std::path& to) {
  return b2frame({"pack", from.string(), "-o", to.string()});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stores)

BOOST_AUTO_TEST_CASE(ls_shows_the_keys) {
  for (const json& entry : stores_of_kind("store")) {
    std::set<std::string> keys;
    for (const auto& [key, member] : entry.at("members").items())
      if (!key.ends_with("/__vlmeta__")) keys.insert(key);
    const std::string root = root_of(store(entry));
    const ProcessResult result = b2frame({"ls", "--json", root});
    BOOST_TEST_REQUIRE(result.ok(), result.description());
    std::set<std::string> found;
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);)
      if (const std::string file = json::parse(line).at("file"); file != root)
        found.insert(file.substr(file.rfind(":/") + 1));
    BOOST_TEST(found == keys, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(ls_tells_of_tables) {
  const std::string path = (kStores / "ctz1.b2z").string();
  for (const std::string& listed : {path, path + ":/"}) {
    const ProcessResult result = b2frame({"ls", "--json", listed});
    BOOST_TEST_REQUIRE(result.ok(), result.description());
    const json first = json::parse(result.out.substr(0, result.out.find('\n')));
    BOOST_TEST(first.at("file") == path);
    BOOST_TEST(first.at("kind") == "ctable");
  }
  const TempDir dir;
  fs_std::copy(kStores / "dict0.b2d", dir / "s.b2d", fs_std::copy_options::recursive);
  fs_std::copy(kStores / "ct1.b2d", dir / "s.b2d/t", fs_std::copy_options::recursive);
  fs_std::remove(dir / "s.b2d/t/embed.b2e");
  const std::string table = (dir / "s.b2d").string() + ":/t";
  const std::string text = b2frame({"ls", (dir / "s.b2d").string()}).out;
  BOOST_TEST(text.find("  ctable  ") != std::string::npos, text);
  BOOST_TEST(text.find("  " + table + " -> t\n") != std::string::npos, text);
  BOOST_TEST(b2frame({"ls", table + "/_cols"}).out.find("ctable") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(extract_gives_the_contents_of_each_leaf) {
  for (const json& entry : stores_of_kind("store"))
    for (const auto& [key, member] : entry.at("members").items())
      BOOST_TEST(sum_of_text(extracted(store(entry) + ":" + key)) == recorded_sum(member),
                 store(entry) << ":" << key);
}

BOOST_AUTO_TEST_CASE(a_store_that_is_a_frame_may_have_any_name) {
  const fs_std::path b2e = kStores / "embed0.b2e";
  const std::string key = ":/deep2/leaf4";
  const std::string leaf = extracted(b2e.string() + key);
  const std::string told = b2frame({"info", "--json", b2e.string() + ":/"}).out;
  for (const char* name : {"s.b2e", "s.b2frame", "s.cframe", "s.b2nd", "s.b2z", "s.dat", "s"}) {
    const TempDir dir;
    const fs_std::path file = dir / name;
    fs_std::copy(b2e, file);
    BOOST_TEST_CONTEXT(name) {
      for (const std::string& listed : {file.string(), file.string() + ":/"}) {
        const ProcessResult result = b2frame({"ls", listed});
        BOOST_TEST_REQUIRE(result.ok(), result.description());
        BOOST_TEST(result.out.find(file.string() + key + " -> leaf4.npy\n") != std::string::npos,
                   result.out);
        BOOST_TEST(std::count(result.out.begin(), result.out.end(), '\n') == 12);
      }
      const ProcessResult above = b2frame({"ls", dir.path().string()});
      const std::string stem = std::string(name) == "s.dat" ? name : "s";
      BOOST_TEST(above.out.find(stem + "/\n") != std::string::npos, above.out);
      BOOST_TEST(extracted(file.string() + key) == leaf);
      BOOST_TEST(b2frame({"cat", "--raw", file.string() + key}).out ==
                 b2frame({"cat", "--raw", b2e.string() + key}).out);
      BOOST_TEST(b2frame({"head", file.string() + key}).out ==
                 b2frame({"head", b2e.string() + key}).out);
      json info = json::parse(b2frame({"info", "--json", file.string() + ":/"}).out);
      json expected = json::parse(told);
      for (json* one : {&info, &expected}) one->erase("file");
      BOOST_TEST(info == expected);
      BOOST_TEST(info_of(file).at("nbytes") == info_of(b2e).at("nbytes"));
      const ProcessResult verified = b2frame({"verify", "--json", file.string()});
      BOOST_TEST(verified.ok(), verified.description());
      BOOST_TEST(verified.out.find(key) != std::string::npos, verified.out);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_frame_that_is_no_store_has_no_keys) {
  const TempDir dir;
  write_file(dir / "s.b2frame", flat_frame("contents"));
  for (const char* command : {"ls", "cat", "info", "verify"}) {
    const ProcessResult result = b2frame({command, (dir / "s.b2frame").string() + ":/x"});
    BOOST_TEST(result.status == 1, result.description());
    const std::string told = result.out + result.err;
    BOOST_TEST(told.find("not a store of python-blosc2") != std::string::npos, told);
  }
}

BOOST_AUTO_TEST_CASE(caches_of_remote_stores_are_refused_by_name) {
  const TempDir scratch;
  Cut cut;
  for (const char* marker : {"b2tree", "b2remote_store"})
    cut.metalayers.push_back({marker, json::to_msgpack({{"version", 1}})});
  fs_std::create_directory(scratch / "r.b2d");
  write_file(scratch / "r.b2d/embed.b2e", flat_frame("", cut));
  const ProcessResult result = b2frame({"info", (scratch / "r.b2d").string()});
  BOOST_TEST(result.status == 1, result.description());
  BOOST_TEST(result.err.find("a cache of a remote store") != std::string::npos, result.err);
}

BOOST_AUTO_TEST_CASE(info_tells_of_stores_and_of_leaves) {
  const json tree = info_of(kStores / "tree0.b2z");
  BOOST_TEST(tree.at("kind") == "b2tree");
  BOOST_TEST(tree.at("external") == 4);
  BOOST_TEST(tree.at("attributes").at("title") == "demo 11");
  const json mixed = info_of(kStores / "dict.b2z");
  BOOST_TEST(mixed.at("external") == 3);
  BOOST_TEST(mixed.at("embedded") == 2);
  BOOST_TEST(info_of(kStores / "ct1.b2d").at("object") == "ctable");
  BOOST_TEST(info_of((kStores / "tree0.b2z").string() + ":/temp0/leaf1").at("shape") ==
             json({3, 4, 5}));
}

BOOST_AUTO_TEST_CASE(verify_finds_nothing_in_sound_stores) {
  for (const char* kind : {"store", "ctable"})
    for (const json& entry : stores_of_kind(kind)) {
      const ProcessResult result = b2frame({"verify", store(entry)});
      BOOST_TEST(result.ok(), result.description());
      BOOST_TEST(result.err.empty());
    }
}

BOOST_AUTO_TEST_CASE(verify_names_the_damaged_leaf_alone) {
  const TempDir dir;
  ByteVector bytes = read_file(kStores / "dict2.b2z");
  // Damages the chunk of the first member, whose frame begins at offset 44.
  std::fill_n(bytes.begin() + 44 + 195, 40, std::uint8_t{0xff});
  write_file(dir / "s.b2z", bytes);
  const std::string path = dir / "s.b2z";
  const ProcessResult result = b2frame({"verify", path});
  BOOST_TEST(result.status == 1);
  BOOST_TEST(result.err.find(path + ":/x11/leaf1: ") != std::string::npos, result.err);
  BOOST_TEST(result.err.find(path + ": member x11/leaf1.b2nd: its CRC-32 is not that") !=
                 std::string::npos,
             result.err);
  BOOST_TEST(std::count(result.err.begin(), result.err.end(), '\n') == 2, result.err);
}

BOOST_AUTO_TEST_CASE(tables_become_csv_and_npy) {
  const TempDir dir;
  for (const json& entry : stores_of_kind("ctable")) {
    for (const char* name : {"t.csv", "t.npy"}) {
      const ProcessResult result =
          b2frame({"extract", store(entry) + ":/", "-o", (dir / name).string()});
      BOOST_TEST_REQUIRE(result.ok(), result.description());
    }
    BOOST_TEST(sha256(read_file(dir / "t.csv")) == entry.at("csv_sha256").get<std::string>());
    // 8 + 8 + 40 bytes for each row.
    const auto rows = entry.at("rows").get<std::size_t>();
    BOOST_TEST(read_file(dir / "t.npy").size() == 128 + rows * 56);
  }
}

BOOST_AUTO_TEST_CASE(items_of_tables_are_written_as_they_read_back) {
  const TempDir dir;
  fs_std::create_directory(dir / "t.b2d");
  fs_std::copy(kStores / "dict0.b2d/embed.b2e", dir / "t.b2d");
  fs_std::copy(kStores / "ct1.b2d/_meta.b2f", dir / "t.b2d");
  fs_std::create_directory(dir / "t.b2d/_cols");
  const auto make = [&](const std::string& leaf, const std::string& descr,
                        const std::string& items) {
    write_file(dir / "c.npy", npy_header(descr, {3}) + items);
    const ProcessResult made =
        b2frame({"create", dir / "c.npy", "-o", (dir / "t.b2d").string() + "/" + leaf + ".b2nd"});
    BOOST_TEST_REQUIRE(made.ok(), made.description());
  };
  const auto text = [](std::u32string characters) {
    characters.resize(4);
    return std::string(reinterpret_cast<const char*>(characters.data()), 16);
  };
  make("_valid_rows", "|b1", {1, 0, 1});
  make("_cols/a,b", "|i1", {-128, 5, 127});
  make("_cols/big", ">f4", {0x3f, -0x80, 0, 0, 0, 0, 0, 0, 0x3d, -0x34, -0x34, -0x33});
  make("_cols/flag", "|b1", {0, 1, 1});
  make("_cols/text", "<U4", text(U"a\"b,") + text(U"lost") + text(U"\u00e9\n\U0001f600"));
  make("_cols/bytes", "|S2", std::string("x\0yyzz", 6));
  json columns = json::array();
  for (const auto& [name, kind] : std::map<std::string, std::string>{{"a,b", "int8"},
                                                                     {"big", "float32"},
                                                                     {"flag", "bool"},
                                                                     {"text", "string"},
                                                                     {"bytes", "bytes"}})
    columns.push_back({{"name", name}, {"kind", kind}});
  const json schema = {{"version", 1}, {"columns", columns}};
  BOOST_TEST_REQUIRE(
      b2frame({"set-meta", dir / "t.b2d/_meta.b2f", "schema:=" + json(schema.dump()).dump()}).ok());
  const ProcessResult result =
      b2frame({"extract", (dir / "t.b2d").string() + ":/", "-o", dir / "t.csv"});
  BOOST_TEST_REQUIRE(result.ok(), result.description());
  const ByteVector csv = read_file(dir / "t.csv");
  BOOST_TEST(std::string(csv.begin(), csv.end()) ==
             "\"a,b\",big,bytes,flag,text\n"
             "-128,1.0,b'x',False,\"a\"\"b,\"\n"
             "127,0.1,b'zz',True,\"\u00e9\n\U0001f600\"\n");
}

BOOST_AUTO_TEST_CASE(addresses_that_lead_nowhere_say_so) {
  const std::string tree = (kStores / "tree0.b2z").string();
  const auto error = [&](const std::string& file) {
    const ProcessResult result = b2frame({"extract", file, "-o", "-"});
    BOOST_TEST(result.status == 1);
    return result.err;
  };
  BOOST_TEST(error(tree + ":/nowhere") ==
             "b2frame: " + tree + ":/nowhere: the store has no key /nowhere; b2frame ls " + tree +
                 " lists the keys\n");
  BOOST_TEST(error(tree + ":/temp0/../temp0/leaf1").find("no key /temp0/../temp0/leaf1; ") !=
             std::string::npos);
  const ProcessResult listed = b2frame({"ls", tree + ":/temp0/leaf1/below"});
  BOOST_TEST(listed.err.ends_with(": the store has no key /temp0/leaf1/below; b2frame ls " + tree +
                                  " lists the keys\n"),
             listed.err);
  BOOST_TEST(b2frame({"ls", tree + ":/temp0/leaf9"}).status == 1);
  BOOST_TEST(error(tree + ":temp0/leaf1")
                 .ends_with(": No such file or directory; a key begins with a slash: " + tree +
                            ":/temp0/leaf1\n"));
  BOOST_TEST(error(tree + ":/temp0/leaf1[0").find("(did you mean the slice /temp0/leaf1[0]?)") !=
             std::string::npos);
  BOOST_TEST(
      error((kStores / "manifest.b2z:/a").string()).ends_with("No such file or directory\n"));
}

BOOST_AUTO_TEST_CASE(are_not_taken_for_leaves) {
  const TempDir dir;
  const std::string what = "; name a leaf (b2frame ls lists them), or use -r of b2frame extract\n";
  for (const char* name : {"tree0.b2z", "dict0.b2d", "tree0.b2z:/", "tree0.b2z:/temp0"}) {
    const std::string path = (kStores / name).string();
    const std::string out = (dir / "out").string();
    for (const Arguments& command : {Arguments{"head", path},
                                     {"cat", path},
                                     {"extract", path, "-o", out},
                                     {"convert", path, "-o", out},
                                     {"advise", path},
                                     {"diff", path, path}}) {
      const ProcessResult result = b2frame(command);
      BOOST_TEST(!result.ok(), result.description());
      BOOST_TEST(result.err.ends_with(what), result.err);
    }
  }
  ByteVector cut = read_file(kStores / "tree0.b2z");
  cut.resize(cut.size() / 2);
  write_file(dir / "cut.b2z", cut);
  write_file(dir / "fake.b2z", "text");
  write_file(dir / "fake.b2nd", "text");
  for (const char* command : {"cat", "head", "advise", "info"}) {
    const auto told = [&](const char* name) {
      const ProcessResult result = b2frame({command, (dir / name).string()});
      BOOST_TEST(result.status == 1, result.description());
      return result.err;
    };
    BOOST_TEST(told("cut.b2z").find("no end of a central directory") != std::string::npos);
    BOOST_TEST(told("fake.b2z").ends_with("has the suffix of a store but is not one\n"));
    BOOST_TEST(told("fake.b2nd").ends_with("; b2frame repair may save it\n"));
  }
}

BOOST_AUTO_TEST_CASE(and_their_groups_become_directories) {
  const TempDir dir;
  for (const char* name : {"tree0.b2z", "dict0.b2d", "embed0.b2e"}) {
    const std::string path = (kStores / name).string();
    const auto extract = [&](const std::string& key, const char* out) {
      const ProcessResult result = b2frame({"extract", "-r", path + key, "-o", dir / out});
      BOOST_TEST_REQUIRE(result.ok(), result.description());
      return files_below(dir / out);
    };
    const auto whole = extract("", "whole");
    BOOST_TEST(whole.size() > 2u);
    BOOST_TEST((extract(":/", "root") == whole));
    std::set<std::string> groups;
    for (const auto& [file, bytes] : whole)
      if (file.find('/') != std::string::npos) groups.insert(file.substr(0, file.find('/')));
    BOOST_TEST(!groups.empty());
    for (const std::string& group : groups) {
      std::map<std::string, ByteVector> expected;
      for (const auto& [file, bytes] : whole)
        if (file.starts_with(group + "/")) expected[file.substr(group.size() + 1)] = bytes;
      BOOST_TEST((extract(":/" + group, "group") == expected), path << ":/" << group);
      fs_std::remove_all(dir / "group");
    }
    for (const char* out : {"whole", "root"}) fs_std::remove_all(dir / out);
    const ProcessResult nowhere = b2frame({"extract", "-r", path + ":/none", "-o", dir / "none"});
    BOOST_TEST(nowhere.status == 1);
    BOOST_TEST(nowhere.err.ends_with(": the store has no key /none; b2frame ls " + path +
                                     " lists the keys\n"),
               nowhere.err);
  }
}

BOOST_AUTO_TEST_CASE(unpack_and_pack_give_the_same_files) {
  const TempDir dir;
  for (const char* kind : {"store", "ctable"})
    for (const json& entry : stores_of_kind(kind)) {
      const std::string path = store(entry);
      if (path.ends_with(".b2e")) continue;
      fs_std::path before = path;
      if (path.ends_with(".b2z")) {
        const ProcessResult result = unpack(path, before = dir / "before.b2d");
        BOOST_TEST_REQUIRE(result.ok(), result.description());
      }
      const ProcessResult packed = pack(before, dir / "packed.b2z");
      BOOST_TEST_REQUIRE(packed.ok(), packed.description());
      BOOST_TEST_REQUIRE(unpack(dir / "packed.b2z", dir / "after.b2d").ok());
      BOOST_TEST((files_below(before) == files_below(dir / "after.b2d")), path);
      fs_std::remove_all(dir / "before.b2d");
      fs_std::remove_all(dir / "after.b2d");
    }
}

BOOST_AUTO_TEST_CASE(metalayers_of_a_leaf_in_a_directory_can_be_set) {
  const TempDir dir;
  fs_std::copy(kStores / "dict0.b2d", dir / "d.b2d", fs_std::copy_options::recursive);
  const std::string leaf = (dir / "d.b2d").string() + ":/deep1/leaf2";
  BOOST_TEST(b2frame({"set-meta", leaf, "units:=7"}).ok());
  const ProcessResult result = b2frame({"info", "--json", leaf});
  BOOST_TEST(json::parse(result.out).at("vlmetalayers").contains("units"), result.description());
  fs_std::copy(kStores / "dict.b2z", dir / "d.b2z");
  const ProcessResult refused = b2frame({"set-meta", (dir / "d.b2z").string() + ":/a", "n:=1"});
  BOOST_TEST(refused.status == 1);
  BOOST_TEST(refused.err.find("is in a ZIP file; run b2frame unpack") != std::string::npos,
             refused.err);
}

BOOST_AUTO_TEST_CASE(pack_leaves_out_locks_and_unfinished_files) {
  const TempDir dir;
  fs_std::copy(kStores / "dict0.b2d", dir / "d.b2d", fs_std::copy_options::recursive);
  const auto before = files_below(dir / "d.b2d");
  for (const char* name : {"deep1/leaf2.b2nd.b2lock", "leaf9.4711.tmp", ".bloscfs-lock"})
    write_file(dir / "d.b2d" / name, "x");
  BOOST_TEST_REQUIRE(pack(dir / "d.b2d", dir / "d.b2z").ok());
  BOOST_TEST_REQUIRE(unpack(dir / "d.b2z", dir / "e.b2d").ok());
  BOOST_TEST((files_below(dir / "e.b2d") == before));
}

BOOST_AUTO_TEST_CASE(nothing_is_left_of_what_cannot_be_packed_or_unpacked) {
  const TempDir dir;
  const auto refused = [&](const ProcessResult& result, const std::string& end) {
    BOOST_TEST(result.status == 1);
    BOOST_TEST(result.err.ends_with(end), result.err);
    BOOST_TEST(count_files(dir.path()) == 0U);
  };
  const fs_std::path out = dir / "o.b2z";
  refused(pack(kStores / "damaged", out), "not a store of python-blosc2\n");
  refused(pack(kStores / "dict2.b2z", out), "Not a directory\n");
  const TempDir other;
  fs_std::copy(kStores / "dict0.b2d", other / "d.b2d", fs_std::copy_options::recursive);
  fs_std::create_symlink("embed.b2e", other / "d.b2d/deep1/x.b2nd");
  refused(pack(other / "d.b2d", out), "deep1/x.b2nd: is neither a file nor a directory\n");
  refused(unpack(kStores / "dict0.b2d", out), "is not a regular file\n");
  refused(unpack(kStores / "manifest.json", out),
          "the file is not a ZIP file, or its end was cut off; restore it from a copy\n");
  refused(unpack(kStores / "embed0.b2e", out), "no ZIP file; b2frame extract -r takes it\n");
  refused(unpack(kStores / "damaged/dotdot.b2z", out), "leads out of the store, or nowhere\n");
  refused(unpack(kStores / "damaged/dup-names.b2z", out), "another one has its name\n");
  refused(unpack(kStores / "damaged/deflated.b2z", out), "is compressed or encrypted\n");
  refused(unpack(kStores / "damaged/cd-lho.b2z", out), "30 bytes needed, its section has 5727\n");
}

BOOST_AUTO_TEST_CASE(what_unzip_takes_of_a_damaged_store_can_be_repaired_and_packed,
                     *boost::unit_test::precondition(needs_programs("unzip"))) {
  const TempDir dir;
  const fs_std::path store = dir / "s.b2d", damaged = dir / "s.b2z", taken = dir / "t.b2d";
  fs_std::copy(kStores / "dict0.b2d", store, fs_std::copy_options::recursive);
  const fs_std::path leaf = "deep1/leaf2.b2nd";
  BOOST_TEST(
      b2frame({"convert", "--checksum", "--clevel", "0", "--in-place", (store / leaf).string()})
          .ok());
  BOOST_TEST(pack(store, damaged).ok());
  const ByteVector sound = read_file(store / leaf);
  ByteVector bytes = read_file(damaged);
  const auto found = std::search(bytes.begin(), bytes.end(), sound.begin(), sound.end());
  BOOST_TEST_REQUIRE((found != bytes.end()));
  found[std::ssize(sound) / 2] ^= 1;
  write_file(damaged, bytes);
  BOOST_TEST(unpack(damaged, taken).status == 1);
  run({"unzip", "-q", damaged.string(), "-d", taken.string()});
  const fs_std::path mended = dir / "leaf2.b2nd";
  BOOST_TEST(b2frame({"repair", taken.string() + ":/deep1/leaf2", "-o", mended.string()}).status ==
             5);
  fs_std::rename(mended, taken / leaf);
  BOOST_TEST(pack(taken, dir / "mended.b2z").ok());
  const ProcessResult verified = b2frame({"verify", (dir / "mended.b2z").string()});
  BOOST_TEST(verified.ok(), verified.description());
}

BOOST_AUTO_TEST_CASE(unpack_and_verify_compare_the_sums) {
  const TempDir dir;
  ByteVector bytes = read_file(kStores / "dict2.b2z");
  bytes[300] ^= 1;
  write_file(dir / "s.b2z", bytes);
  const ProcessResult result = unpack(dir / "s.b2z", dir / "s.b2d");
  BOOST_TEST(result.status == 1);
  BOOST_TEST(result.err.ends_with("member x11/leaf1.b2nd: CRC-32 is wrong; restore the store, or "
                                  "unpack it with unzip -d DIR.b2d and repair the member\n"),
             result.err);
  const ProcessResult verified = b2frame({"verify", (dir / "s.b2z").string()});
  BOOST_TEST(verified.status == 1, verified.description());
  BOOST_TEST(verified.err.find("member x11/leaf1.b2nd: its CRC-32 is not that of the directory") !=
                 std::string::npos,
             verified.err);
  BOOST_TEST(count_files(dir.path()) == 1U);
}

BOOST_AUTO_TEST_CASE(pack_replaces_a_store_or_an_empty_file_and_unpack_no_directory) {
  const TempDir dir;
  write_file(dir / "o.b2z", "");
  BOOST_TEST(pack(kStores / "dict0.b2d", dir / "o.b2z").ok());
  fs_std::copy(kStores / "tree0.b2z", dir / "o.b2z", fs_std::copy_options::overwrite_existing);
  fs_std::permissions(dir / "o.b2z", fs_std::perms::owner_read | fs_std::perms::owner_write);
  BOOST_TEST(pack(kStores / "dict0.b2d", dir / "o.b2z").ok());
  BOOST_TEST(b2frame({"verify", dir / "o.b2z"}).ok());
  struct stat st {};
  BOOST_TEST_REQUIRE(::stat((dir / "o.b2z").c_str(), &st) == 0);
  BOOST_TEST((st.st_mode & 0777) == 0600);
  fs_std::create_directory(dir / "o.b2d");
  BOOST_TEST(unpack(dir / "o.b2z", dir / "o.b2d").err.find(": exists, and is not replaced") !=
             std::string::npos);
  fs_std::create_directory(dir / "d.b2z");
  BOOST_TEST(pack(kStores / "dict0.b2d", dir / "d.b2z").err.ends_with("is not a regular file\n"));
  BOOST_TEST(count_files(dir.path()) == 3U);
}

BOOST_AUTO_TEST_CASE(pack_does_not_replace_other_files) {
  const TempDir dir;
  write_file(dir / "text.b2z", "text");
  write_file(dir / "frame.b2frame", flat_frame("contents"));
  fs_std::copy(kStores / "embed0.b2e", dir / "embedded.b2e");
  fs_std::copy(kStores / "embed0.b2e", dir / "embedded.b2z");
  const auto files = files_below(dir.path());
  for (const char* name : {"text.b2z", "embedded.b2z"}) {
    const ProcessResult result = pack(kStores / "dict0.b2d", dir / name);
    BOOST_TEST(result.status == 1, result.description());
    BOOST_TEST(result.err.ends_with(std::string(name) +
                                    ": exists, and is not a .b2z store: remove it first, or choose "
                                    "another name for OUT\n"),
               result.err);
  }
  for (const char* name : {"frame.b2frame", "embedded.b2e", "new", "new.zip", "new.B2Z"}) {
    const ProcessResult result = pack(kStores / "dict0.b2d", dir / name);
    BOOST_TEST(result.status == 2, result.description());
    BOOST_TEST(result.err.find(": OUT needs a name that ends in .b2z;") != std::string::npos,
               result.err);
  }
  BOOST_TEST((files_below(dir.path()) == files));
}

// A separate reader in Python checks packed random stores (tests/tools/random_stores.py).
BOOST_AUTO_TEST_CASE(random_stores_are_packed_as_python_reads_them) {
  const char* seed = std::getenv("BLOSCFS_SEED");
  const char* count = std::getenv("BLOSCFS_STORES");
  ProcessSettings settings;
  settings.limit = Seconds{600};
  const ProcessResult result =
      run({"python3", BLOSCFS_TEST_SOURCE_ROOT "/tests/tools/random_stores.py", B2FRAME,
           count != nullptr ? count
           : kSanitized     ? "4"
                            : "20",
           seed != nullptr ? seed : "1"},
          settings);
  BOOST_TEST(result.ok(), result.description() << result.out);
}

BOOST_AUTO_TEST_CASE(no_output_replaces_the_store_that_it_is_read_from) {
  const TempDir dir;
  const std::string store = dir / "t.b2z";
  fs_std::copy_file(BLOSCFS_TEST_SOURCE_ROOT "/tests/data/tables/utf8.b2z", store);
  const ByteVector before = read_file(store);
  for (const Arguments& command : {Arguments{"extract", store + ":/_cols/id"},
                                   {"extract", "--json", store + ":/"},
                                   {"extract", store + ":/_cols/id[:2]"},
                                   {"convert", store + ":/_cols/id"},
                                   {"report", store + ":/"}}) {
    const ProcessResult refused = b2frame(command + Arguments{"-o", store});
    BOOST_TEST(refused.status == 2, refused.description());
    BOOST_CHECK(read_file(store) == before);
  }
}

BOOST_AUTO_TEST_CASE(repair_and_convert_in_place_name_the_way_to_change_a_leaf) {
  const TempDir dir;
  const std::string zip = (dir / "s.b2z").string(), directory = (dir / "s.b2d").string();
  const std::string out = (dir / "out.b2nd").string(), leaf = ":/deep1/leaf2";
  fs_std::copy(kStores / "dict0.b2d", directory, fs_std::copy_options::recursive);
  BOOST_TEST_REQUIRE(pack(directory, zip).ok());
  const auto refuses = [&](const Arguments& arguments, const std::string& reason) {
    const ProcessResult result = b2frame(arguments);
    BOOST_TEST(result.status == 1, result.description());
    BOOST_TEST(result.err.find(reason) != std::string::npos, result.err);
    BOOST_TEST(!fs_std::exists(out));
  };
  for (const std::string& name : {zip, zip + leaf}) {
    const std::string way = name + ": is in a ZIP file; run b2frame unpack";
    refuses({"repair", name, "-o", out}, way);
    refuses({"verify", "--repairable", name}, way);
    refuses({"convert", "--checksum", "--in-place", name}, way);
  }
  const std::string way = ": is a store; name one of its leaves, " + directory + ":/KEY";
  refuses({"repair", directory, "-o", out}, way);
  refuses({"convert", "--checksum", "--in-place", directory}, way);
  refuses({"repair", directory + ":/deep1", "-o", out}, "is a group of a store");
  for (const Arguments& works : {Arguments{"verify", "--repairable", directory + leaf},
                                 Arguments{"repair", directory + leaf, "-o", out},
                                 Arguments{"convert", "--checksum", "--in-place", directory + leaf},
                                 Arguments{"diff", out, directory + leaf}}) {
    const ProcessResult result = b2frame(works);
    BOOST_TEST(result.ok(), result.description());
  }
  const json verified = json::parse(b2frame({"verify", "--json", directory + leaf}).out);
  BOOST_TEST(verified.at("checksums") == true);
  const std::string report = b2frame({"verify", "-r", zip}).out;
  BOOST_TEST(report.ends_with(" (b2frame unpack a .b2z store before, and b2frame pack it again)\n"),
             report);
}

BOOST_AUTO_TEST_CASE(damage_of_a_leaf_of_a_zip_file_names_the_cure) {
  const TempDir dir;
  const fs_std::path directory = dir / "s.b2d", leaf = directory / "deep1/leaf2.b2nd";
  fs_std::copy(kStores / "dict0.b2d", directory, fs_std::copy_options::recursive);
  const ProcessResult made =
      b2frame({"convert", "--checksum", "--clevel", "0", "--in-place", leaf.string()});
  BOOST_TEST_REQUIRE(made.ok(), made.description());
  ByteVector bytes = read_file(leaf);
  bytes[bytes.size() / 2] ^= 1;
  write_file(leaf, bytes);
  const fs_std::path zip = dir / "s.b2z";
  BOOST_TEST_REQUIRE(pack(directory, zip).ok());
  const std::string cure =
      "; restore the store, or unpack it with unzip -d DIR.b2d and repair the file of the leaf\n";
  for (const Arguments& reading :
       {Arguments{"verify", zip.string()}, Arguments{"verify", zip.string() + ":/deep1/leaf2"},
        Arguments{"cat", zip.string() + ":/deep1/leaf2"},
        Arguments{"extract", "-r", zip.string(), "-o", (dir / "out").string()}}) {
    const ProcessResult result = b2frame(reading);
    BOOST_TEST(result.status == 1);
    BOOST_TEST(result.err.find(": checksum ") != std::string::npos, result.err);
    BOOST_TEST(result.err.ends_with(cure), result.err);
  }
  BOOST_TEST(fs_std::exists(dir / "out/g0/g2/leaf0.npy"));
}

BOOST_AUTO_TEST_SUITE_END()
