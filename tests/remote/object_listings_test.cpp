// Tests what a mount remembers of directories of objects.

#include "fs/source/objects/object_listings.hpp"

#include <functional>

#include <boost/test/unit_test.hpp>

namespace {

using namespace bloscfs;
using namespace bloscfs::fs;

/// A tree of one directory. It calls `meanwhile` during the next listing.
class ChangingTree final : public frame::ObjectTree {
 public:
  const std::optional<std::string>& single() const override { return single_; }
  std::string url(const std::string& path) const override { return path; }
  std::vector<frame::ObjectEntry> list(const std::string&, frame::MemoryCharge&) override {
    const std::vector<frame::ObjectEntry> before = entries;
    lists++;
    if (meanwhile) std::exchange(meanwhile, {})();
    return before;
  }
  std::shared_ptr<const frame::ObjectSource> open(
      const std::string&, const std::shared_ptr<const frame::ObjectSource>&) override {
    return nullptr;
  }

  std::vector<frame::ObjectEntry> entries;
  std::function<void()> meanwhile;
  int lists = 0;

 private:
  const std::optional<std::string> single_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(object_listings)

BOOST_AUTO_TEST_CASE(a_listing_in_the_midst_of_which_a_name_was_made_is_not_remembered) {
  const auto tree = std::make_shared<ChangingTree>();
  MemoryBudget budget(1 << 20, [] { return false; });
  ObjectListings listings(tree, budget, std::chrono::minutes(10), frame::system_clock());
  Request request;
  const auto get = [&] {
    return listings.get(request, "", [](const frame::ObjectEntry&) { return ShownAs::itself; });
  };
  tree->meanwhile = [&] {
    tree->entries = {{.name = "one"}};
    listings.forget("");
  };
  get();
  BOOST_TEST(get()->find("one") != nullptr);
  get();
  BOOST_TEST(tree->lists == 2);
}

BOOST_AUTO_TEST_SUITE_END()
