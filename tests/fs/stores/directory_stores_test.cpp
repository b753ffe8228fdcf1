// Stores that are directories, changed: what is embedded becomes files, and nothing else changes.

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <string>

#include <boost/test/unit_test.hpp>

#include "tests/fs/mount/watched_calls.hpp"
#include "tests/fs/stores/embedded_store.hpp"

namespace bloscfs::test {
namespace {

/// One change of kLeaf, and what is there then.
struct Edit {
  const char* name;
  void (*change)(InProcess& mount);
  void (*expect)(Leaves& leaves);
};

const Edit kEdits[] = {
    {"written to",
     [](InProcess& mount) {
       mount.open(kLeaf).write(200, {1, 2, 3});
     },
     [](Leaves& leaves) {
       leaves[kLeaf] = with_bytes(leaves[kLeaf], 200, {1, 2, 3});
     }},
    {"replaced by text",
     [](InProcess& mount) {
       mount.write(kLeaf, {'t', 'e', 'x', 't'});
     },
     [](Leaves& leaves) {
       leaves[kLeaf] = {'t', 'e', 'x', 't'};
     }},
    {"cut", [](InProcess& mount) { mount.resize(kLeaf, 5); },
     [](Leaves& leaves) { leaves[kLeaf].resize(5); }},
    {"removed", [](InProcess& mount) { mount.remove(kLeaf); },
     [](Leaves& leaves) { leaves.erase(kLeaf); }},
    {"renamed", [](InProcess& mount) { mount.rename(kLeaf, "s/x12/g0/other.npy"); },
     [](Leaves& leaves) {
       leaves["s/x12/g0/other.npy"] = leaves[kLeaf];
       leaves.erase(kLeaf);
     }},
    {"renamed over another", [](InProcess& mount) { mount.rename(kLeaf, "s/temp0/leaf2.npy"); },
     [](Leaves& leaves) {
       leaves["s/temp0/leaf2.npy"] = leaves[kLeaf];
       leaves.erase(kLeaf);
     }},
    {"exchanged",
     [](InProcess& mount) { mount.rename(kLeaf, "s/temp0/leaf2.npy", RENAME_EXCHANGE); },
     [](Leaves& leaves) { std::swap(leaves[kLeaf], leaves["s/temp0/leaf2.npy"]); }},
    {"linked", [](InProcess& mount) { mount.make_link(kLeaf, "s/link.npy"); },
     [](Leaves& leaves) { leaves["s/link.npy"] = leaves[kLeaf]; }},
    {"given a mode",
     [](InProcess& mount) {
       fs::NewAttributes wanted;
       wanted.mode = 0600;
       mount.set(kLeaf, wanted);
       BOOST_TEST((mount.stat(kLeaf).st_mode & 0777) == 0600u);
     },
     [](Leaves&) {}},
    {"given an attribute",
     [](InProcess& mount) {
       mount.set_attribute(kLeaf, "user.blosc2.vlmeta.x", "1");
       BOOST_TEST(mount.attribute(kLeaf, "user.blosc2.vlmeta.x") == "1");
     },
     [](Leaves&) {}},
};

/// Fails the call of that number, counted from 0, of those that change SOURCE.
class FailedStoreStep {
 public:
  FailedStoreStep(int number, int error)
      : watched_([this, number, error](Call call, const std::string&) {
          if (call == Call::read || count_++ != number) return 0;
          has_failed_ = true;
          return error;
        }) {}
  bool has_failed() const { return has_failed_; }

 private:
  std::atomic<int> count_{0};
  std::atomic<bool> has_failed_{false};
  const WatchedCalls watched_;
};

/// False if the edit makes fewer calls. Whatever fails: another try goes well, and nothing is lost.
bool fail_edit(const Edit& edit, int step, int error) {
  const EmbeddedStore store;
  Leaves expected;
  bool has_failed = false;
  {
    InProcess mount(store.source.path());
    expected = leaves_of(mount);
    const Leaves before = expected;
    edit.expect(expected);
    int result = 0;
    {
      const FailedStoreStep failed(step, error);
      result = error_of([&] { edit.change(mount); });
      has_failed = failed.has_failed();
    }
    if (result != 0) {
      Leaves left = leaves_of(mount);
      BOOST_CHECK(left == before || left == expected);
      if (left != expected) edit.change(mount);
    }
    BOOST_CHECK(leaves_of(mount) == expected);
    mount.end();
  }
  InProcess again(store.source.path());
  BOOST_CHECK(leaves_of(again) == expected);
  return has_failed;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(directory_stores)

BOOST_AUTO_TEST_CASE(what_is_embedded_becomes_a_file_when_it_changes) {
  for (const Edit& edit : kEdits) BOOST_TEST_CONTEXT(edit.name) {
      const EmbeddedStore store;
      Leaves expected;
      {
        InProcess mount(store.source.path());
        expected = leaves_of(mount);
        BOOST_TEST(expected.size() == 11u);
        edit.expect(expected);
        edit.change(mount);
        BOOST_CHECK(leaves_of(mount) == expected);
        mount.end();
      }
      BOOST_TEST(!is_embedded(store.path, kKey));
      InProcess again(store.source.path());
      BOOST_CHECK(leaves_of(again) == expected);
    }
}

BOOST_AUTO_TEST_CASE(a_change_of_which_a_step_fails_loses_nothing) {
  for (const Edit& edit : {kEdits[0], kEdits[3], kEdits[5]})
    for (const int error : {EIO, ENOSPC}) BOOST_TEST_CONTEXT(edit.name << ", " << error) {
        int step = 0;
        while (fail_edit(edit, step, error)) step++;
        BOOST_TEST(step > 3);
      }
}

BOOST_AUTO_TEST_CASE(removal_needs_no_room) {
  const EmbeddedStore store;
  InProcess mount(store.source.path());
  Leaves expected = leaves_of(mount);
  expected.erase(kLeaf);
  const FailedCalls full(Call::write, ENOSPC, ".tmp");
  mount.remove(kLeaf);
  BOOST_TEST(full.count() > 0);
  BOOST_CHECK(leaves_of(mount) == expected);
}

BOOST_AUTO_TEST_CASE(new_leaves_are_called_as_python_calls_them) {
  const EmbeddedStore store;
  {
    InProcess mount(store.source.path());
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

BOOST_AUTO_TEST_CASE(a_group_stays_when_its_last_leaf_goes) {
  const EmbeddedStore store;
  InProcess mount(store.source.path());
  const auto group = mount.find("s/temp0");
  BOOST_TEST(error_of([&] { mount.remove_directory("s/temp0"); }) == ENOTEMPTY);
  mount.remove("s/temp0/leaf2.npy");
  BOOST_TEST(mount.names("s/temp0").empty());
  // Who has it open goes on with the directory that it has become.
  mount->make_directory(*group, "inside", 0755, mount.caller);
  BOOST_TEST(mount.names("s/temp0") == Names{"inside"}, boost::test_tools::per_element());
  mount.remove_directory("s/temp0/inside");
  mount.remove_directory("s/temp0");
  BOOST_TEST(!mount.has("s/temp0"));
}

BOOST_AUTO_TEST_CASE(who_knows_a_group_finds_it_when_it_has_moved) {
  const EmbeddedStore store;
  InProcess mount(store.source.path());
  const auto outer = mount.find("s/x11"), inner = mount.find("s/x11/temp2");
  mount.remove("s/x11/temp2/leaf8.npy");
  mount.rename("s/x11", "s/other");
  mount->make_directory(*outer, "a", 0755, mount.caller);
  mount->make_directory(*inner, "b", 0755, mount.caller);
  BOOST_TEST(mount.names("s/other") == (Names{"a", "temp2"}), boost::test_tools::per_element());
  BOOST_TEST(mount.names("s/other/temp2") == Names{"b"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(groups_that_hold_embedded_leaves_are_not_renamed) {
  const EmbeddedStore store;
  InProcess mount(store.source.path());
  mount.make_directory("d");
  BOOST_TEST(error_of([&] { mount.rename("s/x12", "s/y"); }) == EXDEV);
  BOOST_TEST(error_of([&] { mount.rename("s/x12", "d/y"); }) == EXDEV);
  BOOST_TEST(error_of([&] { mount.rename("d", "s/x12"); }) == ENOTEMPTY);
  mount.write("s/x12/new", {'a'});  // now it is a directory, too
  BOOST_TEST(error_of([&] { mount.rename("s/x12", "s/y"); }) == EXDEV);
  BOOST_TEST(error_of([&] { mount.rename("d", "s/x12"); }) == ENOTEMPTY);
  BOOST_TEST(error_of([&] { mount.remove_directory("s"); }) == ENOTEMPTY);
  BOOST_TEST(error_of([&] { mount.rename("d", "s"); }) == ENOTEMPTY);
  const Leaves before = leaves_of(mount);
  mount.rename("s", "d/t");
  BOOST_TEST(stored_names(store.source / "d") == Names{"t.b2d"}, boost::test_tools::per_element());
  BOOST_TEST(leaves_of(mount, "d/t").size() == before.size());
}

/// With attributes of the groups /g and /h embedded, and a leaf in /g that has a file.
BOOST_AUTO_TEST_CASE(embedded_attributes_go_with_their_group) {
  const EmbeddedStore store;
  const ByteVector attributes = flat_frame("");
  write_file(store.path / "embed.b2e",
             embed_frame({{"/g/__vlmeta__", attributes}, {"/h/__vlmeta__", attributes}}));
  fs_std::create_directory(store.path / "g");
  write_file(store.path / "g/leaf.b2f", flat_frame("leaf"));
  InProcess mount(store.source.path());
  BOOST_TEST(mount.names("s") == (Names{"g", "h"}), boost::test_tools::per_element());
  mount.rename("s/g", "s/moved");
  mount.remove_directory("s/h");
  BOOST_TEST(mount.names("s") == Names{"moved"}, boost::test_tools::per_element());
  BOOST_TEST(stored_names(store.path / "moved") == (Names{"__vlmeta__.b2f", "leaf.b2f"}),
             boost::test_tools::per_element());
  BOOST_TEST(embedded_keys(store.path).empty());
}

BOOST_AUTO_TEST_CASE(a_store_goes_when_nothing_is_in_it) {
  const EmbeddedStore store("in/s.b2d");
  InProcess mount(store.source.path());
  BOOST_TEST(error_of([&] { mount.remove_directory("in/s"); }) == ENOTEMPTY);
  for (const auto& [path, contents] : leaves_of(mount, "in/s")) mount.remove(path);
  BOOST_TEST(error_of([&] { mount.remove_directory("in/s"); }) == ENOTEMPTY);
  const std::function<void(const std::string&)> clear = [&](const std::string& path) {
    for (const std::string& name : mount.names(path)) clear(path + "/" + name);
    mount.remove_directory(path);
  };
  clear("in/s");
  BOOST_TEST(mount.names("in").empty());
  BOOST_TEST(fs_std::is_empty(store.source / "in"));
}

BOOST_AUTO_TEST_CASE(what_a_file_hides_does_not_come_back) {
  const EmbeddedStore store;
  const ByteVector theirs{'t', 'h', 'e', 'i', 'r', 's'};
  fs_std::create_directory(store.path / "x12");
  write_file(store.path / "x12/leaf9.b2f", flat_frame("theirs"));
  InProcess mount(store.source.path());
  BOOST_TEST(mount.names("s/x12") == (Names{"g0", "leaf9"}), boost::test_tools::per_element());
  BOOST_TEST(!mount.has(kLeaf));
  mount.rename("s/x12/leaf9", "s/x12/moved");
  BOOST_TEST(mount.names("s/x12") == (Names{"g0", "moved"}), boost::test_tools::per_element());
  BOOST_CHECK(mount.read("s/x12/moved") == theirs);
  BOOST_TEST(!is_embedded(store.path, kKey));
}

BOOST_AUTO_TEST_CASE(what_a_new_name_would_hide_becomes_a_file) {
  const EmbeddedStore store;
  InProcess mount(store.source.path());
  Leaves expected = leaves_of(mount);
  mount.write("s/x12/leaf9", {'a'});  // has the key of the array leaf9.npy
  expected["s/x12/leaf9"] = {'a'};
  BOOST_CHECK(leaves_of(mount) == expected);
  BOOST_TEST(stored_names(store.path / "x12").size() == 2u);
}

BOOST_AUTO_TEST_CASE(who_reads_others_goes_on) {
  const EmbeddedStore store;
  InProcess mount(store.source.path());
  const Leaves before = leaves_of(mount);
  const auto file = mount.open("s/h0/x12/leaf7.npy", O_RDONLY);
  mount.remove(kLeaf);
  mount.write("s/temp0/leaf2.npy", {'a'});
  BOOST_CHECK(file.contents() == before.at("s/h0/x12/leaf7.npy"));
  BOOST_TEST(file.stat().st_ino == mount.stat("s/h0/x12/leaf7.npy").st_ino);
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

BOOST_AUTO_TEST_CASE(a_read_only_mount_changes_nothing) {
  const EmbeddedStore store;
  InProcess mount(store.source.path(), "ro");
  BOOST_TEST(error_of([&] { mount.open(kLeaf, O_RDWR); }) == EROFS);
  BOOST_TEST(leaves_of(mount).size() == 11u);
  BOOST_TEST(stored_names(store.path) == Names{"embed.b2e"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
