// Reference files: those in this repository, and the larger corpus if it is found.

#include "tests/frame/corpus.hpp"

#include <cstdlib>
#include <filesystem>

#include <boost/test/unit_test.hpp>

namespace {

const std::string kSourceRoot = BLOSCFS_SOURCE_ROOT;

std::string whole_corpus() {
  const char* named = std::getenv("BLOSCFS_CORPUS");
  return named != nullptr ? named : kSourceRoot + "/../shared/corpus";
}

boost::test_tools::assertion_result has_whole_corpus(boost::unit_test::test_unit_id) {
  const bool is_there = std::filesystem::exists(whole_corpus() + "/manifest.json");
  boost::test_tools::assertion_result result(is_there);
  result.message() << "no corpus in " << whole_corpus() << " (set BLOSCFS_CORPUS)";
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(corpus)

BOOST_AUTO_TEST_CASE(agrees_with_the_reference_files) {
  BOOST_CHECK_GT(bloscfs::frame::test::check_corpus(kSourceRoot + "/tests/data/frame"), 20);
  BOOST_CHECK_GT(bloscfs::frame::test::check_corpus(kSourceRoot + "/tests/data/plugins"), 25);
}

BOOST_AUTO_TEST_CASE(agrees_with_the_whole_corpus,
                     *boost::unit_test::precondition(has_whole_corpus)) {
  BOOST_CHECK_GT(bloscfs::frame::test::check_corpus(whole_corpus()), 500);
}

BOOST_AUTO_TEST_SUITE_END()
