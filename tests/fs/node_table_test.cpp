#include "fs/source/local/tree/node_table.hpp"

#include <boost/test/unit_test.hpp>

using namespace bloscfs::fs;

namespace {

using Paths = std::vector<std::string>;

Paths paths_of(const NodeTable& table, const Node& node) {
  Paths texts;
  for (const SourcePath& path : table.paths(node)) texts.push_back(path.text());
  return texts;
}

/// Returns how many nodes the table drops now.
std::size_t dropped_by(NodeTable& table) { return table.drop_unused().nodes.size(); }

}  // namespace

BOOST_AUTO_TEST_SUITE(node_table)

BOOST_AUTO_TEST_CASE(many_nodes_are_found_by_id_and_by_object) {
  NodeTable table;
  Node& root = table.node(kRootId);
  for (std::uint64_t i = 0; i < 1000; i++) table.add(root, std::to_string(i), {1, i});
  for (std::uint64_t i = 0; i < 1000; i++) {
    Node* const node = table.current({1, i});
    BOOST_REQUIRE(node != nullptr);
    BOOST_TEST(table.find(node->id) == node);
    BOOST_TEST(table.path(*node).text() == std::to_string(i));
  }
  BOOST_TEST(root.children == 1000u);
  BOOST_TEST(table.current({2, 1}) == nullptr);
}

BOOST_AUTO_TEST_CASE(newer_node_stands_for_the_object) {
  NodeTable table;
  Node& root = table.node(kRootId);
  Node& old = table.add(root, "a", {1, 1});
  Node& recent = table.add(root, "a", {1, 1});
  BOOST_TEST(table.current({1, 1}) == &recent);
  table.forget(old, 1);
  BOOST_TEST(dropped_by(table) == 1u);
  BOOST_TEST(table.current({1, 1}) == &recent);
  Node& other = table.add(root, "b", {1, 2});
  // Another file gets the inode number of a removed file.
  table.set_identity(other, {1, 1});
  BOOST_TEST(table.current({1, 1}) == &other);
  BOOST_TEST(table.current({1, 2}) == nullptr);
  table.set_identity(recent, {1, 3});
  BOOST_TEST(table.current({1, 1}) == &other);
  BOOST_TEST(table.current({1, 3}) == &recent);
}

// Every user who may write to SOURCE can make hard links to a temporary.
BOOST_AUTO_TEST_CASE(waiting_node_stays_where_its_temporary_is) {
  NodeTable table;
  Node& root = table.node(kRootId);
  Node& directory = table.add(root, "d", {1, 1});
  directory.type = S_IFDIR;
  Node& node = table.add(directory, "temporary", {1, 2});
  table.set_pending(node, "wanted");
  for (int i = 0; i < 2; i++) table.add_name(node, root, "link");
  BOOST_TEST((paths_of(table, node) == Paths{"d/temporary", "link"}));
  BOOST_TEST(table.pending(directory.id, "wanted") == &node);
  table.clear_pending(node);
  BOOST_TEST(table.pending_in(directory.id).empty());
  BOOST_TEST(table.pending(directory.id, "wanted") == nullptr);
  BOOST_TEST(root.children == 2u);
  table.add_name(node, root, "link");
  BOOST_TEST((paths_of(table, node) == Paths{"link", "d/temporary"}));
}

BOOST_AUTO_TEST_CASE(last_name_of_a_hard_link_comes_first) {
  NodeTable table;
  Node& root = table.node(kRootId);
  Node& node = table.add(root, "a", {1, 1});
  for (const char* name : {"b", "c", "a"}) table.add_name(node, root, name);
  BOOST_TEST((paths_of(table, node) == Paths{"a", "c", "b"}));
  BOOST_TEST(root.children == 3u);
  table.remove_name(node, root, "a");
  BOOST_TEST((paths_of(table, node) == Paths{"c", "b"}));
  table.remove_name(node, root, "b");
  table.remove_name(node, root, "b");
  BOOST_TEST(!node.rare_parts);
  table.remove_name(node, root, "c");
  BOOST_TEST(!node.has_name());
  BOOST_TEST(root.children == 0u);
}

BOOST_AUTO_TEST_CASE(names_beyond_a_limit_are_forgotten) {
  NodeTable table;
  Node& root = table.node(kRootId);
  Node& node = table.add(root, "0", {1, 1});
  for (int i = 1; i < 40; i++) table.add_name(node, root, std::to_string(i));
  const Paths paths = paths_of(table, node);
  BOOST_TEST(paths.size() == 16u);
  BOOST_TEST(paths.front() == "39");
  BOOST_TEST(paths.back() == "24");
  BOOST_TEST(root.children == 16u);
}

BOOST_AUTO_TEST_CASE(directory_has_one_name_and_lasts_as_long_as_its_files) {
  NodeTable table;
  Node& root = table.node(kRootId);
  Node& directory = table.add(root, "d", {1, 1});
  directory.type = S_IFDIR;
  Node& file = table.add(directory, "f", {1, 2});
  table.add_name(directory, root, "e");
  BOOST_TEST((paths_of(table, file) == Paths{"e/f"}));
  table.forget(directory, 1);
  BOOST_TEST(dropped_by(table) == 0u);
  table.forget(file, 1);
  BOOST_TEST(dropped_by(table) == 2u);
  BOOST_TEST(root.children == 0u);
}

BOOST_AUTO_TEST_CASE(pending_node_keeps_until_it_has_its_name) {
  NodeTable table;
  Node& root = table.node(kRootId);
  Node& node = table.add(root, "temporary", {1, 1});
  table.set_pending(node, "a");
  table.forget(node, 1);
  BOOST_TEST(dropped_by(table) == 0u);
  BOOST_TEST(table.pending(kRootId, "a") == &node);
  BOOST_TEST(table.pending_in(kRootId).size() == 1u);
  table.clear_pending(node);
  BOOST_TEST(dropped_by(table) == 1u);
  BOOST_TEST(table.pending(kRootId, "a") == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
