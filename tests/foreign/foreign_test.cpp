// A mount and another program change the same files in random order. No byte may be wrong, no error
// may last more than one open longer than its cause, and no acknowledged data may be lost.
//
//   BLOSCFS_FOREIGN_STEPS=100000 BLOSCFS_MODEL_SEED=54 test_foreign
// runs that many steps for each variant, with a new mount after every 1000 steps. Without a seed,
// each run chooses another one.

#include <cstdlib>
#include <iostream>
#include <random>

#include <boost/test/unit_test.hpp>

#include "tests/foreign/campaign.hpp"
#include "tests/support/needs.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

/// Steps with one mount.
constexpr std::uint64_t kRound = 1000;

std::uint64_t number(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoull(text);
}

void run_variant(const std::string& option) {
  const std::uint64_t steps = number("BLOSCFS_FOREIGN_STEPS", 500);
  std::uint64_t seed = number("BLOSCFS_MODEL_SEED", std::random_device{}());
  std::map<std::string, std::uint64_t> counts;
  std::uint64_t conflicts = 0;
  for (std::uint64_t done = 0; done < steps; done += kRound, seed++) {
    try {
      Campaign campaign(seed, option);
      campaign.run(std::min(kRound, steps - done));
      for (const auto& [name, count] : campaign.counts()) counts[name] += count;
      conflicts += campaign.conflicts();
    } catch (const std::exception& error) {
      BOOST_FAIL("BLOSCFS_MODEL_SEED=" << seed << ", " << option << ": " << error.what());
    }
  }
  std::cout << option << ": " << conflicts << " conflicts";
  for (const auto& [name, count] : counts) std::cout << ", " << name << " " << count;
  std::cout << std::endl;
  BOOST_TEST(conflicts > 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(foreign)

BOOST_AUTO_TEST_CASE(changes_are_followed_between_group_commits, *precondition(needs_fuse)) {
  run_variant("");
}

BOOST_AUTO_TEST_CASE(changes_are_followed_with_strict_sync, *precondition(needs_fuse)) {
  run_variant("sync=strict");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
