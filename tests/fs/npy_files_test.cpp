// The NPY files as which the mount shows containers of other programs. Their checksums are those of
// the files that numpy.save() writes for the same arrays.

#include <boost/test/unit_test.hpp>

#include "codec/error.hpp"
#include "frame/open/open.hpp"
#include "fs/numpy/npy.hpp"
#include "tests/frame/frame_builder.hpp"
#include "tests/support/digest.hpp"
#include "tests/support/manifest.hpp"

using namespace bloscfs;
using frame::test::Buffer;
using frame::test::ContentReader;

namespace {

Buffer elements_of(const frame::Snapshot& snapshot) {
  if (snapshot.info().kind != frame::ContainerKind::bloscpack)
    return ContentReader(snapshot).read_all();
  Buffer out(static_cast<std::size_t>(snapshot.info().nbytes));
  ContentReader(snapshot).read(0, out);
  return out;
}

void check_sum(const test::CorpusEntry& entry) {
  const auto snapshot = frame::open_path(entry.file.string(), {});
  BOOST_REQUIRE(snapshot);
  Buffer file = fs::npy_view(snapshot->info()).value();
  const Buffer elements = elements_of(*snapshot);
  file.insert(file.end(), elements.begin(), elements.end());
  BOOST_TEST(test::sha256(file) == entry.text("npy_sha256"));
}

/// Leaves out arrays with unsupported codecs, which the corpus has under "optional/".
int check_all(const test::fs_std::path& root) {
  int count = 0;
  for (const test::CorpusEntry& entry : test::containers_in(root)) {
    if (entry.text("npy_sha256").empty() || entry.name().starts_with("optional/")) continue;
    BOOST_TEST_CONTEXT(entry.name()) check_sum(entry);
    ++count;
  }
  return count;
}

boost::test_tools::assertion_result has_corpus(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result(!test::corpus_root().empty());
  result.message() << "no reference corpus (BLOSCFS_CORPUS)";
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(npy_files)

BOOST_AUTO_TEST_CASE(shows_arrays_of_the_test_data_as_numpy_saves_them) {
  int count = 0;
  for (const auto& root : test::data_roots()) count += check_all(root);
  BOOST_TEST(count >= 60);
}

BOOST_AUTO_TEST_CASE(shows_arrays_of_the_corpus_as_numpy_saves_them,
                     *boost::unit_test::precondition(has_corpus)) {
  BOOST_TEST(check_all(test::corpus_root()) >= 100);
}

BOOST_AUTO_TEST_SUITE_END()
