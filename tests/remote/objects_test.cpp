// A tree of objects without a mount: its nodes, and what its directories show.

#include "fs/source/objects/objects.hpp"

#include <cerrno>
#include <string>
#include <system_error>

#include <boost/test/unit_test.hpp>

#include "frame/store/throw_errno.hpp"
#include "fs/source/objects/object_nodes.hpp"

namespace {

using namespace bloscfs;
using namespace bloscfs::fs;

ObjectNode file_of(const std::string& path) {
  ObjectNode node;
  node.path = path;
  node.look = std::make_shared<const ObjectLook>();
  node.references = 1;
  return node;
}

ObjectNode new_file(const std::string& directory, const std::string& name) {
  ObjectNode node = file_of(path_in(directory, name + ".b2frame"));
  node.shown_name = name;
  node.is_new = true;
  return node;
}

/// Lists a removed directory whose last object goes at that moment.
class VanishingTree final : public frame::ObjectTree {
 public:
  const std::optional<std::string>& single() const override { return single_; }
  std::string url(const std::string& path) const override { return path; }
  std::vector<frame::ObjectEntry> list(const std::string& path, frame::MemoryCharge&) override {
    if (!path.empty()) frame::throw_errno(ENOENT, path);
    return {{removal_marker("d"), false, std::nullopt},
            {"d", true, std::nullopt},
            {"e", false, std::nullopt}};
  }
  std::shared_ptr<const frame::ObjectSource> open(
      const std::string& path, const std::shared_ptr<const frame::ObjectSource>&) override {
    frame::throw_errno(ENOENT, path);
  }

 private:
  const std::optional<std::string> single_;
};

std::string new_names(const ObjectNodes& nodes, const std::string& directory) {
  std::string names;
  for (const ObjectNode& node : nodes.new_in(directory)) names += node.shown_name + " ";
  return names;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(objects)

BOOST_AUTO_TEST_CASE(a_new_file_is_listed_and_found_before_it_is_stored) {
  ObjectNodes nodes(file_of(""));
  const NodeId one = nodes.add_new(new_file("", "one"));
  nodes.add_new(new_file("d", "two"));
  nodes.add_new(new_file("d/e", "three"));
  nodes.add_new(new_file("d-f", "four"));
  BOOST_TEST(new_names(nodes, "") == "one ");
  BOOST_TEST(new_names(nodes, "d") == "two ");
  BOOST_TEST_REQUIRE(nodes.leading("one.b2frame").has_value());
  BOOST_TEST(nodes.leading("one.b2frame")->first == one);
  BOOST_TEST(!nodes.leading("two.b2frame").has_value());
  BOOST_CHECK_EXCEPTION(nodes.add_new(new_file("d", "two")), std::system_error,
                        [](const auto& error) { return error.code() == std::errc(EEXIST); });
  nodes.stored_as(one, "one.b2nd");
  BOOST_TEST(new_names(nodes, "").empty());
  BOOST_TEST(!nodes.leading("one.b2frame").has_value());
}

BOOST_AUTO_TEST_CASE(a_new_file_that_is_forgotten_leaves_no_name) {
  ObjectNodes nodes(file_of(""));
  // As where its content cannot be made, too.
  nodes.forget(nodes.add_new(new_file("", "one")), 1);
  BOOST_TEST(new_names(nodes, "").empty());
  BOOST_TEST(!nodes.leading("one.b2frame").has_value());
  nodes.add_new(new_file("", "one"));
  BOOST_TEST(new_names(nodes, "") == "one ");
}

BOOST_AUTO_TEST_CASE(a_file_that_is_written_to_keeps_its_node_until_another_state_is_found) {
  ObjectNodes nodes(file_of(""));
  const auto looked_at = [](const std::string& tag) {
    ObjectNode node = file_of("one.b2frame");
    ObjectLook look;
    look.kind = ObjectLook::Kind::sframe;
    look.state.tag = tag;
    node.look = std::make_shared<const ObjectLook>(look);
    node.references = 0;
    return node;
  };
  const NodeId one = nodes.enter(looked_at("first"), std::nullopt);
  nodes.set_opened(one, nullptr);
  BOOST_TEST(nodes.leads(one));
  // Another look at the same state; and at what a commit has stored.
  BOOST_TEST(nodes.enter(looked_at("first"), std::nullopt) == one);
  const ObjectNode second = looked_at("second");
  BOOST_TEST(nodes.enter(second, second.look->state) == one);
  BOOST_TEST(nodes.leads(one));
  BOOST_TEST(nodes.enter(looked_at("third"), std::nullopt) != one);
  BOOST_TEST(!nodes.leads(one));
}

BOOST_AUTO_TEST_CASE(a_directory_that_goes_while_it_is_listed_is_left_out) {
  MemoryBudget budget(1 << 20, [] { return false; });
  Objects objects(
      std::make_shared<VanishingTree>(), {}, budget, [](const std::string&) {}, {},
      frame::system_clock(), [](const std::string&) { return nullptr; });
  Request request;
  MemoryBudget::Listing charge(request, budget, {});
  const auto entries = objects.list(request, "", charge, [] { return true; });
  BOOST_TEST_REQUIRE(entries.value().size() == 1U);
  BOOST_TEST(entries->front().shown_name == "e");
}

BOOST_AUTO_TEST_SUITE_END()
