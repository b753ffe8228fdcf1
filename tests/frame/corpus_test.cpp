// Reference files: the few that are kept here, and the whole corpus where it can be found.

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

}  // namespace

BOOST_AUTO_TEST_SUITE(corpus)

BOOST_AUTO_TEST_CASE(agrees_with_the_reference_files) {
  BOOST_CHECK_GT(bloscfs::frame::test::check_corpus(kSourceRoot + "/tests/data/frame"), 20);
}

BOOST_AUTO_TEST_CASE(agrees_with_the_whole_corpus) {
  const std::string directory = whole_corpus();
  if (!std::filesystem::exists(directory + "/manifest.json")) {
    BOOST_TEST_MESSAGE("skipped: no corpus in " << directory << " (set BLOSCFS_CORPUS)");
    return;
  }
  BOOST_CHECK_GT(bloscfs::frame::test::check_corpus(directory), 500);
}

BOOST_AUTO_TEST_SUITE_END()
