// Stores that are directories, where other users and other programs are at them.

#include <atomic>
#include <cerrno>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/fs/mount/watched_calls.hpp"
#include "tests/fs/stores/embedded_store.hpp"
#include "tests/support/needs.hpp"

namespace bloscfs::test {

BOOST_AUTO_TEST_SUITE(store_rivals)

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

BOOST_AUTO_TEST_CASE(the_access_list_of_a_store_is_that_of_its_leaves) {
  constexpr const char* kList = "system.posix_acl_access";
  // rw for the owner, nothing for kOther (0x3039), r for the group, the mask and others.
  const ByteVector list{2, 0,    0,    0,   1,   0,   6,  0, 255, 255, 255, 255, 2,   0,  0,
                        0, 0x39, 0x30, 0,   0,   4,   0,  4, 0,   255, 255, 255, 255, 16, 0,
                        4, 0,    255,  255, 255, 255, 32, 0, 4,   0,   255, 255, 255, 255};
  const EmbeddedStore store;
  if (::setxattr((store.path / "embed.b2e").c_str(), kList, list.data(), list.size(), 0) != 0) {
    BOOST_TEST(errno == EOPNOTSUPP);  // a filesystem without such lists
    return;
  }
  InProcess mount(store.source.path());
  const std::string expected(list.begin(), list.end());
  BOOST_TEST((mount.attribute(kLeaf, kList) == expected));
  mount.open(kLeaf).write(200, {1, 2});
  BOOST_TEST(!is_embedded(store.path, kKey));
  BOOST_TEST((mount.attribute(kLeaf, kList) == expected));
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
