// Stores that are directories, while other users and other programs use or change them.

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/fs/stores/embedded_store.hpp"
#include "tests/support/needs.hpp"

namespace bloscfs::test {

BOOST_AUTO_TEST_SUITE(store_rivals)

BOOST_AUTO_TEST_CASE(the_access_list_of_a_store_is_that_of_its_leaves) {
  constexpr const char* kList = "system.posix_acl_access";
  // rw for the owner, nothing for kOther (0x3039), r for the group, the mask and others
  const ByteVector list{2, 0,    0,    0,   1,   0,   6,  0, 255, 255, 255, 255, 2,   0,  0,
                        0, 0x39, 0x30, 0,   0,   4,   0,  4, 0,   255, 255, 255, 255, 16, 0,
                        4, 0,    255,  255, 255, 255, 32, 0, 4,   0,   255, 255, 255, 255};
  const EmbeddedStore store;
  if (::setxattr((store.path / "embed.b2e").c_str(), kList, list.data(), list.size(), 0) != 0) {
    BOOST_TEST(errno == EOPNOTSUPP);  // the filesystem has no ACLs
    return;
  }
  InProcess mount(store.source.path());
  const std::string expected(list.begin(), list.end());
  BOOST_TEST((mount.attribute(kLeaf, kList) == expected));
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

BOOST_AUTO_TEST_CASE(a_file_hides_the_leaf_of_its_own_key_alone) {
  const EmbeddedStore store;
  write_file(store.path / "embed.b2e", embed_frame({{"/x", flat_frame("one")},
                                                    {"/x.b2f", flat_frame("precious")},
                                                    {"/x/sub", flat_frame("sub")}}));
  write_file(store.path / "x.b2f", flat_frame("new"));
  InProcess mount(store.source.path());
  std::vector<ByteVector> contents;
  for (const auto& [path, bytes] : leaves_of(mount)) contents.push_back(bytes);
  std::sort(contents.begin(), contents.end());
  BOOST_CHECK(contents ==
              (std::vector<ByteVector>{bytes_of("new"), bytes_of("precious"), bytes_of("sub")}));
}

BOOST_AUTO_TEST_CASE(states_that_have_gone_take_no_memory) {
  const EmbeddedStore store;
  const ByteVector leaf = flat_frame("leaf");
  Leaves leaves;
  for (int i = 1000; i < 4000; i++) leaves["/" + std::to_string(i)] = leaf;
  write_file(store.path / "embed.b2e", embed_frame(leaves));
  InProcess mount(store.source.path(), "cache_size=8M");
  std::vector<Reference> known;
  // Each change of embed.b2e by another program makes a new state of the store.
  for (int i = 1000; i < 1060; i++) {
    known.push_back(mount.find("s/" + std::to_string(i + 1)));
    leaves.erase("/" + std::to_string(i));
    write_file(store.source / "new", embed_frame(leaves));
    fs_std::rename(store.source / "new", store.path / "embed.b2e");
  }
  BOOST_CHECK(mount.read("s/1060") == bytes_of("leaf"));
}

/// Replaces the store's embed.b2e by a new one, as another program does.
void replace_embed(const EmbeddedStore& store, const Leaves& leaves) {
  write_file(store.source / "new", embed_frame(leaves));
  fs_std::rename(store.source / "new", store.path / "embed.b2e");
}

BOOST_AUTO_TEST_CASE(two_nodes_of_one_leaf_let_go_of_its_store_at_the_end) {
  const EmbeddedStore store;
  replace_embed(store, {{"/g/leaf", flat_frame("one")}});
  InProcess mount(store.source.path());
  const Reference before = mount.find("s/g/leaf");
  replace_embed(store, {{"/g/leaf", flat_frame("other")}});
  const Reference after = mount.find("s/g/leaf");
  BOOST_TEST(*before != *after);
  // Opens the leaf by its earlier node. It gets the leaf that is embedded now.
  const auto opened = mount->open(mount.request(), *before, O_RDONLY);
  mount->release(mount.request(), opened.handle);
  mount.end();
}

BOOST_AUTO_TEST_CASE(a_directory_in_place_of_a_group_keeps_what_waits_in_it) {
  const EmbeddedStore store;
  replace_embed(store, {{"/g/leaf", flat_frame("leaf")}});
  InProcess mount(store.source.path(), "commit=30");
  const Reference group = mount.find("s/g");
  fs_std::create_directory(store.path / "g");
  const InProcess::File made = mount.create("s/g/new");
  made.write(0, bytes_of("new"));
  // A program that listed the group before must look it up again.
  fs::Request request;
  BOOST_TEST(error_of([&] { mount.source().list(request, *group, [] { return true; }); }) ==
             ESTALE);
  BOOST_CHECK(mount.names("s/g") == (Names{"leaf", "new"}));
  BOOST_TEST(error_of([&] { mount.create("s/g/new"); }) == EEXIST);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
