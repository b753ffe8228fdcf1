// Changes of stores that are directories: their files can be changed, and their embedded leaves
// cannot.

#include <cerrno>
#include <cstdio>
#include <functional>
#include <string>

#include <boost/test/unit_test.hpp>
#include <unistd.h>

#include "tests/fs/stores/embedded_store.hpp"

namespace bloscfs::test {
namespace {

/// Runs `change` on a store, which must refuse it. Checks that the store is unchanged, in a new
/// mount, too.
void check_refused(const EmbeddedStore& store, const char* name, int error,
                   const std::function<void(InProcess&)>& change) {
  BOOST_TEST_CONTEXT(name) {
    const ByteVector embed = read_file(store.path / "embed.b2e");
    InProcess mount(store.source.path());
    const Leaves before = leaves_of(mount);
    BOOST_TEST(error_of([&] { change(mount); }) == error);
    BOOST_CHECK(leaves_of(mount) == before);
    mount.end();
    BOOST_CHECK(read_file(store.path / "embed.b2e") == embed);
  }
}

const std::string kOtherLeaf = "s/temp0/leaf2.npy";

/// A store with two leaves: /a/small is embedded, and /a/big is a file.
struct MixedStore : EmbeddedStore {
  MixedStore() {
    write_file(path / "embed.b2e", embed_frame({{"/a/small", flat_frame("small")}}));
    fs_std::create_directory(path / "a");
    write_file(path / "a/big.b2f", flat_frame("big"));
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(directory_stores)

BOOST_AUTO_TEST_CASE(embedded_leaves_are_read_only) {
  const EmbeddedStore store;
  const auto refuse = [&](const char* name, const std::function<void(InProcess&)>& change) {
    check_refused(store, name, EROFS, change);
  };
  refuse("opened for writing", [](InProcess& mount) { mount.open(kLeaf); });
  refuse("replaced as a whole", [](InProcess& mount) { mount.write(kLeaf, {'a'}); });
  refuse("truncated", [](InProcess& mount) { mount.resize(kLeaf, 5); });
  refuse("removed", [](InProcess& mount) { mount.remove(kLeaf); });
  refuse("renamed", [](InProcess& mount) { mount.rename(kLeaf, "s/x12/g0/other.npy"); });
  refuse("moved out", [](InProcess& mount) { mount.rename(kLeaf, "other.npy"); });
  refuse("renamed over", [](InProcess& mount) { mount.rename(kLeaf, kOtherLeaf); });
  refuse("exchanged", [](InProcess& mount) { mount.rename(kLeaf, kOtherLeaf, RENAME_EXCHANGE); });
  refuse("linked", [](InProcess& mount) { mount.make_link(kLeaf, "s/link.npy"); });
  refuse("asked whether it may be written", [](InProcess& mount) {
    fs::Request request;
    mount.source().check_access(request, *mount.find(kLeaf), W_OK);
  });
  refuse("given a mode", [](InProcess& mount) {
    fs::NewAttributes wanted;
    wanted.mode = 0600;
    mount.set(kLeaf, wanted);
  });
  refuse("given times", [](InProcess& mount) {
    fs::NewAttributes wanted;
    wanted.modified = timespec{1, 0};
    mount.set(kLeaf, wanted);
  });
  refuse("given an attribute",
         [](InProcess& mount) { mount.set_attribute(kLeaf, "user.blosc2.vlmeta.x", "1"); });
  refuse("with an attribute less",
         [](InProcess& mount) { mount.remove_attribute(kLeaf, "user.blosc2.vlmeta.x"); });
}

BOOST_AUTO_TEST_CASE(embedded_leaves_are_not_replaced) {
  const EmbeddedStore store;
  check_refused(store, "by another leaf", EROFS, [](InProcess& mount) {
    mount.write("s/new.npy", {'a'});
    mount.rename("s/new.npy", "s/moved.npy");
    // Removes the file that was made above, so that the store is unchanged.
    const int error = error_of([&] { mount.rename("s/moved.npy", kLeaf); });
    mount.remove("s/moved.npy");
    throw std::system_error(error, std::generic_category());
  });
  check_refused(store, "by a file from outside", EROFS, [](InProcess& mount) {
    mount.write("plain", {'a'});
    mount.rename("plain", kLeaf);
  });
}

BOOST_AUTO_TEST_CASE(names_of_embedded_keys_are_taken) {
  const EmbeddedStore store;
  const auto refuse = [&](const char* name, const std::function<void(InProcess&)>& change) {
    check_refused(store, name, EEXIST, change);
  };
  // The name has the key of the array leaf9.npy.
  refuse("a file", [](InProcess& mount) { mount.create("s/x12/leaf9"); });
  refuse("a symlink", [](InProcess& mount) { mount.make_symlink("target", "s/x12/leaf9"); });
  refuse("a renamed file", [](InProcess& mount) {
    mount.write("plain", {'a'});
    mount.rename("plain", "s/x12/leaf9");
  });
  refuse("the shown name", [](InProcess& mount) { mount.create(kLeaf, O_RDWR | O_EXCL); });
}

BOOST_AUTO_TEST_CASE(files_of_a_store_change_as_others_do) {
  const MixedStore store;
  const ByteVector embed = read_file(store.path / "embed.b2e");
  {
    InProcess mount(store.source.path());
    BOOST_TEST(mount.names("s/a") == (Names{"big", "small"}), boost::test_tools::per_element());
    mount.write("s/a/big", {'n', 'e', 'w'});
    mount.set_attribute("s/a/big", "user.blosc2.vlmeta.x", "1");
    mount.write("s/a/next", {'a'});
    mount.rename("s/a/next", "s/a/other");
    mount.write("s/a/gone", {'a'});
    mount.remove("s/a/gone");
    BOOST_TEST(error_of([&] { mount.remove("s/a/small"); }) == EROFS);
    BOOST_TEST(error_of([&] { mount.create("s/a/small.npy"); }) == EEXIST);
    mount.end();
  }
  InProcess again(store.source.path());
  BOOST_TEST(again.names("s/a") == (Names{"big", "other", "small"}),
             boost::test_tools::per_element());
  BOOST_CHECK(again.read("s/a/big") == bytes_of("new"));
  BOOST_CHECK(again.read("s/a/small") == bytes_of("small"));
  BOOST_TEST(stored_names(store.path / "a") == (Names{"big.b2f", "other.b2f"}),
             boost::test_tools::per_element());
  BOOST_CHECK(read_file(store.path / "embed.b2e") == embed);
}

BOOST_AUTO_TEST_CASE(file_that_hides_an_embedded_leaf_stays) {
  const EmbeddedStore store;
  fs_std::create_directory(store.path / "x12");
  write_file(store.path / "x12/leaf9.b2f", flat_frame("theirs"));
  const std::string file = "s/x12/leaf9";
  check_refused(store, "removed", EROFS, [&](InProcess& mount) { mount.remove(file); });
  check_refused(store, "renamed", EROFS,
                [&](InProcess& mount) { mount.rename(file, "s/x12/moved"); });
  InProcess mount(store.source.path());
  BOOST_TEST(!mount.has(kLeaf));
  mount.write(file, {'o', 'n', 'e'});
  BOOST_CHECK(mount.read(file) == bytes_of("one"));
  mount.write("s/x12/fresh", {'t', 'w', 'o'});
  BOOST_TEST(error_of([&] { mount.rename("s/x12/fresh", file); }) == EROFS);
  BOOST_TEST(!mount.has(kLeaf));
}

BOOST_AUTO_TEST_CASE(references_are_not_removed) {
  const EmbeddedStore store;
  ByteVector heap(1);
  Cut cut;
  cut.metalayers = {{"b2tree", nlohmann::json::to_msgpack({{"version", 1}})}};
  const nlohmann::json map = {{"/r", {{"urlbase", "http://host/"}, {"path", "x"}}}};
  cut.vlmetalayers = {
      {"estore_metadata",
       nlohmann::json::to_msgpack({{"embed_map", map}, {"current_offset", heap.size()}})}};
  write_file(store.path / "embed.b2e", flat_frame(heap, cut));
  InProcess mount(store.source.path());
  BOOST_TEST(mount.names("s") == Names{"r"}, boost::test_tools::per_element());
  BOOST_TEST(error_of([&] { mount.remove("s/r"); }) == EROFS);
  BOOST_TEST(error_of([&] { mount.rename("s/r", "s/q"); }) == EROFS);
  BOOST_TEST(mount.names("s") == Names{"r"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(new_leaves_are_called_as_python_calls_them) {
  const EmbeddedStore store;
  {
    InProcess mount(store.source.path());
    // The mount makes a directory for a group that only the map has.
    mount.write("s/x12/text", {'a'});
    mount.make_directory("s/new");
    mount.write("s/new/text", {'b'});
    mount.write("plain", {'c'});
    mount.end();
  }
  BOOST_TEST(stored_names(store.path / "x12") == Names{"text.b2f"},
             boost::test_tools::per_element());
  BOOST_TEST(stored_names(store.path / "new") == Names{"text.b2f"},
             boost::test_tools::per_element());
  BOOST_TEST(fs_std::exists(store.source / "plain.b2frame"));
}

BOOST_AUTO_TEST_CASE(group_that_is_open_goes_on_as_the_directory_that_it_became) {
  const EmbeddedStore store;
  InProcess mount(store.source.path());
  const auto group = mount.find("s/temp0");
  mount.write("s/temp0/text", {'a'});
  fs::Request request(mount.caller);
  mount.source().make_directory(request, *group, "inside", 0755);
  BOOST_TEST(mount.names("s/temp0") == (Names{"inside", "leaf2.npy", "text"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(groups_that_hold_embedded_leaves_stay) {
  const EmbeddedStore store;
  InProcess mount(store.source.path());
  mount.make_directory("d");
  for (int i = 0; i < 2; i++) {
    BOOST_TEST(error_of([&] { mount.rename("s/x12", "s/y"); }) == EROFS);
    BOOST_TEST(error_of([&] { mount.rename("s/x12", "d/y"); }) == EROFS);
    BOOST_TEST(error_of([&] { mount.rename("d", "s/x12"); }) == EROFS);
    BOOST_TEST(error_of([&] { mount.remove_directory("s/x12"); }) == ENOTEMPTY);
    mount.write("s/x12/new", {'a'});  // makes the group a directory
  }
  BOOST_TEST(error_of([&] { mount.remove_directory("s"); }) == ENOTEMPTY);
  BOOST_TEST(error_of([&] { mount.rename("d", "s"); }) == ENOTEMPTY);
  const Leaves before = leaves_of(mount);
  mount.rename("s", "d/t");
  BOOST_TEST(stored_names(store.source / "d") == Names{"t.b2d"}, boost::test_tools::per_element());
  BOOST_TEST(leaves_of(mount, "d/t").size() == before.size());
}

/// The attributes of the groups /g and /h are embedded. A leaf in /g is a file.
BOOST_AUTO_TEST_CASE(groups_that_have_embedded_attributes_stay) {
  const EmbeddedStore store;
  const ByteVector attributes = flat_frame("");
  write_file(store.path / "embed.b2e",
             embed_frame({{"/g/__vlmeta__", attributes}, {"/h/__vlmeta__", attributes}}));
  fs_std::create_directory(store.path / "g");
  write_file(store.path / "g/leaf.b2f", flat_frame("leaf"));
  InProcess mount(store.source.path());
  BOOST_TEST(error_of([&] { mount.rename("s/g", "s/moved"); }) == EROFS);
  BOOST_TEST(error_of([&] { mount.remove_directory("s/h"); }) == EROFS);
  BOOST_TEST(mount.names("s") == (Names{"g", "h"}), boost::test_tools::per_element());
  mount.remove("s/g/leaf");
  BOOST_TEST(error_of([&] { mount.remove_directory("s/g"); }) == EROFS);
}

BOOST_AUTO_TEST_CASE(store_goes_when_nothing_is_in_it) {
  const EmbeddedStore store("in/s.b2d");
  {
    InProcess mount(store.source.path());
    BOOST_TEST(error_of([&] { mount.remove_directory("in/s"); }) == ENOTEMPTY);
  }
  write_file(store.path / "embed.b2e", embed_frame({}));
  InProcess mount(store.source.path());
  mount.remove_directory("in/s");
  BOOST_TEST(mount.names("in").empty());
  BOOST_TEST(fs_std::is_empty(store.source / "in"));
}

BOOST_AUTO_TEST_CASE(another_program_adds_and_takes) {
  const EmbeddedStore store;
  InProcess mount(store.source.path());
  BOOST_TEST(mount.names("s").size() == 9u);
  fs_std::copy(fs_std::path(BLOSCFS_SOURCE_ROOT) / "tests/data/stores/dict0.b2d/embed.b2e",
               store.source / "new");
  fs_std::rename(store.source / "new", store.path / "embed.b2e");
  BOOST_TEST(mount.names("s").empty());
  BOOST_TEST(!mount.has("s/x12"));
  fs_std::copy(kEmbedded, store.path / "embed.b2e", fs_std::copy_options::overwrite_existing);
  BOOST_TEST(leaves_of(mount).size() == 11u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
