#include "fs/support/log.hpp"

#include <boost/test/unit_test.hpp>
#include <unistd.h>

#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {
namespace {

BOOST_AUTO_TEST_SUITE(log_messages)

BOOST_AUTO_TEST_CASE(stay_one_line) {
  const TempDir scratch;
  const Fd saved(::dup(STDERR_FILENO));
  BOOST_TEST_REQUIRE(::freopen((scratch / "log").c_str(), "w", stderr) != nullptr);
  fs::log::use_plain("b2frame");
  fs::log::warn("x\nbloscfs: y");
  BOOST_TEST_REQUIRE(::dup2(saved.get(), STDERR_FILENO) == STDERR_FILENO);
  const auto text = read_file(scratch / "log");
  BOOST_TEST(std::string(text.begin(), text.end()) == "b2frame: x\\nbloscfs: y\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace bloscfs::test
