// Nodes of a tree of objects, without a mount.

#include "fs/source/objects/objects.hpp"

#include <cerrno>

#include "tests/remote/fake_store.hpp"
#include "tests/support/needs.hpp"

namespace {

using namespace bloscfs;
using namespace bloscfs::test;

struct NodesOfStore {
  FakeStore store;
  fs::MemoryBudget budget{std::size_t{64} << 20, [] { return false; }};
  fs::Objects objects{store.tree(true), {}, {}, budget, [](const std::string&) {}, {}};

  fs::NodeId create(const std::string& name) {
    frame::FileAttributes owner;
    owner.mode = 0644;
    return objects.create(fs::kRootId, name, owner, ".b2frame").id;
  }
  std::vector<std::string> names() {
    std::vector<std::string> shown;
    for (const auto& entry : objects.list(fs::kRootId, [] {})) shown.push_back(entry.shown_name);
    return shown;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(objects)

BOOST_AUTO_TEST_CASE(a_new_file_is_listed_and_found_before_it_is_stored) {
  NodesOfStore nodes;
  const fs::NodeId made = nodes.create("one");
  BOOST_TEST((nodes.names() == std::vector<std::string>{"one"}));
  const auto found = nodes.objects.lookup(fs::kRootId, "one");
  BOOST_TEST_REQUIRE(found.has_value());
  BOOST_TEST(found->id == made);
  BOOST_CHECK_EXCEPTION(nodes.create("one"), std::system_error,
                        [](const auto& error) { return error.code() == std::errc(EEXIST); });
}

BOOST_AUTO_TEST_CASE(a_new_file_that_is_forgotten_leaves_no_name) {
  NodesOfStore nodes;
  // As where its content cannot be made, too.
  nodes.objects.forget(nodes.create("one"), 1);
  BOOST_TEST(nodes.names().empty());
  BOOST_TEST(!nodes.objects.lookup(fs::kRootId, "one").has_value());
  nodes.create("one");
  BOOST_TEST((nodes.names() == std::vector<std::string>{"one"}));
}

BOOST_AUTO_TEST_SUITE_END()
