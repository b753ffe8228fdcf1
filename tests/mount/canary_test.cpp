// Checks that the sanitizer this build asks for is active.

#include <boost/test/unit_test.hpp>

#include "tests/support/needs.hpp"
#include "tests/support/sanitizers.hpp"
#include "tests/support/subprocess.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

Precondition needs_asan(boost::unit_test::test_unit_id) {
  return kAddressSanitizer ? Precondition(true) : skip("built without AddressSanitizer");
}

Precondition needs_tsan(boost::unit_test::test_unit_id) {
  return kThreadSanitizer ? Precondition(true) : skip("built without ThreadSanitizer");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(canary)

BOOST_AUTO_TEST_CASE(address_sanitizer_reports_heap_overflow, *precondition(needs_asan)) {
  const auto result = run({BLOSCFS_CANARY, "heap", "8"});
  BOOST_TEST(!result.ok());
  BOOST_TEST(result.err.find("heap-buffer-overflow") != std::string::npos, result.description());
  BOOST_TEST(run({BLOSCFS_CANARY, "heap", "7"}).ok());
}

BOOST_AUTO_TEST_CASE(thread_sanitizer_reports_race, *precondition(needs_tsan)) {
  const auto result = run({BLOSCFS_CANARY, "race"});
  BOOST_TEST(!result.ok());
  BOOST_TEST(result.err.find("data race") != std::string::npos, result.description());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
