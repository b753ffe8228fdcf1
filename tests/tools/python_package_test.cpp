// The Python package bloscfs. The tests are in python_package.py.

#include <string>

#include <boost/test/unit_test.hpp>

#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/subprocess.hpp"

namespace {

using namespace bloscfs::test;
using boost::unit_test::precondition;

constexpr const char* kPython = "/usr/bin/python3";

/// Runs one test class of python_package.py.
void pass(const std::string& tests) {
  ProcessSettings settings;
  settings.limit = Seconds{120};
  settings.environment = {"BLOSCFS=" + bloscfs_program(), "B2FRAME=" + b2frame_program(),
                          "PYTHONDONTWRITEBYTECODE=1"};
  const ProcessResult result = run(
      {kPython, "-W", "error", BLOSCFS_TEST_SOURCE_ROOT "/tests/tools/python_package.py", tests},
      settings);
  BOOST_TEST(result.ok(), result.description());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(python_package, *precondition(needs_programs(kPython)))

BOOST_AUTO_TEST_CASE(mounts_are_read_and_written) { pass("Mounts"); }

BOOST_AUTO_TEST_CASE(refused_mounts_raise_the_reason) { pass("Refusals"); }

BOOST_AUTO_TEST_CASE(what_fails_at_the_end_is_raised) { pass("Ends"); }

BOOST_AUTO_TEST_CASE(what_fails_at_the_end_is_raised_to_root, *precondition(needs_fuse_as_root)) {
  pass("EndsForRoot");
}

BOOST_AUTO_TEST_CASE(files_are_listed) { pass("Listings"); }

BOOST_AUTO_TEST_SUITE_END()
