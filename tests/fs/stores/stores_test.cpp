// Stores of python-blosc2 in a mount, shown as directories. The store is a file in SOURCE, or is
// SOURCE itself.

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "frame/pystore/zip_format.hpp"
#include "tests/fs/mount/in_process.hpp"
#include "tests/support/digest.hpp"
#include "tests/support/frame_writer.hpp"

namespace bloscfs::test {
namespace {

const fs_std::path kStores = fs_std::path(BLOSCFS_SOURCE_ROOT) / "tests/data/stores";

std::string shown(const std::string& name) { return name.substr(0, name.size() - 4); }

nlohmann::json stores() {
  nlohmann::json found = nlohmann::json::array();
  for (const auto& entry : nlohmann::json::parse(std::ifstream(kStores / "manifest.json")))
    if (entry["kind"] == "store") found.push_back(entry);
  return found;
}

/// Copies of the named stores in a directory.
struct Source {
  explicit Source(const std::vector<std::string>& names) {
    for (const std::string& name : names)
      fs_std::copy(kStores / name, directory.path() / fs_std::path(name).filename(),
                   fs_std::copy_options::recursive);
  }
  const TempDir directory;
};

/// Returns the paths below `path` that are not directories.
Names leaves(InProcess& mount, const std::string& path) {
  Names found;
  for (const std::string& name : mount.names(path)) {
    const std::string inside = path.empty() ? name : path + "/" + name;
    if (!S_ISDIR(mount.stat(inside).st_mode))
      found.push_back(inside);
    else
      for (std::string& leaf : leaves(mount, inside)) found.push_back(std::move(leaf));
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string digest_of_elements(const ByteVector& npy) {
  const std::size_t header = 10u + npy.at(8) + 256u * npy.at(9);
  return sha256(codec::Bytes(npy).subspan(header));
}

/// Checks that a directory of the mount has the members that the manifest lists for the store.
void check_store(InProcess& mount, const nlohmann::json& entry, const std::string& root) {
  const std::string stem = root.empty() ? std::string() : root + "/";
  Names expected;
  for (const auto& [key, member] : entry["members"].items()) {
    if (key.ends_with("/__vlmeta__")) continue;
    const bool is_array = member.contains("raw_sha256") || !member["shape"].is_null();
    const std::string path = stem + key.substr(1) + (is_array ? ".npy" : "");
    expected.push_back(path);
    const ByteVector bytes = mount.read(path);
    BOOST_TEST(static_cast<std::size_t>(mount.stat(path).st_size) == bytes.size(), path);
    const std::string digest =
        member.value(member.contains("raw_sha256") ? "raw_sha256" : "sha256", "");
    BOOST_TEST((is_array ? digest_of_elements(bytes) : sha256(bytes)) == digest, path);
  }
  std::sort(expected.begin(), expected.end());
  BOOST_TEST(leaves(mount, root) == expected, boost::test_tools::per_element());
}

template <typename Raw>
void append(ByteVector& bytes, const Raw& raw) {
  const auto* const first = reinterpret_cast<const std::uint8_t*>(&raw);
  bytes.insert(bytes.end(), first, first + sizeof raw);
}

void append(ByteVector& bytes, const std::string& text) {
  bytes.insert(bytes.end(), text.begin(), text.end());
}

std::size_t rfind(const ByteVector& bytes, const std::string& text) {
  return std::string(bytes.begin(), bytes.end()).rfind(text);
}

/// Makes a .b2z with an embed.b2e. Its directory also lists `members` names of the form
/// "g/<number>/<...>" with that many characters. No data lies at their offsets.
ByteVector zip_store(std::uint32_t members, std::size_t name_size) {
  const ByteVector embed = read_file(kStores / "dict0.b2d/embed.b2e");
  const std::string embed_name = "embed.b2e";
  frame::RawZipLocal local{};
  local.magic = frame::kZipLocalMagic;
  local.stored_size = local.full_size = static_cast<std::uint32_t>(embed.size());
  local.name_size = static_cast<std::uint16_t>(embed_name.size());
  ByteVector zip, directory;
  append(zip, local);
  append(zip, embed_name);
  zip.insert(zip.end(), embed.begin(), embed.end());
  frame::RawZipEntry entry{};
  entry.magic = frame::kZipEntryMagic;
  const auto add = [&](const std::string& name) {
    entry.name_size = static_cast<std::uint16_t>(name.size());
    append(directory, entry);
    append(directory, name);
  };
  for (std::uint32_t i = 0; i < members; i++) {
    std::string name = "g/" + std::to_string(i);
    while (name.size() < name_size) name += "/" + std::string(200, 'x');
    add(name + ".b2nd");
  }
  entry.stored_size = entry.full_size = local.stored_size.value();
  add(embed_name);
  frame::RawZipEnd end{};
  end.magic = frame::kZipEndMagic;
  end.entries = end.entries_here = static_cast<std::uint16_t>(members + 1);
  end.directory_size = static_cast<std::uint32_t>(directory.size());
  end.directory_at = static_cast<std::uint32_t>(zip.size());
  zip.insert(zip.end(), directory.begin(), directory.end());
  append(zip, end);
  return zip;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stores_in_process)

BOOST_AUTO_TEST_CASE(each_is_a_directory_of_its_leaves) {
  int checked = 0;
  for (const auto& entry : stores()) BOOST_TEST_CONTEXT(entry["path"]) {
      const std::string name = entry["path"];
      const Source source({name});
      InProcess in_tree(source.directory.path());
      BOOST_TEST(in_tree.names() == Names{shown(name)}, boost::test_tools::per_element());
      check_store(in_tree, entry, shown(name));
      InProcess alone(source.directory / name);
      check_store(alone, entry, "");
      checked++;
    }
  BOOST_TEST(checked == 6);
}

BOOST_AUTO_TEST_CASE(groups_and_leaves_have_their_attributes) {
  const Source source({"tree0.b2z", "ctz1.b2z", "embed0.b2e"});
  InProcess mount(source.directory.path());
  BOOST_TEST(mount.attribute("tree0", "user.blosc2.store") == "b2tree");
  BOOST_TEST(mount.attribute("embed0", "user.blosc2.store") == "b2embed");
  BOOST_TEST(mount.attributes("tree0") == Names{"user.blosc2.vlmeta.title"},
             boost::test_tools::per_element());
  BOOST_TEST(mount.attribute("tree0", "user.blosc2.json.title") == "\"demo 11\"");
  BOOST_TEST(mount.attribute("ctz1", "user.blosc2.kind") == "ctable");
  BOOST_TEST(error_of([&] { mount.attribute("tree0", "user.blosc2.kind"); }) == ENODATA);
  BOOST_TEST(error_of([&] { mount.attribute("tree0/h0", "user.blosc2.store"); }) == ENODATA);
  BOOST_TEST(mount.attributes("tree0/h0").empty());
  BOOST_TEST(mount.attribute("tree0/h0/x11/leaf2.npy", "user.blosc2.shape") == "20000");
}

BOOST_AUTO_TEST_CASE(name_of_a_stores_lock_sidecar_is_given_to_nothing_else) {
  const Source source({"dict.b2z"});
  InProcess mount(source.directory.path());
  BOOST_TEST(error_of([&] { mount.make_directory("dict.b2z.b2lock"); }) == EEXIST);
  BOOST_TEST((stored_names(source.directory.path()) == Names{"dict.b2z"}));
}

BOOST_AUTO_TEST_CASE(nothing_in_them_is_changed) {
  const Source source({"dict.b2z"});
  InProcess mount(source.directory.path());
  const auto refused = [&](const std::function<void()>& change) {
    BOOST_TEST(error_of(change) == EROFS);
  };
  refused([&] { mount.create("dict/new"); });
  refused([&] { mount.create("dict/dir1/new"); });
  refused([&] { mount.make_directory("dict/new"); });
  refused([&] { mount.remove("dict/dir1/b"); });
  refused([&] { mount.remove_directory("dict/dir1"); });
  refused([&] { mount.rename("dict/dir1/b", "b"); });
  refused([&] { mount.make_link("dict/dir1/b", "b"); });
  refused([&] { mount.open("dict/dir1/b", O_RDWR); });
  refused([&] { mount.resize("dict/dir1/b", 0); });
  refused([&] { mount.set_attribute("dict/dir1/b", "user.blosc2.vlmeta.x", "1"); });
  fs::NewAttributes mode;
  mode.mode = 0600;
  refused([&] { mount.set("dict/dir1/b", mode); });
  BOOST_TEST((mount.stat("dict/dir1/b").st_mode & 0222) == 0u);
}

BOOST_AUTO_TEST_CASE(one_is_renamed_and_removed_as_a_file) {
  const Source source({"dict.b2z"});
  InProcess mount(source.directory.path());
  mount.make_directory("d");
  BOOST_TEST(error_of([&] { mount.rename("dict", "d"); }) == EEXIST);
  BOOST_TEST(error_of([&] { mount.rename("d", "dict"); }) == ENOTEMPTY);
  mount.rename("dict", "d/other");
  BOOST_TEST(stored_names(source.directory / "d") == Names{"other.b2z"},
             boost::test_tools::per_element());
  BOOST_TEST(mount.names("d/other") == (Names{"a.npy", "dir1", "small1"}),
             boost::test_tools::per_element());
  BOOST_TEST(error_of([&] { mount.remove("d/other"); }) == EISDIR);
  mount.remove_directory("d/other");
  BOOST_TEST(mount.names("d").empty());
  BOOST_TEST(fs_std::is_empty(source.directory / "d"));
}

BOOST_AUTO_TEST_CASE(who_reads_an_old_state_goes_on_with_it) {
  const Source source({"dict.b2z", "tree0.b2z"});
  InProcess mount(source.directory.path());
  const InProcess::File file = mount.open("dict/dir1/b", O_RDONLY);
  const ByteVector before = file.contents();
  fs_std::rename(source.directory / "tree0.b2z", source.directory / "dict.b2z");
  BOOST_CHECK(file.contents() == before);
  BOOST_TEST(mount.has("dict/h0"));
  BOOST_TEST(!mount.has("dict/dir1"));
}

BOOST_AUTO_TEST_CASE(one_that_is_source_is_shown_in_its_present_state) {
  const Source source({"dict.b2z", "tree0.b2z"});
  InProcess mount(source.directory / "dict.b2z");
  const InProcess::File file = mount.open("dir1/b", O_RDONLY);
  const ByteVector before = file.contents();
  fs_std::rename(source.directory / "tree0.b2z", source.directory / "dict.b2z");
  BOOST_CHECK(file.contents() == before);
  BOOST_TEST(mount.has("h0"));
  BOOST_TEST(!mount.has("dir1"));
}

BOOST_AUTO_TEST_CASE(only_what_is_one_is_shown_as_one) {
  const Source source({"dict.b2z", "embed0.b2e", "damaged/deflated.b2z", "damaged/trunc-half.b2z"});
  fs_std::copy(source.directory / "dict.b2z", source.directory / "archive.zip");
  fs_std::create_hard_link(source.directory / "archive.zip", source.directory / "linked.b2z");
  write_file(source.directory / "text.b2z", std::string("no store"));
  write_file(source.directory / "flat.b2e", flat_frame("contents"));
  {
    InProcess mount(source.directory.path());
    BOOST_TEST(mount.names() == (Names{"archive.zip", "deflated.b2z", "dict", "embed0", "flat",
                                       "linked", "text.b2z", "trunc-half.b2z"}),
               boost::test_tools::per_element());
    BOOST_TEST(S_ISREG(mount.stat("archive.zip").st_mode));
    BOOST_TEST(S_ISDIR(mount.stat("linked").st_mode));
  }
  InProcess mount(source.directory.path(), "nostores");
  BOOST_TEST(mount.names() == (Names{"archive.zip", "deflated.b2z", "dict.b2z", "embed0", "flat",
                                     "linked.b2z", "text.b2z", "trunc-half.b2z"}),
             boost::test_tools::per_element());
  BOOST_TEST(S_ISREG(mount.stat("embed0").st_mode));
}

BOOST_AUTO_TEST_CASE(damage_in_a_leaf_is_that_leafs_alone) {
  const Source source({"damaged/cd-lho.b2z", "damaged/dotdot.b2z", "damaged/dup-names.b2z"});
  InProcess mount(source.directory.path());
  for (const std::string& store : mount.names()) BOOST_TEST_CONTEXT(store) {
      int read = 0;
      for (const std::string& name : mount.names(store))
        read += error_of([&] {
                  if (S_ISREG(mount.stat(store + "/" + name).st_mode))
                    mount.read(store + "/" + name);
                }) == 0;
      BOOST_TEST(read > 0);
    }
}

/// Overwrites the magic number of the named entry in the directory of a ZIP file.
void break_entry(const fs_std::path& zip, const std::string& name) {
  ByteVector bytes = read_file(zip);
  const std::size_t at = rfind(bytes, name);
  BOOST_TEST_REQUIRE(at != std::string::npos);
  bytes[at - sizeof(frame::RawZipEntry)] ^= 1;
  write_file(zip, bytes);
}

BOOST_AUTO_TEST_CASE(what_a_damaged_directory_still_tells_is_shown) {
  const Source source({"dict.b2z"});
  break_entry(source.directory / "dict.b2z", "dir1/b.b2f");
  InProcess mount(source.directory.path());
  BOOST_TEST(mount.names("dict") == (Names{"a.npy", "dir1", "small1"}),
             boost::test_tools::per_element());
  BOOST_TEST(mount.names("dict/dir1") == (Names{"small2.npy", "sub"}),
             boost::test_tools::per_element());
  mount.read("dict/a.npy");
  BOOST_TEST(error_of([&] { mount.find("dict/dir1/b"); }) == EIO);
  fs::Request request;
  BOOST_TEST(error_of([&] { mount.source().require_listed(request, *mount.find("dict/dir1")); }) ==
             EIO);
}

BOOST_AUTO_TEST_CASE(external_leaves_stand_where_the_map_is_damaged) {
  const Source source({"tree.b2d"});
  const fs_std::path embed = source.directory / "tree.b2d/embed.b2e";
  ByteVector bytes = read_file(embed);
  const std::size_t at = rfind(bytes, std::string("\xc6"));  // the marker of the map's metalayer
  BOOST_TEST_REQUIRE(at != std::string::npos);
  bytes[at + 5] = 0xff;  // the version in the header of the chunk there
  bytes[at + 5 + 3] = 0;
  write_file(embed, bytes);
  InProcess mount(source.directory.path());
  BOOST_TEST(mount.names("tree") == (Names{"grp", "root_leaf.npy"}),
             boost::test_tools::per_element());
  mount.read("tree/root_leaf.npy");
  BOOST_TEST(error_of([&] { mount.find("tree/grp/emb"); }) == EIO);
  fs::Request request;
  BOOST_TEST(error_of([&] { mount.source().require_listed(request, *mount.find("tree/grp")); }) ==
             EIO);
}

/// The user of this request has given up.
BOOST_AUTO_TEST_CASE(listing_ends_where_nobody_waits_for_it) {
  const Source source({"embed0.b2e"});
  InProcess mount(source.directory.path());
  const std::string group = "embed0/deep2";
  const Reference node = mount.find(group);
  fs::Request given_up;
  given_up.limit([] { return true; });
  BOOST_TEST(error_of([&] { mount.source().list(given_up, *node, [] { return true; }); }) == EINTR);
  BOOST_TEST(mount.names(group) == Names{"leaf4.npy"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_store_that_takes_more_than_half_of_the_cache_is_refused_alone) {
  const TempDir source;
  write_file(source / "large.b2z", zip_store(30'000, 1000));
  write_file(source / "small.b2z", zip_store(3, 10));
  InProcess mount(source.path(), "cache_size=8M");
  const auto is_listed = [&](const std::string& name) {
    return error_of([&] { mount.names(name); });
  };
  BOOST_TEST(is_listed("large") == EFBIG);
  BOOST_TEST(mount.log().find("large.b2z: the listing needs more than ") != std::string::npos,
             mount.log());
  BOOST_TEST(mount.log().find("mount with a larger cache_size") != std::string::npos);
  BOOST_TEST(is_listed("small") == 0);
  BOOST_TEST(S_ISDIR(mount.stat("large").st_mode));
  mount.rename("large", "other");
  mount.end();
  InProcess roomy(source.path(), "cache_size=256M");
  BOOST_TEST(roomy.names("other/g").size() == 30'000u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
