// Stores that are directories, changed: what is embedded becomes files, and nothing else changes.

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "frame/pystore/python_store.hpp"
#include "tests/fs/mount/in_process.hpp"
#include "tests/fs/mount/watched_calls.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/needs.hpp"

namespace bloscfs::test {
namespace {

const fs_std::path kEmbedded = fs_std::path(BLOSCFS_SOURCE_ROOT) / "tests/data/stores/embed0.b2e";
constexpr uid_t kOther = 12345;

/// With no groups but this process's.
fs::Caller other_caller() {
  fs::Caller caller;
  caller.user = caller.group = kOther;
  caller.thread = ::gettid();
  return caller;
}

using Leaves = std::map<std::string, ByteVector>;

/// A store s.b2d in a SOURCE of its own, of whose 11 leaves all are embedded.
struct EmbeddedStore {
  EmbeddedStore() : EmbeddedStore("s.b2d") {}
  explicit EmbeddedStore(const std::string& name) : path(source / name) {
    fs_std::create_directories(path);
    fs_std::copy(kEmbedded, path / "embed.b2e");
    fs_std::permissions(path / "embed.b2e", fs_std::perms(0644));
    fs_std::permissions(path, fs_std::perms(0755));
    fs_std::permissions(source.path(), fs_std::perms(0755));
  }
  const TempDir source;
  const fs_std::path path;
};

/// An embed.b2e with these frames in it, by key.
ByteVector embed_frame(const Leaves& leaves) {
  ByteVector heap;
  nlohmann::json map = nlohmann::json::object();
  for (const auto& [key, leaf] : leaves) {
    map[key] = {{"offset", heap.size()}, {"length", leaf.size()}};
    heap.insert(heap.end(), leaf.begin(), leaf.end());
  }
  Cut cut;
  cut.metalayers = {{"b2tree", nlohmann::json::to_msgpack({{"version", 1}})}};
  cut.vlmetalayers = {
      {"estore_metadata",
       nlohmann::json::to_msgpack({{"embed_map", map}, {"current_offset", heap.size()}})}};
  return flat_frame(heap, cut);
}

void read_leaves(InProcess& mount, const std::string& path, Leaves& leaves) {
  for (const std::string& name : mount.names(path)) {
    const std::string inside = path + "/" + name;
    if (S_ISDIR(mount.stat(inside).st_mode))
      read_leaves(mount, inside, leaves);
    else
      leaves[inside] = mount.read(inside);
  }
}

Leaves leaves_of(InProcess& mount, const std::string& path = "s") {
  Leaves leaves;
  read_leaves(mount, path, leaves);
  return leaves;
}

std::vector<std::string> embedded_keys(const fs_std::path& store) {
  std::vector<std::string> keys;
  const auto opened = frame::open_store(store, {});
  for (const auto& entry : opened->embed_map().entries()) keys.push_back(entry.key);
  return keys;
}

bool is_embedded(const fs_std::path& store, const std::string& key) {
  const auto keys = embedded_keys(store);
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

const std::string kLeaf = "s/x12/leaf9.npy", kKey = "/x12/leaf9";

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

BOOST_AUTO_TEST_CASE(no_way_past_permissions, *boost::unit_test::precondition(needs_root)) {
  const EmbeddedStore store;
  InProcess mount(store.source.path());
  const fs::Caller own = mount.caller;
  const Leaves before = leaves_of(mount);
  const auto refused = [&](int error) {
    mount.caller = other_caller();
    BOOST_TEST(error_of([&] { mount.open(kLeaf, O_RDWR); }) == EACCES);
    BOOST_TEST(error_of([&] { mount.remove(kLeaf); }) == error);
    BOOST_TEST(error_of([&] { mount.rename(kLeaf, "s/x12/other.npy"); }) == error);
    BOOST_TEST(error_of([&] { mount.write("s/x12/new", {'a'}); }) == EACCES);
    mount.caller = own;
    BOOST_CHECK(leaves_of(mount) == before);
  };
  refused(EACCES);
  // In a sticky directory what belongs to others stays.
  fs_std::permissions(store.path, fs_std::perms(01777));
  fs_std::create_directory(store.path / "x12");
  fs_std::permissions(store.path / "x12", fs_std::perms(0755));
  refused(EPERM);
}

BOOST_AUTO_TEST_CASE(who_may_write_to_a_leaf_need_not_own_the_store,
                     *boost::unit_test::precondition(needs_root)) {
  const EmbeddedStore store;
  fs_std::create_directory(store.path / "x12");
  BOOST_REQUIRE(::chown((store.path / "x12").c_str(), kOther, kOther) == 0);
  InProcess mount(store.source.path());
  mount.caller = other_caller();
  Leaves expected = leaves_of(mount);
  BOOST_TEST(error_of([&] { mount.open(kLeaf, O_RDWR); }) == EACCES);
  BOOST_CHECK(leaves_of(mount) == expected);
  fs_std::permissions(store.path / "embed.b2e", fs_std::perms(0666));
  mount.open(kLeaf).write(200, {1, 2});
  expected[kLeaf] = with_bytes(expected[kLeaf], 200, {1, 2});
  BOOST_CHECK(leaves_of(mount) == expected);
  BOOST_TEST(mount.stat(kLeaf).st_uid == 0u);
  BOOST_TEST(!is_embedded(store.path, kKey));
  BOOST_TEST(error_of([&] { mount.remove("s/temp0/leaf2.npy"); }) == EACCES);
  BOOST_CHECK(leaves_of(mount) == expected);
}

BOOST_AUTO_TEST_CASE(a_leaf_belongs_to_whom_it_belonged,
                     *boost::unit_test::precondition(needs_root)) {
  const EmbeddedStore store;
  const fs_std::path embed = store.path / "embed.b2e";
  BOOST_REQUIRE(::chown(embed.c_str(), kOther, kOther) == 0);
  fs_std::permissions(embed, fs_std::perms(0640));
  fs_std::permissions(store.path, fs_std::perms(0777));
  InProcess mount(store.source.path());
  mount.caller.user = mount.caller.group = kOther + 1;
  mount.caller.thread = ::gettid();
  mount.rename(kLeaf, "s/mine.npy");
  const struct stat st = mount.stat("s/mine.npy");
  BOOST_TEST(st.st_uid == kOther);
  BOOST_TEST(st.st_gid == kOther);
  BOOST_TEST((st.st_mode & 07777) == 0640u);
}

BOOST_AUTO_TEST_CASE(another_name_of_a_store_keeps_what_it_has) {
  const EmbeddedStore store;
  fs_std::create_directory(store.source / "t.b2d");
  fs_std::create_hard_link(store.path / "embed.b2e", store.source / "t.b2d/embed.b2e");
  InProcess mount(store.source.path());
  mount.remove(kLeaf);
  BOOST_TEST(leaves_of(mount).size() == 10u);
  BOOST_TEST(leaves_of(mount, "t").size() == 11u);
}

BOOST_AUTO_TEST_CASE(rmdir_takes_nothing_that_others_have_there,
                     *boost::unit_test::precondition(needs_root)) {
  const EmbeddedStore store("in/s.b2d");
  write_file(store.path / "embed.b2e", embed_frame({}));
  BOOST_REQUIRE(::chown((store.source / "in").c_str(), kOther, kOther) == 0);
  InProcess mount(store.source.path());
  const fs::Caller own = mount.caller;
  mount.caller = other_caller();
  BOOST_TEST(error_of([&] { mount.remove_directory("in/s"); }) == EACCES);
  mount.caller = own;
  write_file(store.path / "theirs.tmp", std::string("hidden"));
  BOOST_TEST(error_of([&] { mount.remove_directory("in/s"); }) == ENOTEMPTY);
  BOOST_TEST(stored_names(store.path).size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_rmdir_that_fails_keeps_attributes) {
  const EmbeddedStore store;
  write_file(store.path / "embed.b2e", embed_frame({{"/g/__vlmeta__", flat_frame("")}}));
  fs_std::create_directory(store.path / "g");
  write_file(store.path / "g/leaf.b2f", flat_frame("leaf"));
  InProcess mount(store.source.path());
  BOOST_TEST(error_of([&] { mount.remove_directory("s/g"); }) == ENOTEMPTY);
  BOOST_TEST(is_embedded(store.path, "/g/__vlmeta__"));
  mount.remove("s/g/leaf");
  mount.make_directory("s/h");
  mount.rename("s/h", "s/g");
  BOOST_TEST(embedded_keys(store.path).empty());
}

BOOST_AUTO_TEST_CASE(what_another_program_puts_there_meanwhile_stays) {
  const EmbeddedStore store;
  const ByteVector theirs = embed_frame({{kKey, flat_frame("theirs")}});
  InProcess mount(store.source.path());
  {
    std::atomic<bool> is_done{false};
    const WatchedCalls replaced([&](Call call, const std::string&) {
      if (call == Call::flush_file && !is_done.exchange(true)) {
        write_file(store.source / "new", theirs);
        fs_std::rename(store.source / "new", store.path / "embed.b2e");
      }
      return 0;
    });
    BOOST_TEST(error_of([&] { mount.open(kLeaf, O_RDWR); }) != 0);
  }
  BOOST_TEST(is_embedded(store.path, kKey));
  BOOST_TEST(mount.names("s/x12") == Names{"leaf9"}, boost::test_tools::per_element());
  BOOST_CHECK(mount.read("s/x12/leaf9") == bytes_of("theirs"));
}

BOOST_AUTO_TEST_CASE(a_file_hides_the_leaf_of_its_own_key_alone) {
  const EmbeddedStore store;
  write_file(store.path / "embed.b2e", embed_frame({{"/x", flat_frame("one")},
                                                    {"/x.b2f", flat_frame("precious")},
                                                    {"/x/sub", flat_frame("sub")}}));
  InProcess mount(store.source.path());
  const Leaves before = leaves_of(mount);
  BOOST_TEST(before.size() == 3u);
  for (const auto& [path, contents] : before)
    if (contents == bytes_of("one")) mount.write(path, {'n', 'e', 'w'});
  Leaves now = leaves_of(mount);
  BOOST_TEST(now.size() == 3u);
  for (const auto& [path, contents] : now)
    if (contents == bytes_of("new")) mount.remove(path);
  BOOST_TEST(leaves_of(mount).size() == 2u);
}

BOOST_AUTO_TEST_CASE(states_that_have_gone_take_no_memory) {
  const EmbeddedStore store;
  const ByteVector leaf = flat_frame("leaf");
  Leaves leaves;
  for (int i = 1000; i < 4000; i++) leaves["/" + std::to_string(i)] = leaf;
  write_file(store.path / "embed.b2e", embed_frame(leaves));
  InProcess mount(store.source.path(), "cache_size=8M");
  std::vector<Reference> known;
  for (int i = 1000; i < 1060; i++) {
    known.push_back(mount.find("s/" + std::to_string(i + 1)));
    mount.remove("s/" + std::to_string(i));
  }
  BOOST_CHECK(mount.read("s/1060") == bytes_of("leaf"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
