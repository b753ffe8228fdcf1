// Tests a tree of objects without a mount: its nodes, and what its directories show.

#include "fs/source/objects/objects.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "frame/store/throw_errno.hpp"
#include "fs/source/objects/later_removal.hpp"
#include "fs/source/objects/object_nodes.hpp"
#include "tests/support/comes_true.hpp"

namespace {

using namespace bloscfs;
using namespace bloscfs::fs;
using bloscfs::test::comes_true;

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

std::string new_names(const ObjectNodes& nodes, const std::string& directory) {
  std::string names;
  for (const ObjectNode& node : nodes.new_files_in(directory)) names += node.shown_name + " ";
  return names;
}

/// A tree whose removals wait until go_on().
class SlowRemovals final : public frame::ObjectTree {
 public:
  const std::optional<std::string>& single() const override { return single_; }
  std::string url(const std::string& path) const override { return path; }
  std::vector<frame::ObjectEntry> list(const std::string&, frame::MemoryCharge&) override {
    return {};
  }
  std::shared_ptr<const frame::ObjectSource> open(
      const std::string&, const std::shared_ptr<const frame::ObjectSource>&) override {
    return nullptr;
  }
  void remove_all(std::span<const std::string> paths) override {
    calls_++;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return goes_on_; });
    removed_.insert(removed_.end(), paths.begin(), paths.end());
  }

  int calls() const { return calls_; }
  void go_on() {
    const std::lock_guard guard(mutex_);
    goes_on_ = true;
    changed_.notify_all();
  }
  std::vector<std::string> removed() const { return removed_; }

 private:
  const std::optional<std::string> single_;
  std::atomic<int> calls_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool goes_on_ = false;
  std::vector<std::string> removed_;
};

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
  nodes.note_stored_state(one, "one.b2nd");
  BOOST_TEST(new_names(nodes, "").empty());
  BOOST_TEST(!nodes.leading("one.b2frame").has_value());
}

BOOST_AUTO_TEST_CASE(a_new_file_that_is_forgotten_leaves_no_name) {
  ObjectNodes nodes(file_of(""));
  // The mount also does this if it cannot make the file's content.
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
  BOOST_TEST(nodes.owns_path(one));
  // The node stays for another look at the same state, and for a state that its own commit stored.
  BOOST_TEST(nodes.enter(looked_at("first"), std::nullopt) == one);
  const ObjectNode second = looked_at("second");
  BOOST_TEST(nodes.enter(second, second.look->state) == one);
  BOOST_TEST(nodes.owns_path(one));
  BOOST_TEST(nodes.enter(looked_at("third"), std::nullopt) != one);
  BOOST_TEST(!nodes.owns_path(one));
}

BOOST_AUTO_TEST_CASE(a_tombstone_that_has_waited_for_long_is_left_to_gc) {
  const auto tree = std::make_shared<SlowRemovals>();
  std::atomic<int> now{0};
  {
    LaterRemoval removal(tree, std::chrono::minutes(10), frame::system_clock(),
                         [&] { return std::chrono::seconds(now); });
    removal.add({"first"}, {}, {});
    BOOST_TEST(comes_true([&] { return tree->calls() == 1; }));
    // The second tombstone waits behind the first while the host sleeps for 181 s.
    removal.add({"second"}, {"chunk"}, {});
    now = 181;
    removal.add({"third"}, {}, {});
    tree->go_on();
  }
  BOOST_TEST(tree->removed() == std::vector<std::string>({"first", "chunk", "third"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
